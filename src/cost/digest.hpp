#pragma once
// What prices read of a Program, without the Program: seconds of compute, which depend on no place, and
// collectives, whose seconds do. Small enough to be kept, so that a layer is lowered once for all places; and
// what a layer computes can be put together with what another Program does for its parameter groups.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/compute.hpp"
#include "program/program.hpp"

namespace galvatron::cost {

struct DigestStep {
  enum class Kind : uint8_t { compute, collective, wait };
  Kind kind = Kind::compute;
  uint8_t term = 0;                  ///< in the table of time terms
  int32_t number = -1;               ///< of a collective
  int32_t ticket = -1;               ///< of a collective that only starts, and of the wait for it
  double seconds = 0, modelled = 0;  ///< of compute
};

/// One of those that differ.
struct DigestCollective {
  core::CollectiveKind kind = core::CollectiveKind::all_reduce;
  spec::AxisSet axes;
  double bytes = 0;
  bool operator==(const DigestCollective&) const = default;
};

struct Digest {
  std::array<std::vector<DigestStep>, program::all_phases.size()> phases;
  std::array<size_t, program::all_phases.size()> clears{};  ///< leading steps that clear whole gradients
  std::array<int64_t, program::all_phases.size()> work_bytes{};
  std::vector<DigestCollective> collectives;
  program::MemoryNeed memory;
  int64_t state_bytes = 0;  ///< of groups: what this rank writes into a checkpoint
  int64_t pieces = 0;       ///< that this is on average
  int64_t reads = 0;        ///< tokens of training data per sample
  bool attends = false;     ///< rows meet other rows of their sample
};

/// A whole Program, or one Program's forward, backward and evaluate with another one's parameter groups: what
/// a layer computes depends on tp, sp, cp and recompute, its groups on their replicas and ZeRO level, and all
/// that groups do inside the layer's own phases is to clear their gradients first.
class DigestPair {
 public:
  explicit DigestPair(const Digest& whole) : compute_(whole), groups_(whole), whole_(true) {}
  DigestPair(const Digest& compute, const Digest& groups) : compute_(compute), groups_(groups) {}

  struct Played {
    std::span<const DigestStep> clears, steps;
    bool of_groups = false;  ///< its collectives are those of groups()
    bool empty() const { return clears.empty() && steps.empty(); }
  };
  Played phase(program::Phase phase) const;
  const Digest& compute() const { return compute_; }
  const Digest& groups() const { return groups_; }
  program::MemoryNeed memory() const;

 private:
  const Digest& compute_;
  const Digest& groups_;
  bool whole_ = false;
};

}  // namespace galvatron::cost
