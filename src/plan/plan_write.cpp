// The plan file as written: readable, editable, and the same bytes for the same plan. Lists of terms are
// arrays of pairs, because a TOML table would not keep their order.
#include <algorithm>
#include <cctype>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "plan/file_keys.hpp"
#include "plan/plan.hpp"

namespace galvatron::plan {
namespace {

using core::format;

/// A TOML basic string.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string name_at(const spec::ModelSpec& model, int64_t layer) {
  const auto i = static_cast<size_t>(layer);
  return i < model.names.size() ? model.names[i] : format("layer {}", layer);
}

std::string stages_text(const Plan& plan) {
  std::vector<std::string> parts;
  for (const StageLayers& stage : plan.stages) parts.push_back(format("[{}, {}]", stage.first, stage.last));
  return "[" + core::join(parts, ", ") + "]";
}

std::string layers_text(const Plan& plan, const spec::ModelSpec& model) {
  std::string out;
  const auto count = static_cast<int64_t>(plan.layers.size());
  for (int64_t first = 0; first < count;) {
    const spec::LayerStrategy& s = plan.layers[static_cast<size_t>(first)];
    int64_t last = first;
    while (last + 1 < count && plan.layers[static_cast<size_t>(last + 1)] == s) ++last;
    out +=
        format("\n[[layer]]  # {}\n",
               first == last ? name_at(model, first) : name_at(model, first) + " … " + name_at(model, last));
    out += format("first = {}\nlast = {}\n", first, last);
    out += format("tp = {}\nsp = {}\ncp = {}\ndp = {}\n", s.tp, s.sp, s.cp, s.dp);
    if (s.ep != 1) out += format("ep = {}\n", s.ep);
    out += format("zero = {}\nrecompute = {}\n", s.zero, quoted(recompute_text(s.recompute)));
    first = last + 1;
  }
  return out;
}

std::string forms_text(const Plan& plan) {
  std::string out;
  for (const auto& [ranks, nodes, per_node, row] : plan.forms) {
    out += format("\n[[forms]]\ncollective = {}\nranks = {}\nnodes = {}\nper_node = {}\n",
                  quoted(core::name_of(row.kind)), ranks, nodes, per_node);
    out += format("from_bytes = {}\nform = {}\n", row.from_bytes, quoted(core::name_of(row.form)));
  }
  return out;
}

std::string terms_text(std::string_view key, const std::vector<Term>& terms) {
  std::string out = format("{} = [\n", key);
  for (const Term& term : terms) out += format("  [{}, {}],\n", quoted(term.name), term.amount);
  return out + "]\n";
}

std::string prediction_text(const Plan& plan, size_t rank) {
  const auto& p = plan.predictions[rank];
  std::string out =
      format("\n[[prediction]]  # {} {}, {} a rank\n", plan.virtual_stages > 1 ? "pipeline rank" : "stage",
             rank, core::format_bytes(p.memory_bytes));
  out += format("forward_seconds = {}\nbackward_seconds = {}\nstep_seconds = {}\nmemory_bytes = {}\n",
                p.forward_seconds, p.backward_seconds, p.step_seconds, p.memory_bytes);
  return out + terms_text("time_terms", p.time_terms) + terms_text("memory_terms", p.memory_terms);
}

}  // namespace

std::string_view recompute_text(spec::Recompute recompute) {
  return recompute == spec::Recompute::full ? "full" : "none";
}

std::string to_toml(const Plan& plan, const spec::ModelSpec& model) {
  std::string out =
      "# How the ranks share the work. Layers are numbered over the model's whole list; ranges are "
      "inclusive.\n"
      "# Edit freely: the file is checked again when it is read. Predictions are for the reader only.\n";
  out += format("version = {}\nworld = {}\nbatch = {}\nmicrobatches = {}\nschedule = {}\n", plan_file_version,
                plan.world, plan.batch, plan.microbatches, quoted(name_of(plan.schedule)));
  if (plan.virtual_stages > 1) out += format("virtual_stages = {}\n", plan.virtual_stages);
  if (plan.placement != Placement::stage_major)
    out += format("placement = {}\n", quoted(name_of(plan.placement)));
  out += format("stages = {}\n", stages_text(plan));
  out +=
      format("predicted_step_seconds = {}\nmodel_fingerprint = {}\nprofile_fingerprint = {}\n",
             plan.predicted_step_seconds, quoted(plan.model_fingerprint), quoted(plan.profile_fingerprint));
  out += layers_text(plan, model);
  out += forms_text(plan);
  for (size_t s = 0; s < plan.predictions.size(); ++s) out += prediction_text(plan, s);
  return out;
}

}  // namespace galvatron::plan
