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
      tokens_(share_of(plan, plan.layers.front(), rank)),
      labels_(share_of(plan, plan.layers.back(), rank)),
      window_(static_cast<size_t>(model.seq + 1)) {}

Loader::Share Loader::share_of(const plan::Plan& plan, const spec::LayerStrategy& strategy,
                               int64_t rank) const {
  auto coordinate = spec::MeshShape(strategy, 0).coordinate_of(plan.member_of(rank));
  const spec::TokenLayout layout{samples_per_micro_, seq_, strategy};
  Share share;
  share.samples = layout.samples_of(coordinate.dp);
  for (coordinate.tp = 0; coordinate.tp < strategy.tp; ++coordinate.tp)
    share.pieces.push_back(layout.positions_of(coordinate));
  for (const auto& range : share.pieces.front()) share.length += range.size();
  return share;
}

void Loader::tokens(int64_t micro, device::TensorView out) {
  fill(micro, 0, tokens_, out);
}

void Loader::labels(int64_t micro, device::TensorView out) {
  fill(micro, 1, labels_, out);
}

void Loader::fill(int64_t micro, int64_t shift, const Share& share, device::TensorView out) {
  const auto pieces = static_cast<int64_t>(share.pieces.size());
  GALV_ASSERT(out.cols == pieces * share.samples.size() * share.length, out.cols, pieces, share.length);
  auto* ids = out.as<int32_t>();
  for (auto s = share.samples.begin; s < share.samples.end; ++s) {
    const auto offset = offset_of_(first_sample_ + micro * samples_per_micro_ + s);
    if (offset < 0)
      std::fill(window_.begin(), window_.end(), shift == 0 ? 0 : -1);
    else
      data_.read(offset, window_);
    const auto* from = window_.data() + shift;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      auto* row = ids + (piece * share.samples.size() + s - share.samples.begin) * share.length;
      for (const auto& range : share.pieces[static_cast<size_t>(piece)])
        row = std::copy(from + range.begin, from + range.end, row);
    }
  }
}

}  // namespace galvatron::runtime
