#pragma once
// Which ranks of the world a stage gets. On machines whose nodes are joined by slow links this decides
// whether a stage's own traffic or that between stages crosses them.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace galvatron::plan {

enum class Placement : uint8_t {
  stage_major,  ///< a stage has ranks in a row: its members are as near to each other as can be
  stage_minor,  ///< neighbouring ranks hold neighbouring stages: messages between stages stay near
};

inline constexpr std::array all_placements = {Placement::stage_major, Placement::stage_minor};

/// "stage-major", "stage-minor".
std::string_view name_of(Placement placement);
/// Throws core::UserError with the names there are.
Placement placement_named(std::string_view name);

/// The ranks of `stages` pipeline ranks of `members` each.
struct StageRanks {
  Placement placement = Placement::stage_major;
  int64_t stages = 1, members = 1;

  /// Ranks of a stage follow each other at this distance.
  int64_t stride() const { return placement == Placement::stage_major ? 1 : stages; }
  int64_t rank_at(int64_t stage, int64_t member) const {
    return placement == Placement::stage_major ? stage * members + member : member * stages + stage;
  }
  int64_t stage_of(int64_t rank) const {
    return placement == Placement::stage_major ? rank / members : rank % stages;
  }
  int64_t member_of(int64_t rank) const {
    return placement == Placement::stage_major ? rank % members : rank / stages;
  }
};

}  // namespace galvatron::plan
