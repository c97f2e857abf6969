// The plan file as read: hand-edited text, hence every problem is found and said at once, with its line.
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "deck/suggest.hpp"
#include "plan/file_keys.hpp"
#include "plan/plan.hpp"

namespace galvatron::plan {
namespace {

using core::format;

/// Collects problems with their lines.
class Problems {
 public:
  explicit Problems(const std::string& file) : file_(file) {}

  void add(int64_t line, const std::string& text) { lines_.emplace_back(line, text); }
  void add(const toml::node& node, const std::string& text) { add(node.source().begin.line, text); }
  bool empty() const { return lines_.empty(); }

  [[noreturn]] void refuse() {
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> texts;
    for (const auto& [line, text] : lines_)
      texts.push_back(line > 0 ? format("{}:{}: {}", file_, line, text) : format("{}: {}", file_, text));
    throw core::UserError(core::join(texts, "\n"));
  }

 private:
  const std::string& file_;
  std::vector<std::pair<int64_t, std::string>> lines_;
};

/// One table of the file: hands out values by key and at the end knows which keys nobody asked for.
class Fields {
 public:
  Fields(const toml::table& table, std::string where, Problems& problems)
      : table_(table), where_(std::move(where)), problems_(problems) {}

  const toml::node* find(const char* key, bool needed) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr && needed)
      problems_.add(table_.source().begin.line, format("{}'{}' is missing", where_, key));
    return node;
  }

  /// A key that must be there.
  int64_t count(const char* key, int64_t low) {
    return count_of(find(key, true), key, low, largest_count, low);
  }

  /// A key that may be left out.
  int32_t degree(const char* key, int64_t low) {
    return static_cast<int32_t>(count_of(find(key, false), key, low, largest_degree, low));
  }

  double amount(const char* key) {
    const toml::node* node = find(key, false);
    if (node == nullptr) return 0;
    const auto value = node->is_number() ? node->value<double>() : std::nullopt;
    if (value && std::isfinite(*value) && *value >= 0) return *value;
    problems_.add(*node, format("{}{} must be a number of at least 0", where_, key));
    return 0;
  }

  int64_t bytes(const char* key) {
    const toml::node* node = find(key, false);
    if (node == nullptr) return 0;
    if (const auto* value = node->as_integer(); value != nullptr && value->get() >= 0) return value->get();
    problems_.add(*node, format("{}{} must be an integer of at least 0", where_, key));
    return 0;
  }

  std::string text(const char* key, bool needed) {
    const toml::node* node = find(key, needed);
    if (node == nullptr) return {};
    if (const auto* value = node->as_string()) return value->get();
    problems_.add(*node, format("{}{} must be a string", where_, key));
    return {};
  }

  std::vector<Term> terms(const char* key) {
    std::vector<Term> out;
    const toml::node* node = find(key, false);
    if (node == nullptr) return out;
    const auto* list = node->as_array();
    bool good = list != nullptr;
    for (size_t i = 0; good && i < list->size(); ++i) {
      const auto* pair = list->get(i)->as_array();
      good = pair != nullptr && pair->size() == 2 && pair->get(0)->is_string() && pair->get(1)->is_number();
      if (!good) break;
      const double value = pair->get(1)->value<double>().value_or(NAN);
      good = std::isfinite(value);
      out.push_back({pair->get(0)->as_string()->get(), value});
    }
    if (!good) problems_.add(*node, format("{}{} must be a list of [name, number]", where_, key));
    return out;
  }

  void refuse_unknown() {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      const std::string meant = deck::nearest(name, known_);
      problems_.add(node, format("{}unknown key '{}'{}", where_, name,
                                 meant.empty() ? "" : format(" (did you mean '{}'?)", meant)));
    }
  }

 private:
  int64_t count_of(const toml::node* node, const char* key, int64_t low, int64_t high, int64_t standard) {
    if (node == nullptr) return standard;
    const auto* value = node->as_integer();
    if (value != nullptr && value->get() >= low && value->get() <= high) return value->get();
    problems_.add(*node, format("{}{} must be an integer from {} to {}", where_, key, low, high));
    return standard;
  }

  const toml::table& table_;
  std::string where_;
  Problems& problems_;
  std::vector<std::string> known_;
};

/// The tables of `[[key]]`; a problem when the key holds anything else.
std::vector<const toml::table*> tables_of(const toml::node* node, const char* key, Problems& problems) {
  std::vector<const toml::table*> tables;
  if (node == nullptr) return tables;
  const auto* list = node->as_array();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i)
    if (const auto* table = list->get(i)->as_table()) tables.push_back(table);
  if (list == nullptr || tables.size() != list->size())
    problems.add(*node, format("'{0}' must be tables written [[{0}]]", key));
  return tables;
}

std::vector<StageLayers> read_stages(const toml::node* node, Problems& problems) {
  std::vector<StageLayers> stages;
  if (node == nullptr) return stages;
  const auto* list = node->as_array();
  bool good = list != nullptr && !list->empty();
  for (size_t i = 0; good && i < list->size(); ++i) {
    const auto* pair = list->get(i)->as_array();
    good = pair != nullptr && pair->size() == 2 && pair->get(0)->is_integer() && pair->get(1)->is_integer();
    if (!good) break;
    const int64_t first = pair->get(0)->as_integer()->get(), last = pair->get(1)->as_integer()->get();
    good = std::min(first, last) >= 0 && std::max(first, last) <= largest_count;
    stages.push_back({first, last});
  }
  if (good) return stages;
  problems.add(*node, "stages must be a list of [first layer, last layer], e.g. [[0, 4], [5, 9]]");
  return {};
}

struct LayerRun {
  StageLayers range;
  spec::LayerStrategy strategy;
  int64_t line = 0;
};

LayerRun read_layer(const toml::table& table, Problems& problems) {
  Fields fields(table, "[[layer]] ", problems);
  LayerRun run;
  run.line = table.source().begin.line;
  run.range.first = fields.count("first", 0);
  run.range.last = fields.count("last", 0);
  auto& s = run.strategy;
  const std::pair<const char*, int32_t*> degrees[] = {
      {"tp", &s.tp}, {"sp", &s.sp}, {"cp", &s.cp}, {"dp", &s.dp}, {"ep", &s.ep}};
  for (const auto& [key, degree] : degrees) *degree = fields.degree(key, 1);
  s.zero = fields.degree("zero", 0);
  if (const toml::node* node = fields.find("recompute", false)) {
    const auto* text = node->as_string();
    if (text != nullptr && text->get() == recompute_text(spec::Recompute::full)) {
      s.recompute = spec::Recompute::full;
    } else if (text == nullptr || text->get() != recompute_text(spec::Recompute::none)) {
      problems.add(*node, "[[layer]] recompute must be \"none\" or \"full\"");
    }
  }
  fields.refuse_unknown();
  return run;
}

core::FormChoice read_form(const toml::table& table, Problems& problems) {
  Fields fields(table, "[[forms]] ", problems);
  core::FormChoice out;
  const std::pair<const char*, int32_t*> counts[] = {
      {"ranks", &out.ranks}, {"nodes", &out.nodes}, {"per_node", &out.per_node}};
  for (const auto& [key, count] : counts) *count = fields.degree(key, 1);
  out.row.from_bytes = fields.bytes("from_bytes");
  const auto word = [&](const char* key, auto read) {
    const std::string text = fields.text(key, true);
    const toml::node* node = table.get(key);
    if (node == nullptr || !node->is_string()) return;
    try {
      read(text);
    } catch (const core::UserError& error) {
      problems.add(*node, format("[[forms]] {}: {}", key, error.what()));
    }
  };
  word("collective", [&](const std::string& text) { out.row.kind = core::collective_named(text); });
  word("form", [&](const std::string& text) { out.row.form = core::form_named(text); });
  fields.refuse_unknown();
  return out;
}

/// Each layer of the model exactly once.
void place_layers(const std::vector<LayerRun>& runs, const spec::ModelSpec& model, Plan& plan,
                  Problems& problems) {
  std::vector<int64_t> line(static_cast<size_t>(model.size()), -1);
  plan.layers.resize(static_cast<size_t>(model.size()));
  for (const LayerRun& run : runs) {
    if (run.range.last < run.range.first || run.range.last >= model.size()) {
      problems.add(run.line,
                   format("[[layer]] first = {}, last = {} is not a range of the model's layers 0 … {}",
                          run.range.first, run.range.last, model.size() - 1));
      continue;
    }
    for (int64_t layer = run.range.first; layer <= run.range.last; ++layer) {
      const auto i = static_cast<size_t>(layer);
      if (line[i] >= 0) {
        problems.add(run.line,
                     format("[[layer]] layer {} has a strategy in line {} already", layer, line[i]));
        break;
      }
      line[i] = run.line;
      plan.layers[i] = run.strategy;
    }
  }
  const auto missing = std::count(line.begin(), line.end(), -1);
  if (missing > 0)
    problems.add(0, format("{} of {} layers have no [[layer]], the first is layer {}", missing, model.size(),
                           std::find(line.begin(), line.end(), -1) - line.begin()));
}

StagePrediction read_prediction(const toml::table& table, Problems& problems) {
  Fields fields(table, "[[prediction]] ", problems);
  StagePrediction out;
  out.forward_seconds = fields.amount("forward_seconds");
  out.backward_seconds = fields.amount("backward_seconds");
  out.step_seconds = fields.amount("step_seconds");
  out.memory_bytes = fields.bytes("memory_bytes");
  out.time_terms = fields.terms("time_terms");
  out.memory_terms = fields.terms("memory_terms");
  fields.refuse_unknown();
  return out;
}

/// The thing of this name; `otherwise` where the file is silent or wrong.
template <typename T>
T read_named(const char* key, const toml::node* node, T (*named)(std::string_view), T otherwise,
             Problems& problems) {
  if (node == nullptr) return otherwise;
  const auto* text = node->as_string();
  try {
    if (text != nullptr) return named(text->get());
    problems.add(*node, format("{} must be a string", key));
  } catch (const core::UserError& error) {
    problems.add(*node, error.what());
  }
  return otherwise;
}

void read_plan(const toml::table& root, const spec::ModelSpec& model, Plan& plan, Problems& problems) {
  Fields fields(root, "", problems);
  const auto version = fields.count("version", 1);
  if (root.contains("version") && version != plan_file_version)
    problems.add(*root.get("version"),
                 format("version {} is not one that this program reads ({})", version, plan_file_version));
  plan.world = fields.count("world", 1);
  plan.batch = fields.count("batch", 1);
  plan.microbatches = fields.count("microbatches", 1);
  plan.schedule = read_named("schedule", fields.find("schedule", true), schedule_named,
                             ScheduleKind::one_f_one_b, problems);
  plan.placement = read_named("placement", fields.find("placement", false), placement_named,
                              Placement::stage_major, problems);
  plan.virtual_stages = fields.degree("virtual_stages", 1);
  plan.stages = read_stages(fields.find("stages", true), problems);
  plan.predicted_step_seconds = fields.amount("predicted_step_seconds");
  plan.model_fingerprint = fields.text("model_fingerprint", false);
  plan.profile_fingerprint = fields.text("profile_fingerprint", false);
  std::vector<LayerRun> runs;
  for (const auto* table : tables_of(fields.find("layer", true), "layer", problems))
    runs.push_back(read_layer(*table, problems));
  for (const auto* table : tables_of(fields.find("forms", false), "forms", problems))
    plan.forms.push_back(read_form(*table, problems));
  const auto* predictions = fields.find("prediction", false);
  for (const auto* table : tables_of(predictions, "prediction", problems))
    plan.predictions.push_back(read_prediction(*table, problems));
  const auto ranks = static_cast<int64_t>(plan.stages.size()) / plan.virtual_stages;
  if (!plan.predictions.empty() && static_cast<int64_t>(plan.predictions.size()) != ranks)
    problems.add(*predictions, format("{} predictions do not fit {} {}", plan.predictions.size(), ranks,
                                      plan.virtual_stages > 1 ? "pipeline ranks" : "stages"));
  fields.refuse_unknown();
  if (root.contains("layer")) place_layers(runs, model, plan, problems);
}

}  // namespace

Plan plan_from_toml(std::string_view text, const std::string& file, const spec::ModelSpec& model) {
  Problems problems(file);
  Plan plan;
  try {
    const toml::table root = toml::parse(text);
    read_plan(root, model, plan, problems);
  } catch (const toml::parse_error& error) {
    problems.add(error.source().begin.line, std::string(error.description()));
  }
  if (problems.empty())
    for (const std::string& fault : faults_of(plan, model, plan.world)) problems.add(0, fault);
  if (!problems.empty()) problems.refuse();
  return plan;
}

}  // namespace galvatron::plan
