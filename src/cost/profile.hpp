#pragma once
// What was measured, as values: curves with their conditions. Prices interpolate inside the measured range
// and say so when they leave it.

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/compute.hpp"
#include "core/dtype.hpp"
#include "core/form.hpp"
#include "program/program.hpp"

namespace galvatron::cost {

/// Seconds over a size (bytes, rows …), ascending in x.
struct Curve {
  struct Point {
    double x = 0;
    double seconds = 0;  ///< median
    double minimum = 0, p95 = 0;
    int64_t samples = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;

  bool measured(double x) const;
  /// Linear between points. Below the first point its value; beyond the last the line through the last two
  /// points (flag: measured(x)).
  double at(double x) const;
  bool operator==(const Curve&) const = default;
};

/// Who talks with whom, as far as time depends on it: `ranks` members, at most `per_node` of them on one
/// node, on `nodes` nodes.
struct GroupShape {
  int32_t ranks = 1, nodes = 1, per_node = 1;
  auto operator<=>(const GroupShape&) const = default;
};

struct CollectiveKey {
  core::CollectiveKind kind = core::CollectiveKind::all_reduce;
  GroupShape shape;
  auto operator<=>(const CollectiveKey&) const = default;
};

/// One ordered pair of ranks.
struct Link {
  int32_t from = 0, to = 0;
  double latency_seconds = 0;          ///< fit: α of α + bytes/β
  double bytes_per_second = 0;         ///< fit: β, isolated
  double loaded_bytes_per_second = 0;  ///< while all pairs of the round talk
  bool operator==(const Link&) const = default;
};

/// The machine: links, collectives, peaks. Sizes of collectives are bytes of the whole (gathered / unreduced
/// / reduced) tensor.
struct HardwareProfile {
  int64_t ranks = 1, nodes = 1, ranks_per_node = 1;
  int32_t threads = 1;                         ///< per rank
  std::vector<std::string> hosts;              ///< one per node
  std::vector<Link> links;                     ///< every measured ordered pair
  Curve transfer_same_node, transfer_across;   ///< one message, seconds over bytes (loaded)
  std::map<CollectiveKey, Curve> collectives;  ///< of the fastest form at each size
  std::vector<core::FormChoice> forms;  ///< which form that is; none for shapes that are direct throughout
  std::vector<double> gemm_flops;       ///< per rank, FLOP/s, all ranks of the node busy
  std::vector<double> memory_bytes_per_second;  ///< per rank, likewise
  int64_t reserve_bytes = 0;                    ///< per rank, outside the arena
  std::map<std::string, int64_t> reserve_parts;
  bool nominal = false;                           ///< published figures, not measured here
  std::map<std::string, std::string> conditions;  ///< date, versions, processor, binding …
  bool operator==(const HardwareProfile&) const = default;
};

/// A compute step as far as its duration depends on it, without its row count (tokens, or samples for
/// attention).
struct StepSignature {
  std::string key;  ///< e.g. "gemm f32 n=1024 k=256 nt"
  double rows = 0;
};

/// Reads shapes and attributes only. Collectives have no signature (empty key): HardwareProfile prices them.
StepSignature signature_of(const program::Program& program, const program::Step& step);

/// The model's steps on this machine: seconds over rows, per signature.
struct ModelProfile {
  std::map<std::string, Curve> steps;
  std::string model_fingerprint;
  core::DType dtype = core::DType::f32;
  double loader_seconds_per_token = 0;
  bool operator==(const ModelProfile&) const = default;
};

struct Profile {
  HardwareProfile hardware;
  ModelProfile model;
  std::string fingerprint;  ///< host set, ranks, threads, build, model shapes: reuse when equal
  bool operator==(const Profile&) const = default;
};

}  // namespace galvatron::cost
