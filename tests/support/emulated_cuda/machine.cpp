// Fibers are made by makecontext and switched by _setjmp and _longjmp, which, unlike swapcontext, make no
// system call: a kernel's threads switch millions of times.

#include "support/emulated_cuda/machine.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/check.hpp"

namespace galvatron::kernels::cuda {

thread_local __attribute__((aligned(16))) unsigned char dynamic_shared[emulated_cuda::most_shared_bytes];

}  // namespace galvatron::kernels::cuda

namespace galvatron::device::cuda {

void check(cudaError_t code, std::string_view call, const std::source_location&) {
  if (code != cudaSuccess) throw std::runtime_error("refused: " + std::string(call));
}

}  // namespace galvatron::device::cuda

namespace emulated_cuda {
namespace {

constexpr size_t stack_bytes = 64 << 10;
constexpr int warp_size = 32;

struct Meeting {
  int members = 0, arrived = 0;
  int64_t generation = 0;
};

struct Fiber {
  std::vector<char> stack = std::vector<char>(stack_bytes);
  ucontext_t context{};
  jmp_buf place{};
  bool started = false, done = false;
  const Meeting* waits_for = nullptr;
  int64_t waits_since = 0;
  Word word{};
  Registers registers{};
  bool vote = false;
};

class Machine {
 public:
  void set_order(ThreadOrder order) { order_ = order; }

  void run_block(int threads, const std::function<void()>& body) {
    body_ = &body;
    count_ = threads;
    if (static_cast<int>(fibers_.size()) < threads) fibers_.resize(static_cast<size_t>(threads));
    block_ = {threads, 0, 0};
    warps_.assign(static_cast<size_t>((threads + warp_size - 1) / warp_size), {});
    for (int t = 0; t < threads; ++t) {
      fiber(t).started = fiber(t).done = false;
      fiber(t).waits_for = nullptr;
      ++warp_of(t).members;
    }
    for (int left = threads; left > 0;) {
      bool moved = false;
      for (int n = 0; n < threads; ++n) {
        const auto t = at(n);
        if (!ready(fiber(t))) continue;
        moved = true;
        resume(t);
        if (fiber(t).done) --left;
      }
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      if (!moved) throw std::runtime_error("threads of a block wait for each other for ever");
    }
  }

  int thread() const { return current_; }
  Fiber& fiber(int t) { return fibers_[static_cast<size_t>(t)]; }
  Meeting& block() { return block_; }
  Meeting& warp_of(int t) { return warps_[static_cast<size_t>(t / warp_size)]; }
  int count() const { return count_; }

  void meet(Meeting& meeting) {
    auto& me = fiber(current_);
    if (++meeting.arrived == meeting.members) return open(meeting);
    me.waits_for = &meeting;
    me.waits_since = meeting.generation;
    if (_setjmp(me.place) == 0) _longjmp(home_, 1);
  }

 private:
  int at(int n) const {
    if (order_ == ThreadOrder::ascending) return n;
    if (order_ == ThreadOrder::descending) return count_ - 1 - n;
    const auto odd = count_ / 2;
    return n < odd ? 2 * n + 1 : 2 * (n - odd);
  }

  static void open(Meeting& meeting) {
    meeting.arrived = 0;
    ++meeting.generation;
  }

  static void leave(Meeting& meeting) {
    if (--meeting.members > 0 && meeting.arrived == meeting.members) open(meeting);
  }

  static bool ready(const Fiber& f) {
    return !f.done && (f.waits_for == nullptr || f.waits_for->generation != f.waits_since);
  }

  void resume(int t) {
    current_ = t;
    here.thread = dim3(static_cast<unsigned>(t), 0, 0);
    auto& f = fiber(t);
    f.waits_for = nullptr;
    if (_setjmp(home_) != 0) return;
    if (f.started) _longjmp(f.place, 1);
    f.started = true;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    f.context.uc_link = nullptr;
    makecontext(&f.context, &Machine::enter, 0);
    setcontext(&f.context);
  }

  static void enter();

  void play() {
    try {
      (*body_)();
    } catch (...) {
      error_ = std::current_exception();
    }
    auto& me = fiber(current_);
    me.done = true;
    leave(block_);
    leave(warp_of(current_));
    _longjmp(home_, 1);
  }

  ThreadOrder order_ = ThreadOrder::ascending;
  const std::function<void()>* body_ = nullptr;
  int count_ = 0, current_ = 0;
  std::vector<Fiber> fibers_;
  Meeting block_;
  std::vector<Meeting> warps_;
  jmp_buf home_{};
  std::exception_ptr error_;
};

Machine& machine() {
  static thread_local Machine one;
  return one;
}

void Machine::enter() {
  machine().play();
}

}  // namespace

void set_thread_order(ThreadOrder order) {
  machine().set_order(order);
}

int lane() {
  return machine().thread() % warp_size;
}

void meet_block() {
  machine().meet(machine().block());
}

void meet_warp() {
  machine().meet(machine().warp_of(machine().thread()));
}

bool any_of_block(bool predicate) {
  auto& m = machine();
  m.fiber(m.thread()).vote = predicate;
  meet_block();
  bool any = false;
  for (int t = 0; t < m.count(); ++t) any |= !m.fiber(t).done && m.fiber(t).vote;
  meet_block();
  return any;
}

unsigned votes_of_warp(bool predicate) {
  auto& m = machine();
  m.fiber(m.thread()).vote = predicate;
  meet_warp();
  const auto first = m.thread() / warp_size * warp_size;
  unsigned votes = 0;
  for (int t = first; t < std::min(first + warp_size, m.count()); ++t)
    votes |= (m.fiber(t).vote ? 1U : 0U) << (t - first);
  meet_warp();
  return votes;
}

Word word_of_lane(const Word& word, int lane) {
  auto& m = machine();
  m.fiber(m.thread()).word = word;
  meet_warp();
  const auto other = m.fiber(m.thread() / warp_size * warp_size + lane).word;
  meet_warp();
  return other;
}

void show_registers(const Registers& mine, const std::function<void()>& look) {
  auto& m = machine();
  m.fiber(m.thread()).registers = mine;
  meet_warp();
  look();
  meet_warp();
}

const Registers& registers_of(int lane) {
  auto& m = machine();
  return m.fiber(m.thread() / warp_size * warp_size + lane).registers;
}

void run(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& thread) {
  if (shared_bytes > most_shared_bytes) throw std::runtime_error("more shared memory than a block has");
  here.blocks = blocks;
  here.threads = threads;
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        here.block = dim3(x, y, z);
        std::memset(galvatron::kernels::cuda::dynamic_shared, 0xff, shared_bytes);
        machine().run_block(static_cast<int>(threads.x), thread);
      }
    }
  }
}

}  // namespace emulated_cuda
