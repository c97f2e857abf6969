// Descriptors of tensors and operations; heuristics; execution.

#include "kernels/cuda/cudnn_graph.hpp"

#include <utility>

namespace galvatron::kernels::cuda::cudnn {
namespace {

constexpr TensorId none = 0;

Dims packed(const Dims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

}  // namespace

TensorId Graph::add(const Spec& spec) {
  const auto id = static_cast<TensorId>(specs_.size()) + 1;
  const Descriptor& tensor = tensors_.emplace_back(functions_, Kind::tensor);
  tensor.set(Attribute::tensor_id, id);
  tensor.set(Attribute::tensor_type, spec.type);
  tensor.set(Attribute::tensor_dims, spec.dims);
  tensor.set(Attribute::tensor_strides, spec.strides);
  tensor.set(Attribute::tensor_alignment, spec.alignment);
  tensor.set(Attribute::tensor_is_virtual, spec.place == Place::between);
  tensor.set(Attribute::tensor_is_by_value, spec.place == Place::by_value);
  tensor.finalize();
  specs_.push_back(spec);
  return id;
}

TensorId Graph::in_memory(Type type, const Dims& dims, const Dims& strides, int64_t alignment) {
  return add({type, dims, strides, Place::memory, alignment});
}

TensorId Graph::scalar() {
  return add({Type::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, Place::by_value, 4});
}

TensorId Graph::between(const Dims& dims, Type type) {
  return add({type, dims, packed(dims), Place::between, 16});
}

void Graph::matmul(TensorId a, TensorId b, TensorId c) {
  const Descriptor& product = helpers_.emplace_back(functions_, Kind::matmul);
  product.set(Attribute::matmul_precision, Type::f32);
  product.finalize();
  const Descriptor& operation = operations_.emplace_back(functions_, Kind::matmul_operation);
  operation.set(Attribute::matmul_a, tensors_[index_of(a)]);
  operation.set(Attribute::matmul_b, tensors_[index_of(b)]);
  operation.set(Attribute::matmul_c, tensors_[index_of(c)]);
  operation.set(Attribute::matmul_descriptor, product);
  operation.finalize();
}

void Graph::pointwise(Pointwise mode, TensorId x, TensorId b, TensorId t, TensorId y, Type precision,
                      int64_t axis) {
  const Descriptor& function = helpers_.emplace_back(functions_, Kind::pointwise);
  function.set(Attribute::pointwise_mode, Form::pointwise_mode, 1, &mode);
  function.set(Attribute::pointwise_precision, precision);
  if (axis >= 0) function.set(Attribute::pointwise_axis, axis);
  function.finalize();
  const Descriptor& operation = operations_.emplace_back(functions_, Kind::pointwise_operation);
  operation.set(Attribute::pointwise_descriptor, function);
  operation.set(Attribute::pointwise_x, tensors_[index_of(x)]);
  if (b != none) operation.set(Attribute::pointwise_b, tensors_[index_of(b)]);
  if (t != none) operation.set(Attribute::pointwise_t, tensors_[index_of(t)]);
  operation.set(Attribute::pointwise_y, tensors_[index_of(y)]);
  operation.finalize();
}

void Graph::pointwise(Pointwise mode, TensorId x, TensorId y) {
  pointwise(mode, x, none, none, y, Type::f32, -1);
}

void Graph::pointwise(Pointwise mode, TensorId x, TensorId b, TensorId y) {
  pointwise(mode, x, b, none, y, Type::f32, -1);
}

void Graph::select(TensorId x, TensorId b, TensorId t, TensorId y) {
  pointwise(Pointwise::select, x, b, t, y, Type::f32, -1);
}

void Graph::index(int64_t axis, TensorId x, TensorId y) {
  pointwise(Pointwise::index, x, none, none, y, Type::i32, axis);
}

void Graph::not_less(TensorId x, TensorId b, TensorId y) {
  pointwise(Pointwise::not_less, x, b, none, y, Type::boolean, -1);
}

void Graph::reduce(Reduction mode, TensorId x, TensorId y) {
  const Descriptor& reduction = helpers_.emplace_back(functions_, Kind::reduction);
  reduction.set(Attribute::reduction_precision, Type::f32);
  reduction.set(Attribute::reduction_operator, Form::reduction_operator, 1, &mode);
  reduction.finalize();
  const Descriptor& operation = operations_.emplace_back(functions_, Kind::reduction_operation);
  operation.set(Attribute::reduction_x, tensors_[index_of(x)]);
  operation.set(Attribute::reduction_y, tensors_[index_of(y)]);
  operation.set(Attribute::reduction_descriptor, reduction);
  operation.finalize();
}

void Graph::reshape(TensorId x, TensorId y) {
  const Descriptor& operation = operations_.emplace_back(functions_, Kind::reshape_operation);
  operation.set(Attribute::reshape_x, tensors_[index_of(x)]);
  operation.set(Attribute::reshape_y, tensors_[index_of(y)]);
  operation.finalize();
}

TensorId Graph::transposed(TensorId x, Type type) {
  auto spec = specs_[index_of(x)];
  std::swap(spec.dims[2], spec.dims[3]);
  std::swap(spec.strides[2], spec.strides[3]);
  spec.type = type;
  spec.place = Place::between;
  const auto y = add(spec);
  reshape(x, y);
  return y;
}

std::optional<Plan> Graph::plan_of(const Target& target, const Descriptor& configuration,
                                   int64_t workspace_limit) const {
  try {
    Plan plan{Descriptor(functions_, Kind::execution_plan), 0};
    if (target.described != nullptr)
      plan.plan.set(Attribute::plan_device, *target.described);
    else
      plan.plan.set(Attribute::plan_handle, Form::handle, 1, &target.handle);
    plan.plan.set(Attribute::plan_configuration, configuration);
    plan.plan.finalize();
    plan.workspace_bytes = plan.plan.integer(Attribute::plan_workspace_bytes);
    if (plan.workspace_bytes > workspace_limit) return std::nullopt;
    return plan;
  } catch (const Refusal&) {
    return std::nullopt;
  }
}

std::vector<Descriptor> Graph::configurations_of(const Target& target, const Descriptor& graph) const {
  const Descriptor heuristics(functions_, Kind::heuristics);
  heuristics.set(Attribute::heuristics_graph, graph);
  heuristics.set(Attribute::heuristics_mode, Form::heuristics_mode, 1, &fast_heuristics);
  if (target.described != nullptr) heuristics.set(Attribute::heuristics_device, *target.described);
  heuristics.finalize();
  int64_t count = 0;
  const auto ask = [&](int64_t wanted, RawDescriptor* results) {
    check(functions_,
          functions_.get_attribute(heuristics.get(), Attribute::heuristics_results, Form::descriptor, wanted,
                                   &count, results),
          "cudnnBackendGetAttribute");
  };
  ask(0, nullptr);
  std::vector<Descriptor> configurations;
  std::vector<RawDescriptor> raw;
  for (int64_t i = 0; i < count; ++i)
    raw.push_back(configurations.emplace_back(functions_, Kind::engine_configuration).get());
  ask(count, raw.data());
  configurations.resize(static_cast<size_t>(count));
  return configurations;
}

std::vector<Plan> Graph::plans(const Target& target, int64_t most, int64_t workspace_limit) const {
  const Descriptor graph(functions_, Kind::operation_graph);
  std::vector<RawDescriptor> operations;
  for (const auto& operation : operations_) operations.push_back(operation.get());
  graph.set(Attribute::graph_operations, Form::descriptor, static_cast<int64_t>(operations.size()),
            operations.data());
  if (target.described == nullptr) graph.set(Attribute::graph_handle, Form::handle, 1, &target.handle);
  graph.finalize();
  std::vector<Plan> plans;
  for (const auto& configuration : configurations_of(target, graph)) {
    if (static_cast<int64_t>(plans.size()) == most) break;
    if (auto plan = plan_of(target, configuration, workspace_limit)) plans.push_back(std::move(*plan));
  }
  return plans;
}

void execute(const Functions& functions, Handle handle, const Plan& plan, const Places& places,
             void* workspace) {
  std::vector<int64_t> ids;
  std::vector<void*> pointers;
  for (const auto& [id, pointer] : places) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  const Descriptor pack(functions, Kind::variant_pack);
  pack.set(Attribute::pack_ids, ids);
  pack.set(Attribute::pack_pointers, Form::pointer, static_cast<int64_t>(pointers.size()), pointers.data());
  pack.set(Attribute::pack_workspace, Form::pointer, 1, &workspace);
  pack.finalize();
  check(functions, functions.execute(handle, plan.plan.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace galvatron::kernels::cuda::cudnn
