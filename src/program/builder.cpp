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

WeightRef Builder::rows_of(WeightRef weight, int64_t row, int64_t rows) {
  weight.row = row;
  weight.rows = rows;
  return weight;
}

const HeadDeal& Builder::heads() {
  if (!heads_) heads_ = deal_heads(dims(), context_.strategy, context_.coordinate.tp);
  return *heads_;
}

core::RowPositions Builder::positions_of(int64_t pieces, int64_t begin) const {
  const auto& s = context_.strategy;
  const auto block = dims().seq / s.cp, c = int64_t{context_.coordinate.cp};
  core::RowPositions p;
  p.samples = context_.samples;
  p.pieces = pieces;
  p.length = rows_ / context_.samples;
  p.begin = begin;
  p.half = s.cp > 1 ? block / 2 : block;
  p.first = c * p.half;
  p.second = (2 * int64_t{s.cp} - 1 - c) * p.half;
  return p;
}

ValueId Builder::norm(ValueId x, const std::string& name) {
  const auto [rows, cols] = std::pair(tape_.program.value(x).rows, tape_.program.value(x).cols);
  const bool shifts = dims().norm == core::NormKind::layernorm && dims().bias;
  const auto gamma = vector(name + ".weight", cols, InitKind::ones);
  const auto beta = shifts ? vector(name + ".bias", cols, InitKind::zeros) : WeightRef{};
  const auto y = computed(name, rows, cols);
  const auto stats = new_value(name + ".stats", rows, 2, accumulator(), Storage::work);
  tape_.ops.push_back(
      {OpKind::norm, {x}, {y, stats}, {gamma, beta}, NormAttributes{dims().norm, dims().norm_eps}});
  return y;
}

ValueId Builder::linear(ValueId x, WeightRef weight, WeightRef bias) {
  return linear(x, std::vector{std::pair(weight, bias)});
}

ValueId Builder::linear(ValueId x, const std::vector<std::pair<WeightRef, WeightRef>>& weights_and_biases) {
  int64_t out = 0;
  std::vector<WeightRef> refs;
  for (const auto& [weight, bias] : weights_and_biases) {
    refs.insert(refs.end(), {weight, bias});
    if (weight.rows > 0) {
      out += weight.rows;
      continue;
    }
    for (int32_t i = 0; i < weight.count; ++i)
      out += tape_.weights[static_cast<size_t>(weight.first + i)].parameter.local_rows;
  }
  const auto y = computed("linear", tape_.program.value(x).rows, out);
  tape_.keep[static_cast<size_t>(y)] = Keep::yes;
  tape_.ops.push_back({OpKind::linear, {x}, {y}, std::move(refs), {}});
  return y;
}

ValueId Builder::activation(ValueId x) {
  const auto kind = dims().activation;
  const auto in = tape_.program.value(x).cols;
  const auto y =
      computed("activation", tape_.program.value(x).rows, kind == core::ActivationKind::swiglu ? in / 2 : in);
  tape_.ops.push_back({OpKind::activation, {x}, {y}, {}, ActivationAttributes{kind}});
  return y;
}

ValueId Builder::rope(ValueId qkv) {
  const auto tp = context_.strategy.tp;
  const auto y = computed("rope", tape_.program.value(qkv).rows, tape_.program.value(qkv).cols);
  tape_.keep[static_cast<size_t>(y)] = Keep::yes;
  RopeAttributes a;
  a.positions = positions_of(tp, context_.coordinate.sp * tp * (rows_ / context_.samples));
  a.heads = heads().queries.count + heads().keys.count;
  a.head_dim = dims().head_dim;
  a.base = dims().rope_base;
  tape_.ops.push_back({OpKind::rope, {qkv}, {y}, {}, a});
  return y;
}

ValueId Builder::tokens_to_heads(ValueId qkv) {
  const auto sp = context_.strategy.sp;
  if (sp == 1) return qkv;
  const auto cols = (heads().part_query_count() + 2 * heads().part_key_count()) * dims().head_dim;
  const auto y = computed("heads", tape_.program.value(qkv).rows * sp, cols);
  tape_.keep[static_cast<size_t>(y)] = Keep::yes;
  const CollectiveAttributes a{core::CollectiveKind::all_to_all, core::ReduceOp::sum, spec::Axis::sp, sp};
  tape_.ops.push_back({OpKind::to_heads, {qkv}, {y}, {}, a});
  return y;
}

ValueId Builder::heads_to_tokens(ValueId x) {
  const auto sp = context_.strategy.sp;
  if (sp == 1) return x;
  const auto y = computed("tokens", tape_.program.value(x).rows / sp, tape_.program.value(x).cols * sp);
  tape_.keep[static_cast<size_t>(y)] = Keep::yes;
  const CollectiveAttributes a{core::CollectiveKind::all_to_all, core::ReduceOp::sum, spec::Axis::sp, sp};
  tape_.ops.push_back({OpKind::to_tokens, {x}, {y}, {}, a});
  return y;
}

ValueId Builder::attention(ValueId qkv) {
  const auto& s = context_.strategy;
  const auto rows = tape_.program.value(qkv).rows, head_dim = dims().head_dim;
  const auto query_heads = heads().part_query_count(), kv_heads = heads().part_key_count();
  GALV_ASSERT(tape_.program.value(qkv).cols == (query_heads + 2 * kv_heads) * head_dim, query_heads, kv_heads,
              head_dim);
  const auto out = computed("attention", rows, query_heads * head_dim);
  const auto lse = new_value("attention.lse", rows, query_heads, accumulator(), Storage::work);
  tape_.keep[static_cast<size_t>(out)] = tape_.keep[static_cast<size_t>(lse)] = Keep::yes;
  AttentionAttributes a;
  a.samples = context_.samples;
  a.positions = dims().seq / s.cp;
  a.pieces = int64_t{s.sp} * s.tp;
  a.heads = query_heads;
  a.kv_heads = kv_heads;
  a.head_dim = head_dim;
  a.scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
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
  const auto& at = context_.coordinate;
  const auto piece = int64_t{at.sp} * context_.strategy.tp + at.tp;
  tape_.ops.push_back({OpKind::positions,
                       {x},
                       {y},
                       {table},
                       PositionAttributes{positions_of(1, piece * (rows_ / context_.samples))}});
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
