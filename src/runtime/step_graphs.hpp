#pragma once
// Runs of compute steps that a device is given as a whole from their third time on: a layer is dozens of
// small launches, and where they are the same every time, one launch serves.

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "device/device.hpp"
#include "runtime/addresses.hpp"

namespace galvatron::runtime {

/// Whether a session captures at all.
enum class Graphs : uint8_t { off, on };

class StepGraphs {
 public:
  using Run = std::function<void()>;

  /// `note` hears once why nothing is captured any more.
  StepGraphs(device::Stream& stream, std::function<void(const std::string&)> note)
      : stream_(stream), note_(std::move(note)) {}

  /// Plays the run of a phase that begins at step `begin`. At first as it is: kernels choose their algorithms
  /// then. When it comes again with the same addresses it is captured, and from then on launched. Where that
  /// fails, this and all further runs are played as they are.
  void play(const LayerAddresses& layer, program::Phase phase, size_t begin, const Run& run);

  /// A number that runs hold has changed: what was captured is void.
  void forget() { runs_.clear(); }

  /// While a run is captured, nothing of it happens.
  bool capturing() const { return capturing_; }
  int64_t launches() const { return launches_; }

 private:
  struct Key {
    const LayerAddresses* layer = nullptr;
    program::Phase phase = program::Phase::forward;
    size_t begin = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Known {
    LayerAddresses at;
    std::unique_ptr<device::Graph> graph;
  };

  std::unique_ptr<device::Graph> capture(const Run& run);

  device::Stream& stream_;
  std::function<void(const std::string&)> note_;
  std::map<Key, Known> runs_;
  bool capturing_ = false, gave_up_ = false;
  int64_t launches_ = 0;
};

}  // namespace galvatron::runtime
