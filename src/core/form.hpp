#pragma once
// The ways in which a group of ranks can do a collective. Profiles measure them, plans record which one to
// use from which size on, communicators follow; the words are here because those rooms share no other.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute.hpp"

namespace galvatron::core {

/// direct: every member with every other one. hierarchical: inside the nodes, across them, inside again.
/// shared: through memory that all members see.
enum class Form : uint8_t { direct, hierarchical, shared };

std::string_view name_of(Form form);
/// Throws UserError naming the three for any other text.
Form form_named(std::string_view text);

std::string_view name_of(CollectiveKind kind);
/// Throws UserError naming them all for any other text.
CollectiveKind collective_named(std::string_view text);

/// From this many bytes of the whole tensor on, this form.
struct FormRow {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int64_t from_bytes = 0;
  Form form = Form::direct;

  auto operator<=>(const FormRow&) const = default;
};

/// The forms of one group. A collective without rows is direct; the same table gives the same bits.
struct FormTable {
  std::vector<FormRow> rows;

  /// The form of the row with the largest from_bytes ≤ `bytes`.
  Form of(CollectiveKind kind, int64_t bytes) const;
  bool uses(Form form) const;
};

/// A row of all groups that lie on nodes alike: `ranks` members on `nodes` nodes, at most `per_node` on one.
struct FormChoice {
  int32_t ranks = 1, nodes = 1, per_node = 1;
  FormRow row;

  auto operator<=>(const FormChoice&) const = default;
};

/// The rows of the groups of one shape.
FormTable table_of(const std::vector<FormChoice>& choices, int32_t ranks, int32_t nodes, int32_t per_node);

/// Why a group of this shape cannot do `kind` in `form`; empty when it can. hierarchical: all_reduce,
/// all_gather and reduce_scatter of several nodes with two members on one. shared: these and all_to_all, on
/// one node.
std::string form_fault(Form form, CollectiveKind kind, int32_t ranks, int32_t nodes, int32_t per_node);

}  // namespace galvatron::core
