#pragma once
// Values recorded from the public reference implementation (Hugging Face transformers on PyTorch):
// the only yardstick in the tests that this project did not make itself. tests/golden/reference/record.py
// says how they were made and how the files are laid out.

#include <cstdint>
#include <string>
#include <vector>

#include "deck/sections.hpp"
#include "support/plan_runs.hpp"

namespace galvatron::testing {

/// What training left behind.
struct RecordedTraining {
  std::vector<double> losses, gradient_norms;  ///< of each AdamW step
  Tensors gradients;                           ///< of the first step, before clipping
  Tensors weights;                             ///< after the last step
};

struct Reference {
  std::string versions;  ///< of what made it
  spec::ModelSpec model;
  deck::TrainSection train;
  int64_t batch = 0, steps = 0;
  std::vector<double> token_losses;  ///< of the first batch, batch × seq, in fp64 as the next
  std::vector<double> logits;        ///< of the first sample before any step, seq × vocab
  RecordedTraining fp64, fp16;       ///< the same training in two precisions
};

/// tests/golden/reference/<family>.h5.
Reference read_reference(const std::string& family);

/// Element i of a tensor ("model/…") that training starts from.
double reference_weight(const store::TensorInfo& tensor, int64_t i);

/// The tokens that the reference was trained on, sample after sample.
class ReferenceTokens final : public store::Dataset {
 public:
  explicit ReferenceTokens(int64_t vocabulary) : vocabulary_(vocabulary) {}
  int64_t tokens() const override { return int64_t{1} << 30; }
  int64_t vocabulary() const override { return vocabulary_; }
  void read(int64_t offset, std::span<int32_t> out) const override;
  std::string fingerprint() const override { return "reference tokens"; }

 private:
  int64_t vocabulary_;
};

}  // namespace galvatron::testing
