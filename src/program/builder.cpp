// Records what a layer's forward says. Shapes are settled here; steps come later.

#include "program/builder.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::program {

using core::DType;

Builder::Builder(const spec::LayerSpec& layer, const LayerContext& context)
    : layer_(layer), context_(context) {
  const auto& s = context.strategy;
  rows_ = context.samples * (layer.dims.seq / (int64_t{s.cp} * s.sp * s.tp));
  tape_.program.layer = layer;
  tape_.program.strategy = s;
  tape_.program.coordinate = context.coordinate;
  tape_.program.samples = context.samples;
  tape_.program.dtype = context.dtype;
}

ValueId Builder::new_value(std::string name, int64_t rows, int64_t cols, DType dtype, Storage storage) {
  GALV_ASSERT(rows > 0 && cols > 0, name, rows, cols);
  tape_.program.values.push_back({std::move(name), rows, cols, dtype, storage});
  tape_.keep.push_back(storage == Storage::saved ? Keep::yes : Keep::no);
  return static_cast<ValueId>(tape_.program.values.size()) - 1;
}

ValueId Builder::computed(const std::string& name, int64_t rows, int64_t cols) {
  return new_value(name, rows, cols, context_.dtype, Storage::work);
}

ValueId Builder::input() {
  auto& id = tape_.program.input;
  if (id == no_value) id = new_value("input", rows_, dims().hidden, context_.dtype, Storage::saved);
  return id;
}

ValueId Builder::saved_ids(const std::string& name) {
  return new_value(name, 1, gathered_rows(), DType::i32, Storage::saved);
}

ValueId Builder::tokens() {
  auto& id = tape_.program.tokens;
  if (id == no_value) id = saved_ids("tokens");
  return id;
}

ValueId Builder::labels() {
  auto& id = tape_.program.labels;
  if (id == no_value) id = saved_ids("labels");
  return id;
}

WeightRef Builder::weight(const std::string& name, int64_t rows, int64_t cols, const WeightOptions& options) {
  Parameter p;
  p.name = name;
  p.owner = options.owner;
  p.rows = rows;
  p.cols = cols;
  p.local_rows = options.split == Split::rows ? share(rows) : rows;
  p.local_cols = options.split == Split::cols ? share(cols) : cols;
  p.row_begin = options.split == Split::rows ? context_.coordinate.tp * p.local_rows : 0;
  p.col_begin = options.split == Split::cols ? context_.coordinate.tp * p.local_cols : 0;
  p.init = options.init;
  p.init_std = options.std;
  p.decays = rows > 1;
  tape_.weights.push_back({p, options.group, options.split != Split::none, options.gradient_phase});
  return {static_cast<int32_t>(tape_.weights.size()) - 1, 1};
}

WeightRef Builder::vector(const std::string& name, int64_t size, InitKind init, Split split) {
  WeightOptions options;
  options.init = init;
  options.split = split == Split::none ? Split::none : Split::cols;
  return weight(name, 1, size, options);
}

WeightRef Builder::stack(std::initializer_list<WeightRef> weights) {
  WeightRef all = *weights.begin();
  all.count = 0;
  for (const auto& w : weights) {
    GALV_ASSERT(w.first == all.first + all.count, w.first, all.first, all.count);
    all.count += w.count;
  }
  return all;
}

ValueId Builder::norm(ValueId x, const std::string& name) {
  const auto [rows, cols] = std::pair(tape_.program.value(x).rows, tape_.program.value(x).cols);
  const auto gamma = vector(name + ".weight", cols, InitKind::ones);
  const auto beta = vector(name + ".bias", cols, InitKind::zeros);
  const auto y = computed(name, rows, cols);
  const auto stats_dtype = context_.dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto stats = new_value(name + ".stats", rows, 2, stats_dtype, Storage::work);
  tape_.ops.push_back({OpKind::norm,
                       {x},
                       {y, stats},
                       {gamma, beta},
                       NormAttributes{core::NormKind::layernorm, dims().norm_eps}});
  return y;
}

ValueId Builder::linear(ValueId x, WeightRef weight, WeightRef bias) {
  int64_t out = 0;
  for (int32_t i = 0; i < weight.count; ++i)
    out += tape_.weights[static_cast<size_t>(weight.first + i)].parameter.local_rows;
  const auto y = computed("linear", tape_.program.value(x).rows, out);
  tape_.keep[static_cast<size_t>(y)] = Keep::yes;
  tape_.ops.push_back({OpKind::linear, {x}, {y}, {weight, bias}, {}});
  return y;
}

ValueId Builder::gelu(ValueId x) {
  const auto y = computed("gelu", tape_.program.value(x).rows, tape_.program.value(x).cols);
  tape_.ops.push_back({OpKind::activation, {x}, {y}, {}, ActivationAttributes{core::ActivationKind::gelu}});
  return y;
}

ValueId Builder::attention(ValueId qkv, int64_t heads, int64_t kv_heads) {
  const auto rows = tape_.program.value(qkv).rows, head_dim = dims().head_dim;
  GALV_ASSERT(tape_.program.value(qkv).cols == (heads + 2 * kv_heads) * head_dim, heads, kv_heads, head_dim);
  const auto out = computed("attention", rows, heads * head_dim);
  const auto lse_dtype = context_.dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto lse = new_value("attention.lse", rows, heads, lse_dtype, Storage::work);
  tape_.keep[static_cast<size_t>(out)] = tape_.keep[static_cast<size_t>(lse)] = Keep::yes;
  const AttentionAttributes a{context_.samples,
                              dims().seq,
                              context_.strategy.tp,
                              heads,
                              kv_heads,
                              head_dim,
                              1.0 / std::sqrt(static_cast<double>(head_dim))};
  tape_.ops.push_back({OpKind::attention, {qkv}, {out, lse}, {}, a});
  return out;
}

ValueId Builder::add(ValueId a, ValueId b, WeightRef bias) {
  const auto y = computed("add", tape_.program.value(a).rows, tape_.program.value(a).cols);
  tape_.ops.push_back({OpKind::add, {a, b}, {y}, {bias}, {}});
  return y;
}

ValueId Builder::embedding(ValueId ids, WeightRef table) {
  const auto& p = tape_.weights[static_cast<size_t>(table.first)].parameter;
  const auto y = computed("embedding", tape_.program.value(ids).cols, p.local_cols);
  tape_.ops.push_back({OpKind::embedding, {ids}, {y}, {table}, LookupAttributes{p.row_begin}});
  return y;
}

ValueId Builder::positions(ValueId x, WeightRef table) {
  const auto y = computed("positions", tape_.program.value(x).rows, tape_.program.value(x).cols);
  const auto length = rows_ / context_.samples;
  tape_.ops.push_back({OpKind::positions,
                       {x},
                       {y},
                       {table},
                       PositionAttributes{context_.coordinate.tp * length, context_.samples}});
  return y;
}

ValueId Builder::enter_tensor_parallel(ValueId x) {
  const auto tp = context_.strategy.tp;
  if (tp == 1) return x;
  const auto y = computed("gathered", tape_.program.value(x).rows * tp, tape_.program.value(x).cols);
  const CollectiveAttributes a{core::CollectiveKind::all_gather, core::ReduceOp::sum, spec::Axis::tp, tp};
  tape_.ops.push_back({OpKind::gather_tokens, {x}, {y}, {}, a});
  return y;
}

ValueId Builder::leave_tensor_parallel(ValueId x) {
  const auto tp = context_.strategy.tp;
  if (tp == 1) return x;
  const auto y = computed("scattered", tape_.program.value(x).rows / tp, tape_.program.value(x).cols);
  const CollectiveAttributes a{core::CollectiveKind::reduce_scatter, core::ReduceOp::sum, spec::Axis::tp, tp};
  tape_.ops.push_back({OpKind::scatter_tokens, {x}, {y}, {}, a});
  return y;
}

void Builder::cross_entropy(ValueId h, WeightRef table, ValueId labels) {
  const auto gradient = computed("loss.gradient", tape_.program.value(h).rows, tape_.program.value(h).cols);
  tape_.keep[static_cast<size_t>(gradient)] = Keep::yes;
  const auto loss = new_value("loss", 1, 1, DType::f64, Storage::loss);
  CrossEntropyAttributes a;
  a.vocab_begin = tape_.weights[static_cast<size_t>(table.first)].parameter.row_begin;
  a.vocab = dims().vocab;
  a.scale = context_.loss_scale;
  a.loss_weight = context_.coordinate.tp == 0 ? 1.0 : 0.0;
  tape_.ops.push_back({OpKind::cross_entropy, {h, labels}, {gradient, loss}, {table}, a});
}

Tape Builder::finish(std::optional<ValueId> output) {
  if (output) {
    tape_.program.output = *output;
    tape_.program.value(*output).storage = Storage::output;
    tape_.program.output_gradient =
        new_value("output.gradient", rows_, dims().hidden, context_.dtype, Storage::output_gradient);
  }
  if (tape_.program.input != no_value)
    tape_.program.input_gradient =
        new_value("input.gradient", rows_, dims().hidden, context_.dtype, Storage::input_gradient);
  return std::move(tape_);
}

int64_t Tape::producer_of(ValueId value) const {
  for (size_t i = 0; i < ops.size(); ++i)
    for (auto output : ops[i].outputs)
      if (output == value) return static_cast<int64_t>(i);
  return -1;
}

}  // namespace galvatron::program
