// Names of forms and collectives, and which form goes with which group.
#include "core/form.hpp"

#include <array>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::core {
namespace {

constexpr std::array<std::string_view, 3> forms = {"direct", "hierarchical", "shared"};
constexpr std::array<std::string_view, 7> kinds = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                                   "broadcast",  "shift",      "exchange"};

template <class Names>
size_t place_of(const Names& names, std::string_view text, const char* what) {
  std::vector<std::string> known;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
    known.emplace_back(names[i]);
  }
  throw UserError(format("'{}' is not a {}: one of {}", text, what, join(known, ", ")));
}

}  // namespace

std::string_view name_of(Form form) {
  return forms.at(static_cast<size_t>(form));
}

Form form_named(std::string_view text) {
  return static_cast<Form>(place_of(forms, text, "form"));
}

std::string_view name_of(CollectiveKind kind) {
  return kinds.at(static_cast<size_t>(kind));
}

CollectiveKind collective_named(std::string_view text) {
  return static_cast<CollectiveKind>(place_of(kinds, text, "collective"));
}

Form FormTable::of(CollectiveKind kind, int64_t bytes) const {
  const FormRow* best = nullptr;
  for (const auto& row : rows) {
    if (row.kind != kind || row.from_bytes > bytes) continue;
    if (best == nullptr || row.from_bytes >= best->from_bytes) best = &row;
  }
  return best == nullptr ? Form::direct : best->form;
}

bool FormTable::uses(Form form) const {
  for (const auto& row : rows)
    if (row.form == form) return true;
  return false;
}

FormTable table_of(const std::vector<FormChoice>& choices, int32_t ranks, int32_t nodes, int32_t per_node) {
  FormTable table;
  for (const auto& choice : choices)
    if (choice.ranks == ranks && choice.nodes == nodes && choice.per_node == per_node)
      table.rows.push_back(choice.row);
  return table;
}

std::string form_fault(Form form, CollectiveKind kind, int32_t ranks, int32_t nodes, int32_t per_node) {
  if (form == Form::direct) return {};
  const bool regular = kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
                       kind == CollectiveKind::reduce_scatter;
  const bool known = regular || (form == Form::shared && kind == CollectiveKind::all_to_all);
  if (!known) return format("there is no {} {}", name_of(form), name_of(kind));
  if (form == Form::shared) {
    if (ranks > 1 && nodes == 1) return {};
    return format("shared needs two or more members on one node; the group has {} on {} nodes", ranks, nodes);
  }
  if (nodes > 1 && per_node > 1) return {};
  return format(
      "hierarchical needs several nodes and two or more members on one; the group has {} nodes with at most "
      "{} "
      "members",
      nodes, per_node);
}

}  // namespace galvatron::core
