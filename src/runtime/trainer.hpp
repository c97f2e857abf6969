#pragma once
// The training loop: steps, progress, validation, checkpoints, orderly stops. What a step does is the
// Session's business.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "core/log.hpp"
#include "deck/sections.hpp"
#include "runtime/session.hpp"
#include "store/blend.hpp"
#include "store/checkpoint.hpp"
#include "store/dataset.hpp"
#include "store/metrics.hpp"
#include "store/run_folder.hpp"

namespace galvatron::runtime {

/// Everything that outlives the loop.
struct TrainJob {
  const deck::DeckValues& deck;
  const spec::ModelSpec& model;
  const plan::Plan& plan;
  comm::World& world;
  device::Device& device;
  kernels::Kernels& kernels;
  const store::Dataset& train_data;
  const store::Dataset* valid_data = nullptr;  ///< null: no validation
  std::vector<store::BlendPart> parts = {};    ///< sources in train_data; empty: it is one
  store::RunPaths paths;
  std::string run_id;          ///< of the run folder, the same on every rank
  std::string deck_text = {};  ///< the effective deck
  std::string plan_text = {};
  std::string build_text = {};
  store::CheckpointIo io = store::CheckpointIo::automatic;  ///< as a probe left it
  std::optional<std::filesystem::path> resume_from = {};    ///< a verified checkpoint, the same on every rank
  std::function<Request()> requests = [] {
    return Request::none;
  };  ///< signals and touch files seen by this rank
  /// Seconds left to this rank's job; infinite when there is no limit.
  std::function<double()> seconds_left = {};
  std::function<void(std::string_view)> pat = [](std::string_view) {};
  /// What the thread does that writes checkpoints behind the steps; empty when it rests.
  std::function<void(std::string_view)> pat_beside = [](std::string_view) {};
  int64_t memory_bytes = 0;  ///< that this rank may take; 0 = not known
  /// Events for the run folder: what was resumed and saved. Called on every rank.
  std::function<void(const store::MetricsLine&)> note = [](const store::MetricsLine&) {};
  core::Log& log;
};

enum class StopReason { finished, stop_after, user, requeue };

struct TrainReport {
  int64_t steps = 0;  ///< of the run, resumed ones included
  int64_t resumed_from = 0;
  StopReason stopped = StopReason::finished;
  double loss = 0;
  std::optional<double> valid_loss;
  double step_seconds = 0;       ///< median over this attempt's steps
  double tokens_per_second = 0;  ///< batch tokens over the median step
  int64_t planned_bytes = 0;     ///< arena of this rank
  int64_t high_water_bytes = 0;
  SectionTimes sections;
  int64_t copy_bytes = 0;        ///< of this rank, that checkpoints are written from; 0 = from the arena
  int64_t checkpoint_bytes = 0;  ///< of the last file
  double checkpoint_seconds = 0;
  double wall_seconds = 0;
};

/// Collective. Throws core::AgreedError for a checkpoint that does not fit this run, and for non-finite
/// numbers.
TrainReport train(const TrainJob& job);

/// The element type of train.precision.
core::DType dtype_of(const deck::TrainSection& train);

/// How many windows of a validation set are looked at: all, up to a fixed bound that keeps evaluation short.
int64_t validation_windows(const store::Dataset& data, int64_t seq);

}  // namespace galvatron::runtime
