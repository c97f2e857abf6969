// Each rank writes its own events as text; rank 0 puts them one after the other into the file, so it never
// holds more than one rank's.

#include "runtime/trace_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "core/form.hpp"
#include "core/format.hpp"
#include "store/metrics.hpp"

namespace galvatron::runtime {
namespace {

constexpr int64_t most_bytes = int64_t{256} << 20;  // what the viewers still open
constexpr int64_t bytes_per_slice = 200;

const TraceSlice* first_of(const std::vector<TraceSlice>& slices, TraceKind kind, int32_t number) {
  for (const auto& slice : slices)
    if (slice.kind == kind && slice.micro == number) return &slice;
  return nullptr;
}

std::string layer_name(const TraceSlice& slice, const spec::ModelSpec& model) {
  return slice.layer < 0 ? "transition" : model.names[static_cast<size_t>(slice.layer)];
}

std::string name_of(const TraceSlice& slice, const spec::ModelSpec& model) {
  switch (slice.kind) {
    case TraceKind::step:
      return core::format("step {}", slice.micro);
    case TraceKind::forward:
      return core::format("forward {}", slice.micro);
    case TraceKind::backward:
      return core::format("backward {}", slice.micro);
    case TraceKind::layer:
      return core::format("{} {}", layer_name(slice, model),
                          program::name_of(static_cast<program::Phase>(slice.detail)));
    case TraceKind::collective:
      return std::string(core::name_of(static_cast<core::CollectiveKind>(slice.detail)));
    case TraceKind::transfer:
      return "ring transfer";
    case TraceKind::send:
      return core::format("send {}", slice.stage % 2 == 0 ? "activation" : "gradient");
    case TraceKind::receive:
      return core::format("receive {}", slice.stage % 2 == 0 ? "activation" : "gradient");
    case TraceKind::wait:
      return "wait";
    case TraceKind::data:
      return "data";
    case TraceKind::norm:
      return "gradient norm";
    case TraceKind::agree:
      return "agree on loss and norm";
    case TraceKind::update:
      return "optimizer";
    case TraceKind::evaluate:
      return "evaluate";
    case TraceKind::checkpoint:
      return "checkpoint";
  }
  return "";
}

std::string_view category_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::step:
    case TraceKind::forward:
    case TraceKind::backward:
    case TraceKind::norm:
    case TraceKind::update:
    case TraceKind::evaluate:
    case TraceKind::checkpoint:
      return "action";
    case TraceKind::layer:
      return "layer";
    case TraceKind::collective:
    case TraceKind::transfer:
    case TraceKind::send:
    case TraceKind::agree:
      return "communication";
    case TraceKind::receive:
    case TraceKind::wait:
    case TraceKind::data:
      return "wait";
  }
  return "";
}

bool is_detail(TraceKind kind) {
  return kind == TraceKind::layer || kind == TraceKind::collective || kind == TraceKind::transfer ||
         kind == TraceKind::wait || kind == TraceKind::data;
}

std::string arguments_of(const TraceSlice& slice) {
  std::vector<std::string> parts;
  const bool message = slice.kind == TraceKind::send || slice.kind == TraceKind::receive;
  if (slice.kind != TraceKind::step && slice.micro >= 0)
    parts.push_back(core::format("\"micro\":{}", slice.micro));
  if (slice.stage >= 0)
    parts.push_back(core::format("\"{}\":{}", message ? "channel" : "stage", slice.stage));
  if (slice.peer >= 0) parts.push_back(core::format("\"peer\":{}", slice.peer));
  if (slice.layer >= 0) parts.push_back(core::format("\"layer\":{}", slice.layer));
  return core::join(parts, ",");
}

/// Nanoseconds as the microseconds that the format wants.
std::string micros(int64_t nanoseconds) {
  return core::format("{}{}.{:03}", nanoseconds < 0 ? "-" : "", std::abs(nanoseconds) / 1000,
                      std::abs(nanoseconds) % 1000);
}

/// The ranks of a node look at one clock: the best reading of any of them holds for all, and those beside
/// rank 0 need none. Collective.
ClockReading reading_of(comm::World& world, comm::Communicator& all) {
  auto mine = read_clock(all);
  const auto at = world.all_gather(mine.at), offsets = world.all_gather(mine.offset);
  const auto errors = world.all_gather(mine.error);
  if (world.node() == world.node_of(0)) return {mine.at, 0.0, 0.0};
  for (int rank = 0; rank < world.size(); ++rank) {
    const auto r = static_cast<size_t>(rank);
    if (world.node_of(rank) == world.node() && errors[r] < mine.error) mine = {at[r], offsets[r], errors[r]};
  }
  return mine;
}

/// Makes the lines of one rank.
class Lines {
 public:
  Lines(const TraceRank& who, const ClockLine& clock, const TraceWindow& window)
      : who_(who), clock_(clock), window_(window) {}

  void name_process() {
    const auto name = core::format("rank {} on host {}", who_.rank, who_.host);
    text_ += core::format(
        ",\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"name\":{1}}}}}"
        ",\n{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"sort_index\":{0}}}}}",
        who_.rank, store::json_quoted(name));
  }

  void add_thread(int thread, std::string_view name, std::vector<TraceSlice> slices, double from) {
    // Parents before their children, as some readers want them.
    std::stable_sort(slices.begin(), slices.end(), [](const TraceSlice& a, const TraceSlice& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    text_ += core::format(
        ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
        who_.rank, thread, name);
    for (const auto& slice : slices) {
      if (slice.begin < from) continue;
      if (window_.detail == TraceWindow::Detail::actions && is_detail(slice.kind)) continue;
      if (slice.kind == TraceKind::step) step_ = slice.micro;
      add(thread, slice);
    }
  }

  std::string take() { return std::move(text_); }

 private:
  int64_t time_of(double seconds) const { return std::llround((clock_(seconds) - window_.zero) * 1e9); }

  void add(int thread, const TraceSlice& slice) {
    const auto begin = time_of(slice.begin), end = time_of(slice.end);
    text_ += core::format(
        ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{},\"args\":{{{"
        "}}}"
        "}}",
        store::json_quoted(name_of(slice, who_.model)), category_of(slice.kind), micros(begin),
        micros(end - begin), who_.rank, thread, arguments_of(slice));
    const bool sends = slice.kind == TraceKind::send;
    if (!sends && slice.kind != TraceKind::receive) return;
    if (slice.stage < 0) return;
    const auto sender = sends ? who_.rank : slice.peer;
    text_ += core::format(
        ",\n{{\"name\":\"message\",\"cat\":\"message\",\"ph\":\"{}\",\"id\":\"{}.{}.{}.{}\",\"ts\":{},"
        "\"pid\":{}"
        ",\"tid\":{}}}",
        sends ? "s" : "f\",\"bp\":\"e", step_, slice.stage, slice.micro, sender,
        micros(sends ? begin : std::max(begin, end - 1)), who_.rank, thread);
  }

  const TraceRank& who_;
  const ClockLine& clock_;
  const TraceWindow& window_;
  int32_t step_ = 0;
  std::string text_;
};

}  // namespace

int32_t first_whole_step(const Trace& trace) {
  double from = -std::numeric_limits<double>::infinity();
  for (const auto* lane : {&trace.compute, &trace.state, &trace.ring})
    if (lane->full()) from = std::max(from, lane->slices().front().end);
  int32_t first = 0, last = 0;
  for (const auto& slice : trace.compute.slices()) {
    if (slice.kind != TraceKind::step) continue;
    last = slice.micro;
    if (first == 0 && slice.begin >= from) first = slice.micro;
  }
  return first == 0 ? last + 1 : first;
}

std::string trace_events(const Trace& trace, const TraceRank& who, const ClockLine& clock,
                         const TraceWindow& window) {
  Lines lines(who, clock, window);
  lines.name_process();
  const auto compute = trace.compute.slices();
  const auto* first = first_of(compute, TraceKind::step, window.first_step);
  const double from = first == nullptr ? std::numeric_limits<double>::infinity() : first->begin;
  lines.add_thread(0, "compute", compute, from);
  if (trace.state.written() > 0) lines.add_thread(1, "background communication", trace.state.slices(), from);
  if (trace.ring.written() > 0) lines.add_thread(2, "background ring", trace.ring.slices(), from);
  return lines.take();
}

TraceWriter::TraceWriter(comm::World& world) : world_(world) {
  std::vector<int> ranks(static_cast<size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  all_ = world.make_communicator(ranks, comm::TrafficClass::layer);
  start_ = reading_of(world, *all_);
}

TraceWindow TraceWriter::window_of(const Trace& trace, const ClockLine& clock, int64_t steps) {
  const auto compute = trace.compute.slices();
  int32_t last = 0;
  for (const auto& slice : compute)
    if (slice.kind == TraceKind::step) last = slice.micro;
  int64_t facts[] = {
      first_whole_step(trace),
      static_cast<int64_t>(compute.size() + trace.state.slices().size() + trace.ring.slices().size())};
  world_.all_reduce(facts, core::ReduceOp::max);
  TraceWindow window;
  window.first_step = std::max(static_cast<int32_t>(facts[0]), last - static_cast<int32_t>(steps) + 1);
  const auto bytes = facts[1] * bytes_per_slice * world_.size();
  if (bytes > most_bytes) window.first_step = std::max(window.first_step, last);
  if (bytes > most_bytes * steps) window.detail = TraceWindow::Detail::actions;
  const auto* first = first_of(compute, TraceKind::step, window.first_step);
  double earliest = first == nullptr ? -std::numeric_limits<double>::infinity() : -clock(first->begin);
  world_.all_reduce(std::span(&earliest, 1), core::ReduceOp::max);
  window.zero = -earliest;
  return window;
}

void TraceWriter::write(const std::filesystem::path& file, const Trace& trace, int64_t steps,
                        const spec::ModelSpec& model, core::Log& log) {
  const ClockLine clock(start_, reading_of(world_, *all_));
  const auto window = window_of(trace, clock, steps);
  if (!std::isfinite(window.zero)) return;
  auto text = trace_events(trace, {world_.rank(), world_.host_of(world_.node()), model}, clock, window);
  const auto sizes = world_.all_gather(static_cast<int64_t>(text.size()));
  double error = clock.error();
  world_.all_reduce(std::span(&error, 1), core::ReduceOp::max);
  if (world_.rank() != 0) {
    all_->send(device::vector(text.data(), core::DType::u8, sizes[static_cast<size_t>(world_.rank())]), 0)
        .wait();
    return;
  }
  auto unfinished = file;
  unfinished += ".tmp";
  std::ofstream out(unfinished, std::ios::binary);
  out << core::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"clock_error_us\":\"{:.3f}\",\"first_step\":\"{}\"}},"
      "\"traceEvents\":[",
      error * 1e6, window.first_step);
  out << std::string_view(text).substr(1);  // without the comma
  for (int rank = 1; rank < world_.size(); ++rank) {
    text.resize(static_cast<size_t>(sizes[static_cast<size_t>(rank)]));
    all_->receive(device::vector(text.data(), core::DType::u8, static_cast<int64_t>(text.size())), rank)
        .wait();
    out << text;
  }
  out << "\n]}\n";
  std::error_code failed;
  if (out.flush()) std::filesystem::rename(unfinished, file, failed);
  if (!out || failed) log.warning(core::format("the trace could not be written to {}", file.string()));
}

}  // namespace galvatron::runtime
