#pragma once
// A small run, made up, with something for every picture.

#include "report/values.hpp"
#include "support/models.hpp"

namespace galvatron::test {

inline cost::Curve curve_of(int points, double latency, double bytes_per_second) {
  cost::Curve curve;
  for (int i = 0; i < points; ++i) {
    const double x = 64.0 * static_cast<double>(1 << i), seconds = latency + x / bytes_per_second;
    curve.points.push_back({x, seconds, 0.9 * seconds, 1.3 * seconds, 1.5 * seconds, 0.1, 20});
  }
  curve.fit.segments = {{64, latency, 1 / bytes_per_second}};
  curve.fit.relative_residual = 0.02;
  return curve;
}

/// Every ordered pair of `ranks` on `nodes`.
inline cost::HardwareProfile hardware_of(int32_t ranks, int32_t nodes) {
  cost::HardwareProfile hardware;
  hardware.ranks = ranks;
  hardware.nodes = nodes;
  hardware.ranks_per_node = ranks / nodes;
  for (int32_t node = 0; node < nodes; ++node) hardware.hosts.push_back("node" + std::to_string(node));
  for (int32_t from = 0; from < ranks; ++from)
    for (int32_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const bool near = from / hardware.ranks_per_node == to / hardware.ranks_per_node;
      cost::Link link;
      link.from = from;
      link.to = to;
      link.latency_seconds = near ? 1e-6 : 5e-6;
      link.bytes_per_second = near ? 8e9 : 1e9;
      link.loaded_bytes_per_second = near ? 4e9 : 0.5e9;
      hardware.links.push_back(link);
    }
  hardware.transfer_same_node = curve_of(12, 1e-6, 8e9);
  if (nodes > 1) hardware.transfer_across = curve_of(12, 5e-6, 1e9);
  return hardware;
}

/// `stages` stages of equal layers, priced.
inline plan::Plan plan_of(const spec::ModelSpec& model, int64_t stages, int64_t ranks_per_stage,
                          int64_t micros) {
  plan::Plan plan;
  plan.world = stages * ranks_per_stage;
  plan.batch = micros * ranks_per_stage;
  plan.microbatches = micros;
  for (int64_t s = 0; s < stages; ++s)
    plan.stages.push_back({s * model.size() / stages, (s + 1) * model.size() / stages - 1});
  spec::LayerStrategy strategy;
  strategy.dp = static_cast<int32_t>(ranks_per_stage);
  plan.layers.assign(static_cast<size_t>(model.size()), strategy);
  plan.predicted_step_seconds = 0.1;
  for (int64_t s = 0; s < stages; ++s)
    plan.predictions.push_back({0.004,
                                0.008,
                                0.002,
                                3 << 20,
                                {{"forward gemm", 0.03}, {"backward gemm", 0.05}},
                                {{"parameters", 1 << 20}, {"saved", 2 << 20}}});
  return plan;
}

inline report::RunValues small_run() {
  report::RunValues values;
  values.title = "galvatron run small";
  values.head = {{"hosts", "node0, node1"}, {"ranks", "4 on 2 nodes"}};
  values.hardware = hardware_of(4, 2);
  values.collectives = {{"all-reduce", "4 ranks on 2 nodes", 1.5, curve_of(8, 1e-5, 1e9)}};
  values.verdicts = {"slow link: rank 0 → 3"};
  values.hardware->gemm_peaks = {{core::DType::f32, {50e9, 60e9, 55e9, 40e9}}};
  values.hardware->memory_bytes_per_second = {1e10, 1.1e10, 0.9e10, 1e10};
  values.hardware->interference = {{core::CollectiveKind::all_reduce, {4, 2, 2}, 1 << 20, 1.2, 2.5}};
  values.hardware->reserve_bytes = 40 << 20;
  values.hardware->reserve_parts = {{"program", 30 << 20}, {"communicators", 10 << 20}};
  values.link_changes = {"worse: rank 0 (node0) to rank 3 (node1)"};
  values.counters = {{"layer", "phase", "cycles"}, {"attention", "forward", "1234"}};
  values.counters_missing = "instructions: not offered here";
  values.coverage = {{"links", 10, 8, 6, 6, "pairs"}};
  values.model = small_model(2);
  values.plan = plan_of(*values.model, 2, 2, 4);
  values.memory_limit = 4 << 20;
  values.candidates = {{"2 stages × dp2", 0.1, 80, 3 << 20, 0.11, "the best prediction"},
                       {"dp4", 0.12, 66, 3 << 20, 0, "20 % slower, most of it gradient sync"}};
  values.restricted = {{"tp", 0, 0, 0, 0, "no tp plan fits"}};
  values.search_text = "69 tasks";
  values.ending = report::Ending{
      20,
      0,
      0.11,
      1000,
      3500000,
      {3400000, 3500000},
      {{"forward", 0.6, 0.7, 0.8}, {"backward", 1.0, 1.1, 1.2}, {"pipeline wait", 0.1, 0.2, 0.3}}};
  values.measured_step = {
      {"rank 0", {{report::BarKind::forward, 0, 0, 0.004}, {report::BarKind::backward, 0, 0.01, 0.02}}},
      {"rank 1", {{report::BarKind::forward, 0, 0.005, 0.01}, {report::BarKind::once, -1, 0.03, 0.04}}}};
  for (int step = 1; step <= 20; ++step) values.metrics.push_back({step, 5.0 - 0.1 * step, {}, 0.11});
  values.metrics.back().valid_loss = 3.1;
  values.events = {{1.0e9, 0, "attempt", "galvatron run"},
                   {1.0e9 + 60, 20, "checkpoint", "checkpoint of step 20"}};
  values.deck_text = "[run]\nout = \"runs/small\"\n";
  return values;
}

}  // namespace galvatron::test
