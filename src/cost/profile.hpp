#pragma once
// What was measured, as values: curves with their conditions. Prices interpolate inside the measured range
// and say so when they leave it.

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/algorithm_choices.hpp"
#include "core/compute.hpp"
#include "core/dtype.hpp"
#include "core/form.hpp"
#include "cost/curve.hpp"
#include "program/program.hpp"

namespace galvatron::cost {

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

/// One ordered pair of ranks, on one path.
struct Link {
  int32_t from = 0, to = 0;
  double latency_seconds = 0;          ///< α of the one line α + bytes/β through all sizes
  double bytes_per_second = 0;         ///< its β, nobody else talking
  double loaded_bytes_per_second = 0;  ///< while all pairs of the round talk
  std::string path = "host MPI";       ///< by which way the bytes travel
  Curve isolated, loaded;              ///< one way, seconds over bytes; no points = not measured
  bool operator==(const Link&) const = default;
};

/// What a matrix product and a collective cost each other while both run on every rank of the group: the
/// product on the thread that computes, the collective on one of its own. A factor of 1 = no harm.
struct Interference {
  core::CollectiveKind kind = core::CollectiveKind::all_reduce;
  GroupShape shape;       ///< of the group that talked
  double bytes = 0;       ///< of the whole tensor: the size class
  double compute = 1;     ///< time of the product beside the collective / alone, ≥ 1
  double collective = 1;  ///< time of the collective beside the product / alone, ≥ 1
  bool operator==(const Interference&) const = default;
};

/// Memory of a rank that depends on the plan, per thing that the plan makes the runtime hold.
struct ReserveUnits {
  int64_t communicator = 0;   ///< of each group that the rank is a member of
  int64_t window_member = 0;  ///< of each member of each group that talks through shared memory
  int64_t thread = 0;         ///< of each thread that talks while the rank computes
  bool operator==(const ReserveUnits&) const = default;
};

/// What a phase of the measurement could do in its time.
struct Coverage {
  std::string phase;
  double allotted_seconds = 0, spent_seconds = 0;
  int64_t done = 0, wanted = 0;
  std::string unit;  ///< of done and wanted, e.g. "pairs"
  int64_t kept = 0;  ///< of done: known from an earlier profile
  bool operator==(const Coverage&) const = default;
};

/// How much of the link map there is. Pairs are unordered.
struct LinkCoverage {
  int64_t inside = 0, inside_done = 0;    ///< pairs within a node, in the isolated pass
  int64_t leaders = 0, leaders_done = 0;  ///< pairs of the first ranks of two nodes, likewise
  int64_t rest = 0, rest_done = 0;        ///< all other pairs, likewise; done in a seeded random order
  int64_t rounds = 0, rounds_done = 0;    ///< of the tournament, in the loaded pass
  int64_t wanted_bytes = 0;               ///< the largest size asked for
  int64_t same_node_bytes = 0;            ///< the largest size that the budget allowed inside a node
  int64_t across_bytes = 0;               ///< likewise across nodes
  double timer_resolution = 0;            ///< seconds
  bool operator==(const LinkCoverage&) const = default;
};

enum class LinkFigure : uint8_t { latency, bandwidth };

/// A link that differs by more than noise from what an earlier profile of the same hosts holds.
struct LinkChange {
  int32_t from = 0, to = 0;
  std::string path;
  LinkFigure figure = LinkFigure::bandwidth;
  double before = 0, after = 0;  ///< seconds, or bytes per second
  bool operator==(const LinkChange&) const = default;
};

/// The machine: links, collectives, peaks. Sizes of collectives are bytes of the whole (gathered / unreduced
/// / reduced) tensor.
struct HardwareProfile {
  int64_t ranks = 1, nodes = 1, ranks_per_node = 1;
  int32_t threads = 1;              ///< per rank
  std::vector<std::string> hosts;   ///< one per node
  std::vector<int32_t> rank_nodes;  ///< node of each rank; empty: ranks_per_node to each
  std::vector<Link> links;          ///< every measured ordered pair
  LinkCoverage link_coverage;
  std::string compared_with;             ///< date of the profile that `link_changes` refers to; empty: none
  std::vector<LinkChange> link_changes;  ///< none where nothing changed
  Curve transfer_same_node, transfer_across;   ///< one message, seconds over bytes (loaded)
  std::map<CollectiveKey, Curve> collectives;  ///< of the fastest form at each size
  std::vector<core::FormChoice> forms;     ///< which form that is; none for shapes that are direct throughout
  std::vector<Interference> interference;  ///< by kind, shape, bytes
  /// What the last of a group is late, seconds over the seconds that all computed before they meet.
  std::map<GroupShape, Curve> lateness;
  /// Per rank, FLOP/s, all ranks of the node busy, in the precision of the model that was profiled.
  std::vector<double> gemm_flops;
  std::map<core::DType, std::vector<double>> gemm_peaks;  ///< likewise in every precision that was measured
  std::vector<double> memory_bytes_per_second;            ///< per rank, likewise
  int64_t reserve_bytes = 0;                      ///< per rank, outside the arena, whatever the plan: the sum
  std::map<std::string, int64_t> reserve_parts;   ///< of these
  ReserveUnits reserve_units;                     ///< what the plan adds
  std::string fingerprint;                        ///< hosts, ranks, threads, what talks and computes here
  bool nominal = false;                           ///< published figures, not measured here
  std::map<std::string, std::string> conditions;  ///< date, versions, processor, binding …
  bool operator==(const HardwareProfile&) const = default;
};

/// The row of `kind` nearest to what is asked for: of the same shape where there is one, else of the shape
/// with the next number of nodes and ranks; of its sizes the one with the smallest ratio to `bytes`. Null
/// where none of the kind was measured.
const Interference* interference_of(const HardwareProfile& profile, core::CollectiveKind kind,
                                    const GroupShape& shape, double bytes);

/// Seconds that a group of this shape waits for its last member when all have computed for so long: by the
/// curve of the shape, else of the one with the next number of nodes and ranks; 0 where none was measured.
double lateness_of(const HardwareProfile& profile, const GroupShape& shape, double compute_seconds);

/// Node of a rank.
int64_t node_of(const HardwareProfile& profile, int64_t rank);

/// A compute step as far as its duration depends on it, without its row count (tokens, or samples for
/// attention).
struct StepSignature {
  std::string key;  ///< e.g. "gemm f32 n=1024 k=256 nt"
  double rows = 0;
};

/// Reads shapes and attributes only. Collectives have no signature (empty key): HardwareProfile prices them.
StepSignature signature_of(const program::Program& program, const program::Step& step);

/// What the processor, or where it does not say the system, counted while the steps of one phase of one kind
/// of layer were played. Mean over the ranks.
struct CounterReading {
  std::string layer, phase;  ///< e.g. "attention", "backward"
  std::string event;         ///< e.g. "cycles"
  double per_token = 0;
  int64_t plays = 0;
  bool operator==(const CounterReading&) const = default;
};

/// The model's steps on this machine: seconds over rows, per signature.
struct ModelProfile {
  std::map<std::string, Curve> steps;
  std::string model_fingerprint;
  core::DType dtype = core::DType::f32;
  double loader_seconds_per_token = 0;         ///< reading and cutting of training data; 0 = not measured
  std::vector<double> rank_seconds;            ///< per rank, of steps that all ranks measured: who is slow
  std::vector<CounterReading> counters;        ///< by layer, phase, event
  std::string counters_missing;                ///< which events are not there and why; empty = all are
  core::AlgorithmChoices products, attention;  ///< algorithms of a device's libraries; none on CPUs
  std::string fingerprint;                     ///< hosts, ranks, threads, kernels: steps of an equal one hold
  bool operator==(const ModelProfile&) const = default;

  core::AlgorithmChoices& choices(core::ChosenStep step) {
    return step == core::ChosenStep::products ? products : attention;
  }
};

struct Profile {
  HardwareProfile hardware;
  ModelProfile model;
  std::string fingerprint;         ///< host set, ranks, threads, build, model shapes: reuse when equal
  bool complete = true;            ///< false: stopped before everything had its turn; the next start goes on
  std::vector<Coverage> coverage;  ///< by phase, in the order of measurement
  bool operator==(const Profile&) const = default;
};

}  // namespace galvatron::cost
