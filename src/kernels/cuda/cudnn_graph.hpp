#pragma once
// A graph of operations on four-dimensional tensors, and the plans by which cuDNN can play it. A tensor is
// the number by which a plan is later told where it lies.

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "kernels/cuda/cudnn.hpp"

namespace galvatron::kernels::cuda::cudnn {

using Dims = std::array<int64_t, 4>;
using TensorId = int64_t;

/// For whom plans are made: this process's device by its handle, or a device that is described and need not
/// be there.
struct Target {
  Handle handle = nullptr;
  const Descriptor* described = nullptr;
};

struct Plan {
  Descriptor plan;
  int64_t workspace_bytes = 0;
};

/// Where the tensors of a call lie: device memory, or the host's for scalars.
using Places = std::map<TensorId, void*>;

class Graph {
 public:
  explicit Graph(const Functions& functions) : functions_(functions) {}

  /// In memory; at least `alignment` bytes divide its address.
  TensorId in_memory(Type type, const Dims& dims, const Dims& strides, int64_t alignment = 16);
  /// One fp32 number, passed by value.
  TensorId scalar();
  /// Between operations only, packed.
  TensorId between(const Dims& dims, Type type = Type::f32);

  void matmul(TensorId a, TensorId b, TensorId c);
  void pointwise(Pointwise mode, TensorId x, TensorId y);
  void pointwise(Pointwise mode, TensorId x, TensorId b, TensorId y);
  /// y = t ? x : b.
  void select(TensorId x, TensorId b, TensorId t, TensorId y);
  /// y = the place along `axis`.
  void index(int64_t axis, TensorId x, TensorId y);
  /// y = x >= b.
  void not_less(TensorId x, TensorId b, TensorId y);
  /// Along the dims in which y has 1 (or a divisor of) where x has more.
  void reduce(Reduction mode, TensorId x, TensorId y);
  /// The same elements with the dims and strides of y.
  void reshape(TensorId x, TensorId y);
  /// x with its last two dims exchanged, as elements of `type`.
  TensorId transposed(TensorId x, Type type);

  /// Plans from the library's best guess on, at most `most`; those that it cannot finalize or that want more
  /// than `workspace_limit` bytes are left out. Throws Refusal where the graph itself is refused.
  std::vector<Plan> plans(const Target& target, int64_t most, int64_t workspace_limit) const;

 private:
  enum class Place { memory, between, by_value };
  struct Spec {
    Type type = Type::f32;
    Dims dims{}, strides{};
    Place place = Place::memory;
    int64_t alignment = 16;
  };

  static size_t index_of(TensorId tensor) { return static_cast<size_t>(tensor - 1); }
  TensorId add(const Spec& spec);
  void pointwise(Pointwise mode, TensorId x, TensorId b, TensorId t, TensorId y, Type precision,
                 int64_t axis);
  std::optional<Plan> plan_of(const Target& target, const Descriptor& configuration,
                              int64_t workspace_limit) const;
  std::vector<Descriptor> configurations_of(const Target& target, const Descriptor& graph) const;

  const Functions& functions_;
  std::vector<Spec> specs_;
  std::vector<Descriptor> tensors_, helpers_, operations_;
};

/// Queues a plan on the stream that the handle was given.
void execute(const Functions& functions, Handle handle, const Plan& plan, const Places& places,
             void* workspace);

}  // namespace galvatron::kernels::cuda::cudnn
