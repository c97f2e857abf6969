// An operation graph is played tensor by tensor: dense arrays of doubles for what is between operations,
// addresses and strides for what is in memory.

#include "support/pretended_cudnn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "core/half.hpp"

namespace galvatron::test {
namespace {

using namespace kernels::cuda::cudnn;
using Dims = std::array<int64_t, 4>;

constexpr Status refused = 3000;

struct Fake {
  Kind kind;
  std::map<Attribute, std::vector<std::byte>> values;
  std::map<Attribute, std::vector<std::shared_ptr<Fake>>> links;  ///< kept, whatever the caller destroys
  bool final = false;
  size_t number = 0;  ///< of a configuration

  template <class Value>
  Value get(Attribute attribute, size_t at = 0) const {
    Value value{};
    std::memcpy(&value, values.at(attribute).data() + at * sizeof value, sizeof value);
    return value;
  }
  const Fake& other(Attribute attribute) const { return *links.at(attribute).front(); }
};

std::shared_ptr<Fake>& fake_of(RawDescriptor raw) {
  return *static_cast<std::shared_ptr<Fake>*>(raw);
}

Dims dims_of(const Fake& tensor, Attribute attribute) {
  Dims dims;
  for (size_t i = 0; i < 4; ++i) dims[i] = tensor.get<int64_t>(attribute, i);
  return dims;
}

int64_t elements_of(const Dims& dims) {
  return dims[0] * dims[1] * dims[2] * dims[3];
}

/// Calls `each` with every index of the dims and its place in a dense array.
template <class Each>
void walk(const Dims& dims, const Each& each) {
  int64_t at = 0;
  for (int64_t a = 0; a < dims[0]; ++a)
    for (int64_t b = 0; b < dims[1]; ++b)
      for (int64_t c = 0; c < dims[2]; ++c)
        for (int64_t d = 0; d < dims[3]; ++d) each(Dims{a, b, c, d}, at++);
}

int64_t offset_of(const Dims& index, const Dims& strides) {
  return index[0] * strides[0] + index[1] * strides[1] + index[2] * strides[2] + index[3] * strides[3];
}

double rounded(Type type, double value) {
  if (type == Type::bf16) return core::bf16_to_f32(core::f32_to_bf16(static_cast<float>(value)));
  if (type == Type::f16) return core::f16_to_f32(core::f32_to_f16(static_cast<float>(value)));
  return type == Type::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

double load(Type type, const void* data, int64_t at) {
  if (type == Type::f32) return static_cast<const float*>(data)[at];
  const auto bits = static_cast<const uint16_t*>(data)[at];
  return type == Type::bf16 ? core::bf16_to_f32(bits) : core::f16_to_f32(bits);
}

void store(Type type, void* data, int64_t at, double value) {
  const auto f = static_cast<float>(value);
  if (type == Type::f32)
    static_cast<float*>(data)[at] = f;
  else
    static_cast<uint16_t*>(data)[at] = type == Type::bf16 ? core::f32_to_bf16(f) : core::f32_to_f16(f);
}

class Player {
 public:
  Player(const Fake& graph, std::map<int64_t, void*> places) : graph_(graph), places_(std::move(places)) {}

  void play() {
    for (const auto& operation : graph_.links.at(Attribute::graph_operations)) {
      if (operation->kind == Kind::matmul_operation) matmul(*operation);
      if (operation->kind == Kind::pointwise_operation) pointwise(*operation);
      if (operation->kind == Kind::reduction_operation) reduce(*operation);
      if (operation->kind == Kind::reshape_operation) reshape(*operation);
    }
  }

 private:
  struct Value {
    Dims dims{};
    std::vector<double> dense;
    /// Heads and rows that there are fewer of serve several.
    double at(const Dims& index, const Dims& whole) const {
      int64_t place = 0;
      for (size_t i = 0; i < 4; ++i)
        place = place * dims[i] + (dims[i] == whole[i] ? index[i] : index[i] / (whole[i] / dims[i]));
      return dense[static_cast<size_t>(place)];
    }
  };

  const Value& read(const Fake& tensor) {
    const auto id = tensor.get<int64_t>(Attribute::tensor_id);
    if (const auto found = values_.find(id); found != values_.end()) return found->second;
    Value value{dims_of(tensor, Attribute::tensor_dims), {}};
    const auto strides = dims_of(tensor, Attribute::tensor_strides);
    walk(value.dims, [&](const Dims& index, int64_t) {
      value.dense.push_back(
          load(tensor.get<Type>(Attribute::tensor_type), places_.at(id), offset_of(index, strides)));
    });
    return values_[id] = value;
  }

  void write(const Fake& tensor, std::vector<double> dense) {
    const auto id = tensor.get<int64_t>(Attribute::tensor_id);
    const auto type = tensor.get<Type>(Attribute::tensor_type);
    for (auto& value : dense) value = rounded(type, value);
    Value value{dims_of(tensor, Attribute::tensor_dims), std::move(dense)};
    if (!tensor.get<bool>(Attribute::tensor_is_virtual)) {
      const auto strides = dims_of(tensor, Attribute::tensor_strides);
      walk(value.dims, [&](const Dims& index, int64_t at) {
        store(type, places_.at(id), offset_of(index, strides), value.dense[static_cast<size_t>(at)]);
      });
    }
    values_[id] = std::move(value);
  }

  void matmul(const Fake& operation) {
    const auto &a = read(operation.other(Attribute::matmul_a)),
               &b = read(operation.other(Attribute::matmul_b));
    const auto& c = operation.other(Attribute::matmul_c);
    const auto dims = dims_of(c, Attribute::tensor_dims);
    std::vector<double> dense;
    walk(dims, [&](const Dims& at, int64_t) {
      double sum = 0;
      for (int64_t k = 0; k < a.dims[3]; ++k)
        sum += a.at({at[0], at[1], at[2], k}, {dims[0], dims[1], dims[2], a.dims[3]}) *
               b.at({at[0], at[1], k, at[3]}, {dims[0], dims[1], a.dims[3], dims[3]});
      dense.push_back(sum);
    });
    write(c, std::move(dense));
  }

  static double result_of(Pointwise mode, double x, double b, double t) {
    switch (mode) {
      case Pointwise::add:
        return x + b;
      case Pointwise::multiply:
        return x * b;
      case Pointwise::divide:
        return x / b;
      case Pointwise::subtract:
        return x - b;
      case Pointwise::exponential:
        return std::exp(x);
      case Pointwise::logarithm:
        return std::log(x);
      case Pointwise::not_less:
        return x >= b ? 1 : 0;
      case Pointwise::select:
        return t != 0 ? x : b;
      case Pointwise::index:
        break;
    }
    return std::nan("");
  }

  void pointwise(const Fake& operation) {
    const auto& y = operation.other(Attribute::pointwise_y);
    const auto dims = dims_of(y, Attribute::tensor_dims);
    const auto& function = operation.other(Attribute::pointwise_descriptor);
    const auto mode = function.get<Pointwise>(Attribute::pointwise_mode);
    const auto operand = [&](Attribute attribute) -> const Value* {
      return operation.links.contains(attribute) ? &read(operation.other(attribute)) : nullptr;
    };
    const auto *x = operand(Attribute::pointwise_x), *b = operand(Attribute::pointwise_b),
               *t = operand(Attribute::pointwise_t);
    const auto at = [&](const Value* value, const Dims& index) { return value ? value->at(index, dims) : 0; };
    std::vector<double> dense;
    walk(dims, [&](const Dims& index, int64_t) {
      dense.push_back(mode == Pointwise::index
                          ? static_cast<double>(
                                index[static_cast<size_t>(function.get<int64_t>(Attribute::pointwise_axis))])
                          : result_of(mode, at(x, index), at(b, index), at(t, index)));
    });
    write(y, std::move(dense));
  }

  void reduce(const Fake& operation) {
    const auto& x = read(operation.other(Attribute::reduction_x));
    const auto& y = operation.other(Attribute::reduction_y);
    const auto mode =
        operation.other(Attribute::reduction_descriptor).get<Reduction>(Attribute::reduction_operator);
    const auto dims = dims_of(y, Attribute::tensor_dims);
    std::vector<double> dense(static_cast<size_t>(elements_of(dims)),
                              mode == Reduction::add ? 0.0 : -INFINITY);
    walk(x.dims, [&](const Dims& index, int64_t from) {
      int64_t to = 0;
      for (size_t i = 0; i < 4; ++i) to = to * dims[i] + index[i] / (x.dims[i] / dims[i]);
      auto& sum = dense[static_cast<size_t>(to)];
      const auto value = x.dense[static_cast<size_t>(from)];
      sum = mode == Reduction::add ? sum + value : std::max(sum, value);
    });
    write(y, std::move(dense));
  }

  /// The memory behind x, real or pretended, as the dims and strides of y see it.
  void reshape(const Fake& operation) {
    const auto& x = operation.other(Attribute::reshape_x);
    const auto& y = operation.other(Attribute::reshape_y);
    const auto& value = read(x);
    const auto strides = dims_of(x, Attribute::tensor_strides);
    std::map<int64_t, double> memory;
    walk(value.dims, [&](const Dims& index, int64_t at) {
      memory[offset_of(index, strides)] = value.dense[static_cast<size_t>(at)];
    });
    std::vector<double> dense;
    walk(dims_of(y, Attribute::tensor_dims), [&](const Dims& index, int64_t) {
      dense.push_back(memory.at(offset_of(index, dims_of(y, Attribute::tensor_strides))));
    });
    write(y, std::move(dense));
  }

  const Fake& graph_;
  std::map<int64_t, void*> places_;
  std::map<int64_t, Value> values_;
};

Status create_descriptor(Kind kind, RawDescriptor* raw) {
  ++pretended_cudnn().alive;
  *raw = new std::shared_ptr<Fake>(std::make_shared<Fake>(Fake{kind, {}, {}, false, 0}));
  return success;
}

Status destroy_descriptor(RawDescriptor raw) {
  --pretended_cudnn().alive;
  delete &fake_of(raw);
  return success;
}

Status set_attribute(RawDescriptor raw, Attribute attribute, Form form, int64_t count, const void* data) {
  auto& fake = *fake_of(raw);
  if (fake.final) return refused;
  if (form == Form::descriptor) {
    const auto* others = static_cast<const RawDescriptor*>(data);
    for (int64_t i = 0; i < count; ++i) {
      if (!fake_of(others[i])->final) return refused;
      fake.links[attribute].push_back(fake_of(others[i]));
    }
    return success;
  }
  const std::map<Form, size_t> sizes = {
      {Form::boolean, 1}, {Form::text, 1}, {Form::int64, 8}, {Form::handle, 8}, {Form::pointer, 8}};
  const auto size = sizes.contains(form) ? sizes.at(form) : sizeof(int);
  const auto* bytes = static_cast<const std::byte*>(data);
  fake.values[attribute].assign(bytes, bytes + size * static_cast<size_t>(count));
  return success;
}

Status finalize(RawDescriptor raw) {
  auto& fake = *fake_of(raw);
  if (fake.kind == Kind::execution_plan) {
    const auto& workspaces = pretended_cudnn().workspaces;
    if (workspaces.at(fake.other(Attribute::plan_configuration).number) < 0) return refused;
  }
  fake.final = true;
  return success;
}

Status get_attribute(RawDescriptor raw, Attribute attribute, Form, int64_t wanted, int64_t* count,
                     void* result) {
  const auto& fake = *fake_of(raw);
  const auto& workspaces = pretended_cudnn().workspaces;
  if (attribute == Attribute::plan_workspace_bytes) {
    *count = 1;
    *static_cast<int64_t*>(result) = workspaces.at(fake.other(Attribute::plan_configuration).number);
    return success;
  }
  if (attribute != Attribute::heuristics_results) return refused;
  *count = static_cast<int64_t>(workspaces.size());
  for (int64_t i = 0; i < wanted; ++i) {
    auto& configuration = *fake_of(static_cast<RawDescriptor*>(result)[i]);
    configuration.links[Attribute::heuristics_graph] = fake.links.at(Attribute::heuristics_graph);
    configuration.number = static_cast<size_t>(i);
    configuration.final = true;
  }
  return success;
}

Status execute_plan(Handle, RawDescriptor plan, RawDescriptor pack) {
  ++pretended_cudnn().executed;
  const auto& configuration = fake_of(plan)->other(Attribute::plan_configuration);
  const auto& packed = *fake_of(pack);
  std::map<int64_t, void*> places;
  for (size_t i = 0; i < packed.values.at(Attribute::pack_ids).size() / sizeof(int64_t); ++i)
    places[packed.get<int64_t>(Attribute::pack_ids, i)] = packed.get<void*>(Attribute::pack_pointers, i);
  const auto bytes = pretended_cudnn().workspaces.at(configuration.number);
  if (bytes > 0) std::memset(packed.get<void*>(Attribute::pack_workspace), 0xff, static_cast<size_t>(bytes));
  Player(configuration.other(Attribute::heuristics_graph), std::move(places)).play();
  return success;
}

Status create(Handle* handle) {
  if (!pretended_cudnn().takes_device) return refused;
  ++pretended_cudnn().alive;
  *handle = reinterpret_cast<Handle>(&pretended_cudnn());
  return success;
}

Status destroy(Handle) {
  --pretended_cudnn().alive;
  return success;
}

}  // namespace

PretendedCudnn& pretended_cudnn() {
  static PretendedCudnn library;
  return library;
}

Functions pretended_cudnn_functions() {
  return {create,
          destroy,
          [](Handle, void*) { return success; },
          [] { return size_t{91900}; },
          [](Status) { return "refused"; },
          create_descriptor,
          destroy_descriptor,
          set_attribute,
          get_attribute,
          finalize,
          execute_plan};
}

}  // namespace galvatron::test
