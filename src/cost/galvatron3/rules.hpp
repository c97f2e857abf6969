#pragma once
// The price rules that the public code of Galvatron 3.0 computes with, as they are, faults included;
// docs/galvatron-3.0.md has the formulas and says where they are wrong. Our own search does not use them.

#include <cstdint>
#include <vector>

#include "cost/galvatron3/strategy.hpp"
#include "cost/galvatron3/tables.hpp"

namespace galvatron::cost::galvatron3 {

enum class Precision : uint8_t { full, mixed };
/// Whether gradients of every micro-batch are reduced at once, or kept until the last.
enum class GradientReduction : uint8_t { asynchronous, deferred };
enum class Pipeline : uint8_t { one_f_one_b, gpipe };
/// Whether tensor-parallel ranks split the sequence between their products.
enum class SequenceSplit : uint8_t { off, on };

struct Settings {
  int64_t world = 1;
  Precision precision = Precision::mixed;
  GradientReduction reduction = GradientReduction::asynchronous;
  Pipeline pipeline = Pipeline::one_f_one_b;
  SequenceSplit sequence = SequenceSplit::on;
};

/// Samples of a step and the micro-batches they come in.
struct Step {
  int64_t batch = 1, chunks = 1;
  double micro() const { return static_cast<double>(batch) / static_cast<double>(chunks); }
};

/// Seconds of a micro-batch that reduces gradients, and of one that does not.
struct SyncSeconds {
  double with = 0, without = 0;
};

class Rules {
 public:
  Rules(Hardware hardware, ModelTables model, Settings settings);

  const ModelTables& model() const { return model_; }
  const Settings& settings() const { return settings_; }

  /// MB of one layer on a stage, not rounded.
  double layer_mb(const Strategy& strategy, const Step& step, int64_t stage) const;
  /// MB of embedding and head on a stage, with 1024 of the framework.
  double vocab_mb(const Strategy& strategy, const Step& step, int64_t stage) const;
  /// MB of the buffer in which a stage gathers split sequences, for groups of `width`.
  double buffer_mb(const Step& step, int64_t stages, int64_t width) const;

  SyncSeconds layer_seconds(const Strategy& strategy, const Step& step) const;
  SyncSeconds vocab_seconds(const Strategy& strategy, const Step& step, int64_t stage) const;

  /// Between neighbouring layers: a redistribution at `unit` seconds per (MB · ms/MB), or nothing.
  double redistribution_seconds(const Strategy& from, const Strategy& to, const Step& step,
                                double unit) const;
  /// The tiny amounts by which Galvatron 3.0 orders layers that need no redistribution.
  static double bias_seconds(const Strategy& from, const Strategy& to);

 private:
  double states_share(const Strategy& strategy, const Step& step) const;
  int64_t in_flight(const Strategy& strategy, const Step& step, int64_t stage) const;
  double reduce_coefficient(const Strategy& strategy) const;
  double message_mb(const Strategy& strategy, const Step& step) const;
  double collective_ms(const Strategy& strategy, const Step& step) const;
  double layer_ms(const Strategy& strategy, const Step& step, double synced_mb) const;

  Hardware hardware_;
  ModelTables model_;
  Settings settings_;
};

/// The unit of redistributions in Galvatron 3.0, and the one that megabytes and milliseconds would need.
constexpr double published_unit = 1e-7;
constexpr double physical_unit = 1e-9;

/// Layers and vocabulary of a stage: the micro-batch without sync; the layers alone with sync.
struct StageSeconds {
  double micro = 0, last_layers = 0;
};

/// Its formula for a step of `chunks` micro-batches.
double pipeline_seconds(const std::vector<StageSeconds>& stages, int64_t chunks);

/// MB that a plan may use out of the memory of a rank, and what is held back.
struct Budget {
  int64_t usable_mb = 0, reserved_mb = 0;
};
Budget budget_of(int64_t memory_mb);

}  // namespace galvatron::cost::galvatron3
