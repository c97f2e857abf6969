// Each allocation is a stretch of addresses without any permission, and memory elsewhere that stands behind
// it. A stream is a list of things to do; an event is a place in such a list.

#include "support/far_device.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "device/counter.hpp"

namespace galvatron::test {
namespace {

using device::Event;
using device::Stream;

/// Streams of all devices of a process may wait for each other.
std::recursive_mutex& at_work() {
  static std::recursive_mutex mutex;
  return mutex;
}

/// What a stream was given, in order.
class Queue {
 public:
  void give(std::function<void()> work) {
    const std::lock_guard lock(at_work());
    if (captured_) {
      captured_->push_back(std::move(work));
      return;
    }
    waiting_.push_back(std::move(work));
    ++given_;
  }
  using Captured = std::vector<std::function<void()>>;
  void begin_capture() {
    if (captured_) throw core::InternalError("a far stream captures already");
    captured_.emplace();
  }
  Captured end_capture() { return *std::exchange(captured_, std::nullopt); }
  void abandon_capture() { captured_.reset(); }
  /// As CUDA has it, nobody waits for what is captured, and it meets no event.
  void outside_of_capture(const char* what) const {
    if (captured_) throw core::InternalError(core::format("{} while a far stream captures", what));
  }
  int64_t given() const { return given_; }
  bool reached(int64_t point) const { return done_ >= point; }
  /// Does what there is up to the point, in order.
  void run_to(int64_t point) {
    const std::lock_guard lock(at_work());
    while (done_ < point) {
      const auto work = std::move(waiting_.front());
      waiting_.pop_front();
      work();
      ++done_;
    }
  }

 private:
  std::deque<std::function<void()>> waiting_;
  std::optional<Captured> captured_;
  int64_t given_ = 0, done_ = 0;
};

class FarStream final : public Stream {
 public:
  ~FarStream() override {
    // While an error is on its way there is nobody to tell another one.
    if (std::uncaught_exceptions() == 0) queue->run_to(queue->given());
  }
  void synchronize() override {
    queue->outside_of_capture("a wait for its work");
    queue->run_to(queue->given());
  }
  void wait(Event& event) override;
  bool captures() const override { return true; }
  void begin_capture() override { queue->begin_capture(); }
  std::unique_ptr<device::Graph> end_capture() override;
  void abandon_capture() noexcept override { queue->abandon_capture(); }

  const std::shared_ptr<Queue> queue = std::make_shared<Queue>();
};

/// The things to do, to be done again with the arguments that they had.
class FarGraph final : public device::Graph {
 public:
  explicit FarGraph(Queue::Captured work) : work_(std::move(work)) {}
  void launch(Stream& stream) override {
    for (const auto& each : work_) static_cast<FarStream&>(stream).queue->give(each);
  }

 private:
  Queue::Captured work_;
};

std::unique_ptr<device::Graph> FarStream::end_capture() {
  return std::make_unique<FarGraph>(queue->end_capture());
}

class FarEvent final : public Event {
 public:
  void record(Stream& stream) override {
    queue_ = static_cast<FarStream&>(stream).queue;
    queue_->outside_of_capture("an event");
    queue_->give([time = time_] {
      *time = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    });
    point_ = queue_->given();
    asked_ = false;
  }
  /// Not yet, when asked for the first time.
  bool query() override {
    if (!queue_ || queue_->reached(point_)) return true;
    if (!std::exchange(asked_, true)) return false;
    synchronize();
    return true;
  }
  void synchronize() override {
    if (queue_) queue_->run_to(point_);
  }
  double seconds_since(const Event& earlier) const override {
    return *time_ - *static_cast<const FarEvent&>(earlier).time_;
  }
  /// What brings the point about, as it is now.
  std::function<void()> arrival() const {
    if (!queue_) return [] {};
    return [queue = queue_, point = point_] { queue->run_to(point); };
  }

 private:
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<double> time_ = std::make_shared<double>(0.0);
  int64_t point_ = 0;
  bool asked_ = false;
};

void FarStream::wait(Event& event) {
  queue->outside_of_capture("a wait for an event");
  queue->give(static_cast<FarEvent&>(event).arrival());
}

class MappedDevice final : public FarDevice {
 public:
  explicit MappedDevice(FarOptions options) : options_(std::move(options)) {}

  device::DeviceKind kind() const override { return device::DeviceKind::cuda; }
  std::string name() const override { return "far"; }
  std::string identity() const override { return options_.identity; }
  std::unique_ptr<Stream> make_stream(device::StreamUse) override {
    auto stream = std::make_unique<FarStream>();
    queues_.push_back(stream->queue);
    return stream;
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<FarEvent>(); }

  std::byte* allocate(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    if (bytes > available_bytes())
      throw core::ResourceError(core::format("cannot allocate {} bytes on the far device: {} of {} are free",
                                             bytes, available_bytes(), options_.bytes));
    auto* far = map(bytes, PROT_NONE);
    memory_[far] = {bytes, map(bytes, PROT_READ | PROT_WRITE)};
    counter_.add(bytes);
    return far;
  }
  void deallocate(std::byte* data, int64_t bytes) noexcept override {
    const auto found = memory_.find(data);
    if (data == nullptr || found == memory_.end()) return;
    finish();
    munmap(found->second.near, static_cast<size_t>(bytes));
    munmap(data, static_cast<size_t>(bytes));
    memory_.erase(found);
    counter_.remove(bytes);
  }

  void deallocate_host(std::byte* data) noexcept override {
    finish();
    FarDevice::deallocate_host(data);
  }

  void upload(Stream& stream, std::span<const std::byte> from, std::byte* to) override {
    move(stream, to, from.data(), from.size());
  }
  void download(Stream& stream, const std::byte* from, std::span<std::byte> to) override {
    move(stream, to.data(), from, to.size());
  }
  void copy(Stream& stream, const std::byte* from, std::byte* to, int64_t bytes) override {
    move(stream, to, from, static_cast<size_t>(bytes));
  }
  void zero(Stream& stream, std::byte* data, int64_t bytes) override {
    give(stream, [this, data, bytes] {
      if (bytes > 0) std::memset(near(data), 0, static_cast<size_t>(bytes));
    });
  }
  int64_t bytes_in_use() const override { return counter_.in_use(); }
  int64_t peak_bytes() const override { return counter_.peak(); }
  int64_t available_bytes() const override { return options_.bytes - counter_.in_use(); }

  std::byte* near(std::byte* data) const override {
    const auto after = memory_.upper_bound(data);
    if (after == memory_.begin()) return data;
    const auto& [far, memory] = *std::prev(after);
    // Unsigned: what is asked about may be no address at all.
    const auto offset = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(far);
    return offset <= static_cast<uintptr_t>(memory.bytes) ? memory.near + offset : data;
  }

 private:
  struct Memory {
    int64_t bytes = 0;
    std::byte* near = nullptr;
  };

  /// Freeing waits for everything, as CUDA's does.
  void finish() noexcept {
    if (std::uncaught_exceptions() > 0) return;
    for (const auto& queue : queues_)
      if (const auto live = queue.lock()) live->run_to(live->given());
  }
  static std::byte* map(int64_t bytes, int permission) {
    auto* data = mmap(nullptr, static_cast<size_t>(bytes), permission,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) throw core::ResourceError("no addresses for a far device");
    return static_cast<std::byte*>(data);
  }
  void move(Stream& stream, std::byte* to, const std::byte* from, size_t bytes) {
    give(stream, [this, to, from, bytes] {
      if (bytes > 0) std::memcpy(near(to), near(const_cast<std::byte*>(from)), bytes);
    });
  }

  FarOptions options_;
  std::vector<std::weak_ptr<Queue>> queues_;
  std::map<std::byte*, Memory> memory_;
  device::ByteCounter counter_;
};

}  // namespace

std::unique_ptr<FarDevice> make_far_device(const FarOptions& options) {
  return std::make_unique<MappedDevice>(options);
}

void give(Stream& stream, std::function<void()> work) {
  static_cast<FarStream&>(stream).queue->give(std::move(work));
}

}  // namespace galvatron::test
