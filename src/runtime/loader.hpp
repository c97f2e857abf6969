#pragma once
// Feeds this rank exactly the tokens and labels that its tensor-parallel group computes on. Which samples
// those are depends on the sample counter and the plan's split of a batch, never on who else runs.

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"
#include "runtime/player.hpp"
#include "spec/token_layout.hpp"
#include "store/dataset.hpp"

namespace galvatron::runtime {

/// Start of the seq + 1 tokens of sample number n, or −1 for a sample that does not exist (its labels are
/// ignored).
using SampleOffset = std::function<int64_t(int64_t sample)>;

class Loader final : public MicroBatchSource {
 public:
  Loader(const store::Dataset& data, SampleOffset offset_of, const plan::Plan& plan,
         const spec::ModelSpec& model, int64_t rank);

  /// Micro-batches that follow are those of the step that begins with this sample.
  void seek(int64_t first_sample) { first_sample_ = first_sample; }

  void tokens(int64_t micro, device::TensorView out) override;
  void labels(int64_t micro, device::TensorView out) override;

 private:
  /// What this rank's tensor-parallel group reads of a micro-batch.
  struct Share {
    spec::Range samples;
    /// Positions of each piece; one may lie in both halves of a context-parallel block.
    std::vector<std::vector<spec::Range>> pieces;
    int64_t length = 0;  ///< positions of a piece
  };
  Share share_of(const plan::Plan& plan, const spec::LayerStrategy& strategy, int64_t rank) const;
  void fill(int64_t micro, int64_t shift, const Share& share, device::TensorView out);

  const store::Dataset& data_;
  SampleOffset offset_of_;
  int64_t samples_per_micro_, seq_;
  Share tokens_, labels_;
  int64_t first_sample_ = 0;
  std::vector<int32_t> window_;
};

}  // namespace galvatron::runtime
