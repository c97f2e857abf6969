#pragma once
// The axes along which ranks divide the work. One table names them all; sets of axes name groups of ranks.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace galvatron::spec {

/// In the order of ranks inside a stage: tp fastest, dp slowest. `tie` joins the first and the last stage of
/// a pipeline for the parameters that both hold (tied embedding and head). `ep` divides dp·sp·cp for experts
/// only.
enum class Axis : uint8_t { tp, sp, cp, dp, ep, tie };

struct AxisRow {
  Axis axis;
  std::string_view key;      ///< name in decks, plans and reports
  std::string_view meaning;  ///< what it splits
};

const std::array<AxisRow, 6>& axis_table();
std::string_view name_of(Axis axis);

/// A set of axes; the group of a rank under it are the ranks that differ from it in these coordinates only.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(Axis axis) : bits_(bit(axis)) {}  // NOLINT: an axis is a set of one

  constexpr bool contains(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint8_t bits() const { return bits_; }
  constexpr AxisSet operator|(AxisSet other) const {
    return AxisSet(static_cast<uint8_t>(bits_ | other.bits_));
  }
  constexpr bool operator==(const AxisSet&) const = default;
  constexpr auto operator<=>(const AxisSet&) const = default;

 private:
  constexpr explicit AxisSet(uint8_t bits) : bits_(bits) {}
  static constexpr uint8_t bit(Axis axis) { return static_cast<uint8_t>(1u << static_cast<uint8_t>(axis)); }

  uint8_t bits_ = 0;
};

constexpr AxisSet operator|(Axis a, Axis b) {
  return AxisSet(a) | AxisSet(b);
}

/// "dp+cp+sp"; "none" for the empty set.
std::string to_string(AxisSet set);

}  // namespace galvatron::spec
