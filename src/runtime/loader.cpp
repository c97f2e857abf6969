// Rows of a tensor-parallel group come piece by piece: piece, then sample, then position, as gathering over
// its ranks leaves them.

#include "runtime/loader.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::runtime {

Loader::Loader(const store::Dataset& data, SampleOffset offset_of, const plan::Plan& plan,
               const spec::ModelSpec& model, int64_t rank)
    : data_(data),
      offset_of_(std::move(offset_of)),
      samples_per_micro_(plan.samples_per_micro()),
      seq_(model.seq),
      rank_(rank),
      stage_first_rank_(plan.stage_of_rank(rank) * plan.ranks_per_stage()),
      token_strategy_(plan.layers.front()),
      label_strategy_(plan.layers.back()),
      window_(static_cast<size_t>(model.seq + 1)) {}

void Loader::tokens(int64_t micro, device::TensorView out) {
  fill(micro, 0, token_strategy_, out);
}

void Loader::labels(int64_t micro, device::TensorView out) {
  fill(micro, 1, label_strategy_, out);
}

void Loader::fill(int64_t micro, int64_t shift, const spec::LayerStrategy& strategy, device::TensorView out) {
  const auto coordinate = spec::MeshShape(strategy, stage_first_rank_).coordinate_of(rank_);
  const spec::TokenLayout layout{samples_per_micro_, seq_, strategy};
  const auto samples = layout.samples_of(coordinate.dp);
  const auto ranges = layout.gathered_positions_of(coordinate);
  GALV_ASSERT(ranges.size() == 1 && out.cols == samples.size() * ranges[0].size(), out.cols, samples.size());
  const auto length = ranges[0].size() / strategy.tp;
  auto* ids = out.as<int32_t>();
  for (auto s = samples.begin; s < samples.end; ++s) {
    const auto offset = offset_of_(first_sample_ + micro * samples_per_micro_ + s);
    if (offset < 0)
      std::fill(window_.begin(), window_.end(), shift == 0 ? 0 : -1);
    else
      data_.read(offset, window_);
    for (int64_t piece = 0; piece < strategy.tp; ++piece) {
      const auto row = (piece * samples.size() + s - samples.begin) * length;
      const auto* from = window_.data() + ranges[0].begin + piece * length + shift;
      std::copy(from, from + length, ids + row);
    }
  }
}

}  // namespace galvatron::runtime
