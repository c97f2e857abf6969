#pragma once
// An ordered set of ranks and the stream they talk on. Program steps name groups of ranks; this is the live
// thing behind such a name. Backends: mpi (CPU ranks, and across nodes), nccl (devices of a node), dry (one
// core pretends to be rank r of N and every send is checked to meet its receive).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/compute.hpp"
#include "device/device.hpp"
#include "device/tensor.hpp"

namespace galvatron::comm {

using device::TensorView;

using core::ReduceOp;

/// A message under way. `wait` returns when the buffer may be used again (send) or holds the message
/// (receive) — by the host where calls are done when they return, by work given to the attached stream from
/// then on where calls are queued. Move-only; waiting twice is harmless; destroying an unfinished one outside
/// unwinding waits first. The communicator that made it outlives it, and one thread at a time uses both.
class Pending {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual void wait() = 0;
    virtual bool test() = 0;
    /// The owner needs it no more. Backends that keep states for the next message take it back here.
    virtual void release() noexcept { delete this; }
  };

  Pending() = default;
  explicit Pending(std::unique_ptr<State> state) : state_(state.release()) {}
  /// A state that is not on the heap for itself: it says in `release` what becomes of it.
  explicit Pending(State* state) : state_(state) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  void wait();
  /// True when finished; makes progress.
  bool test();

 private:
  struct Release {
    void operator()(State* state) const noexcept { state->release(); }
  };

  void finish() noexcept;

  std::unique_ptr<State, Release> state_;
};

/// One side of an exchange: what goes to, or comes from, member `peer`.
struct Block {
  TensorView data;
  int peer = 0;
};

/// Messages take channels 0 … channels − 1.
constexpr int channels = 1024;

/// Collectives are called by all members in the same order. Views are contiguous. Blocks, for a group of 3
/// with members A B C (each letter one rank's data, in member order):
///   all_gather      in: A | B | C                   out: ABC on each
///   reduce_scatter  in: a0a1a2 | b0b1b2 | c0c1c2     out: a0+b0+c0 | a1+b1+c1 | a2+b2+c2
///   all_to_all      in: a0a1a2 | b0b1b2 | c0c1c2     out: a0b0c0 | a1b1c1 | a2b2c2
///   shift           in: A | B | C                   out: C | A | B
/// all_gather's `in` may be the own block of `out`. reduce_scatter's `out` may be the own block of `in`; the
/// rest of `in` is then undefined. Elsewhere operands do not overlap.
/// Reductions of f32, f64, bf16 and f16 only; the 16-bit types are reduced in f32 and rounded once. The same
/// inputs give the same bits on every member, every time, for the same group and size.
/// One thread at a time uses a communicator; different ones may be used by different threads at once.
/// Views are of memory of the device that the world was made for. Where calls are queued on that device
/// (nccl) they return at once; see `attach`.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Orders calls with `compute`: a call touches memory only after all work that `compute` was given before
  /// it, and work given after it (after its Pending was waited for) sees its outcome. Nothing to do where
  /// calls are done when they return. The stream outlives the communicator.
  virtual void attach(device::Stream&) {}

  /// So many messages of this rank may be under way at once. A hint: how many really are depends on who is
  /// late, and up to that number none of them asks for memory.
  virtual void expect_messages(int64_t /*count*/) {}

  virtual int size() const = 0;
  /// This rank's place in the group, 0 … size − 1.
  virtual int index() const = 0;
  /// Readable, e.g. "layer 0,1".
  virtual const std::string& name() const = 0;
  /// World ranks of the members, in order.
  virtual const std::vector<int>& members() const = 0;

  virtual void all_reduce(TensorView data, ReduceOp op) = 0;
  virtual void all_gather(TensorView in, TensorView out) = 0;
  virtual void reduce_scatter(TensorView in, TensorView out) = 0;
  virtual void all_to_all(TensorView in, TensorView out) = 0;
  virtual void broadcast(TensorView data, int root) = 0;
  /// Non-blocking. `in` goes to the next member (the last one's to the first), `out` comes from the one
  /// before; both have the same size. Several may be under way; they are met in the order of the calls.
  virtual Pending shift(TensorView in, TensorView out) = 0;
  /// Blocks between any members, each of its own size. At most one block per peer and direction; a peer
  /// that is not named gets or gives nothing. What a sends to b has the size that b receives from a; a block
  /// to oneself is a copy. Every member calls it, also one with no blocks.
  virtual void exchange(std::span<const Block> sends, std::span<const Block> receives) = 0;
  /// Non-blocking. Messages of one pair and one channel arrive in the order they were sent; messages of
  /// different channels never meet.
  virtual Pending send(TensorView data, int to, int channel = 0) = 0;
  virtual Pending receive(TensorView data, int from, int channel = 0) = 0;
  virtual void barrier() = 0;
};

}  // namespace galvatron::comm
