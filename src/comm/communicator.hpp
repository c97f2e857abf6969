#pragma once
// An ordered set of ranks and the stream they talk on. Program steps name groups of ranks; this is the live
// thing behind such a name. Backends: mpi (CPU ranks, and across nodes), nccl (devices of a node), dry (one
// core pretends to be rank r of N and every send is checked to meet its receive).

#include <cstdint>
#include <memory>
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
/// unwinding waits first.
class Pending {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual void wait() = 0;
    virtual bool test() = 0;
  };

  Pending() = default;
  explicit Pending(std::unique_ptr<State> state) : state_(std::move(state)) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  void wait();
  /// True when finished; makes progress.
  bool test();

 private:
  void finish() noexcept;

  std::unique_ptr<State> state_;
};

/// Collectives are called by all members in the same order. Views are contiguous. Reductions of f32 and f64
/// only. Blocks, for a group of 3 with members A B C (each letter one rank's data, in member order):
///   all_gather      in: A | B | C                   out: ABC on each
///   reduce_scatter  in: a0a1a2 | b0b1b2 | c0c1c2     out: a0+b0+c0 | a1+b1+c1 | a2+b2+c2
///   all_to_all      in: a0a1a2 | b0b1b2 | c0c1c2     out: a0b0c0 | a1b1c1 | a2b2c2
/// all_gather's `in` may be the own block of `out`.
/// The same inputs give the same bits on every member, every time, for the same group and size.
/// Views are of memory of the device that the world was made for. Where calls are queued on that device
/// (nccl) they return at once; see `attach`.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Orders calls with `compute`: a call touches memory only after all work that `compute` was given before
  /// it, and work given after it (after its Pending was waited for) sees its outcome. Nothing to do where
  /// calls are done when they return. The stream outlives the communicator.
  virtual void attach(device::Stream&) {}

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
  /// Non-blocking; messages between one pair arrive in the order they were sent.
  virtual Pending send(TensorView data, int to) = 0;
  virtual Pending receive(TensorView data, int from) = 0;
  virtual void barrier() = 0;
};

}  // namespace galvatron::comm
