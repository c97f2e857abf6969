// The model's steps in profile.h5, and what was counted while they were played.
#include "store/profile_columns.hpp"
#include "store/profile_parts.hpp"

namespace galvatron::store::profile {
namespace {

void write_counters(hid_t parent, const cost::ModelProfile& model) {
  using Row = cost::CounterReading;
  const auto& rows = model.counters;
  const auto group = h5::create_group(parent, "counters");
  const auto id = group.get();
  h5::write_attribute(id, "missing", model.counters_missing);
  h5::write_column(id, "layer", texts(rows, [](const Row& r) { return r.layer; }), "kind of layer");
  h5::write_column(id, "phase", texts(rows, [](const Row& r) { return r.phase; }), "which of its steps");
  h5::write_column(id, "event", texts(rows, [](const Row& r) { return r.event; }), "what was counted");
  h5::write_column(id, "per_token", column<double>(rows, [](const Row& r) { return r.per_token; }), "1",
                   "events, or seconds where the event is a time, per token; mean over the ranks");
  h5::write_column(id, "plays", column<int64_t>(rows, [](const Row& r) { return r.plays; }), "1",
                   "how often the steps were played");
}

void read_counters(hid_t parent, cost::ModelProfile& model) {
  if (!h5::has(parent, "counters")) return;
  const auto group = open_group(parent, "counters");
  const auto id = group.get();
  model.counters_missing = h5::read_text_attribute(id, "missing");
  const auto layers = h5::read_texts(id, "layer"), phases = h5::read_texts(id, "phase");
  const auto events = h5::read_texts(id, "event");
  const auto values = h5::read_numbers(id, "per_token");
  const auto plays = h5::read_integers(id, "plays");
  require_rows("counters", layers.size(), {phases.size(), events.size(), values.size(), plays.size()});
  for (size_t i = 0; i < layers.size(); ++i)
    model.counters.push_back({layers[i], phases[i], events[i], values[i], plays[i]});
}

/// Column of the calls.
std::string column_of(core::ChosenStep step) {
  return step == core::ChosenStep::products ? "product" : "call";
}

void write_choices(hid_t parent, core::ChosenStep step, const core::AlgorithmChoices& choices) {
  const auto group = h5::create_group(parent, std::string(name_of(step)));
  h5::write_attribute(group.get(), "library", choices.library);
  h5::write_attribute(group.get(), "device", choices.device);
  const auto& rows = choices.algorithms;
  h5::write_column(group.get(), column_of(step), texts(rows, [](const auto& row) { return row.first; }),
                   "all that the choice depends on");
  h5::write_column(group.get(), "algorithm", texts(rows, [](const auto& row) { return row.second; }),
                   "the fastest for it, as the library names it");
}

void read_choices(hid_t parent, core::ChosenStep step, core::AlgorithmChoices& choices) {
  const std::string name(name_of(step));
  if (!h5::has(parent, name)) return;
  const auto group = open_group(parent, name.c_str());
  choices.library = h5::read_text_attribute(group.get(), "library");
  choices.device = h5::read_text_attribute(group.get(), "device");
  choices.algorithms =
      joined(h5::read_texts(group.get(), column_of(step)), h5::read_texts(group.get(), "algorithm"));
}

}  // namespace

void write_model(hid_t file, const cost::ModelProfile& model) {
  const auto group = h5::create_group(file, "model");
  const auto id = group.get();
  h5::write_attribute(id, "meaning", std::string("the model's compute steps on this machine"));
  h5::write_attribute(id, "fingerprint", model.fingerprint);
  h5::write_attribute(id, "model", model.model_fingerprint);
  h5::write_attribute(id, "dtype", std::string(core::name(model.dtype)));
  h5::write_column(id, "loader_seconds_per_token", std::vector<double>{model.loader_seconds_per_token}, "s",
                   "reading and cutting of training data; 0 = not measured");
  h5::write_column(id, "rank_seconds", model.rank_seconds, "s",
                   "per rank, of steps that all ranks measured: who is slow");
  const auto steps = h5::create_group(id, "steps");
  h5::write_column(steps.get(), "signature", texts(model.steps, [](const auto& step) { return step.first; }),
                   "a compute step without its row count");
  write_curves(steps.get(), column<cost::Curve>(model.steps, [](const auto& step) { return step.second; }),
               "rows", "tokens, or samples for attention, or elements for flat buffers");
  write_counters(id, model);
  write_choices(id, core::ChosenStep::products, model.products);
  write_choices(id, core::ChosenStep::attention, model.attention);
}

cost::ModelProfile read_model(hid_t file) {
  const auto group = open_group(file, "model");
  const auto id = group.get();
  cost::ModelProfile model;
  model.fingerprint = h5::read_text_attribute(id, "fingerprint");
  model.model_fingerprint = h5::read_text_attribute(id, "model");
  model.dtype = h5::dtype_named(h5::read_text_attribute(id, "dtype"));
  const auto loader = h5::read_numbers(id, "loader_seconds_per_token");
  if (loader.size() != 1) refuse("'loader_seconds_per_token' is not one number");
  model.loader_seconds_per_token = loader[0];
  if (h5::has(id, "rank_seconds")) model.rank_seconds = h5::read_numbers(id, "rank_seconds");
  const auto steps = open_group(id, "steps");
  const auto keys = h5::read_texts(steps.get(), "signature");
  model.steps = joined(keys, read_curves(steps.get(), keys.size()));
  read_counters(id, model);
  for (const auto step : core::all_chosen_steps) read_choices(id, step, model.choices(step));
  return model;
}

}  // namespace galvatron::store::profile
