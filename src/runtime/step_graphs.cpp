// A capture that fails has done nothing, so the run is still to be played.

#include "runtime/step_graphs.hpp"

#include <exception>

namespace galvatron::runtime {

std::unique_ptr<device::Graph> StepGraphs::capture(const Run& run) {
  capturing_ = true;
  std::unique_ptr<device::Graph> graph;
  try {
    stream_.begin_capture();
    run();
    graph = stream_.end_capture();
  } catch (const std::exception& error) {
    // What is really wrong will be said again when the run is played as it is.
    stream_.abandon_capture();
    gave_up_ = true;
    note_(std::string("graphs: none from now on, a run of steps cannot be captured: ") + error.what());
  }
  capturing_ = false;
  return graph;
}

void StepGraphs::play(const LayerAddresses& layer, program::Phase phase, size_t begin, const Run& run) {
  if (gave_up_) return run();
  auto [found, fresh] = runs_.try_emplace({&layer, phase, begin});
  auto& known = found->second;
  if (fresh || known.at != layer) {
    known.at = layer;
    known.graph.reset();
    return run();
  }
  if (!known.graph) known.graph = capture(run);
  if (!known.graph) return run();
  known.graph->launch(stream_);
  ++launches_;
}

}  // namespace galvatron::runtime
