// The contradictions, section by section. Each message names both values, because either may be the wrong
// one.
#include "deck/checks.hpp"

#include <algorithm>
#include <numeric>

#include "core/format.hpp"

namespace galvatron::deck {
namespace {

using core::format;

constexpr size_t most_sources = 1000;

void check_model(Reader& reader, const DeckValues& values) {
  const ModelSection& m = values.model;
  reader.require(m.hidden % m.heads == 0, {{"model", "heads"}, {"model", "hidden"}},
                 format("heads = {} does not divide hidden = {}", m.heads, m.hidden));
  reader.require(m.heads % m.kv_heads == 0, {{"model", "kv_heads"}, {"model", "heads"}},
                 format("kv_heads = {} does not divide heads = {}", m.kv_heads, m.heads));
  const auto width = m.hidden / m.heads;
  reader.require(
      m.position != "rope" || width % 2 == 0, {{"model", "heads"}, {"model", "hidden"}},
      format("rope turns pairs: hidden / heads = {} / {} = {} must be even", m.hidden, m.heads, width));
  reader.require(values.data.format != "text" || m.vocab >= 256, {{"model", "vocab"}, {"data", "format"}},
                 format("vocab = {} is less than the 256 byte values of text", m.vocab));
}

void check_data(Reader& reader, const DataSection& d) {
  const auto weights = d.weights.size(), entries = d.train.size();
  reader.require(
      weights == 0 || weights == entries, {{"data", "weights"}, {"data", "train"}},
      format("weights has {} entries and train has {}: give one weight for each", weights, entries));
  reader.require(weights <= most_sources, {{"data", "weights"}},
                 format("weights has {} entries; at most {} sources can be blended", weights, most_sources));
}

void check_cluster(Reader& reader, const ClusterSection& c) {
  reader.require((c.nodes == 0) == (c.ranks_per_node == 0),
                 {{"cluster", "nodes"}, {"cluster", "ranks_per_node"}},
                 format("nodes = {} and ranks_per_node = {}: give both, or leave both to MPI", c.nodes,
                        c.ranks_per_node));
}

void check_profile(Reader& reader, const ProfileSection& p) {
  reader.require(p.min_bytes <= p.max_bytes, {{"profile", "min_bytes"}, {"profile", "max_bytes"}},
                 format("min_bytes = {} is above max_bytes = {}", p.min_bytes, p.max_bytes));
}

void check_plan(Reader& reader, const DeckValues& values) {
  const PlanSection& p = values.plan;
  if (!p.file.empty()) {
    reader.require(!p.by_hand(), {{"plan", "file"}}, "file and a plan by hand exclude each other");
  }
  const bool grows = values.search.grows_batch();
  reader.require(!grows || !p.by_hand(), {{"search", "batch"}},
                 "batch = \"max\" is for a search, but [plan] states a plan by hand: give its batch");
  if (p.microbatches > 0 && !grows) {
    const int64_t batch = values.search.batch.front();
    reader.require(batch % p.microbatches == 0, {{"plan", "microbatches"}, {"search", "batch"}},
                   format("microbatches = {} does not divide the batch of {} samples (search.batch)",
                          p.microbatches, batch));
  }
  if (p.stage_layers.empty()) return;
  const auto stages = static_cast<int64_t>(p.stage_layers.size());
  const auto each = std::max<int64_t>(p.virtual_stages, 1);
  reader.require(p.pp == 0 || p.pp * each == stages, {{"plan", "stage_layers"}, {"plan", "pp"}},
                 format("stage_layers has {} stages, but pp = {}{}", stages, p.pp,
                        each > 1 ? format(" and virtual_stages = {}", each) : ""));
  const int64_t sum = std::accumulate(p.stage_layers.begin(), p.stage_layers.end(), int64_t{0});
  const int64_t all = 2 * values.model.layers + 2;
  reader.require(
      sum == all, {{"plan", "stage_layers"}, {"model", "layers"}},
      format("stage_layers adds up to {}, but the model has {} layers: embedding, {} × (attention, mlp), "
             "head",
             sum, all, values.model.layers));
}

void check_train(Reader& reader, const TrainSection& t) {
  reader.require(t.warmup <= t.steps, {{"train", "warmup"}, {"train", "steps"}},
                 format("warmup = {} is longer than steps = {}", t.warmup, t.steps));
  reader.require(t.min_lr <= t.lr, {{"train", "min_lr"}, {"train", "lr"}},
                 format("min_lr = {} is above lr = {}", t.min_lr, t.lr));
  reader.require(t.stop_after <= t.steps, {{"train", "stop_after"}, {"train", "steps"}},
                 format("stop_after = {} is beyond steps = {}", t.stop_after, t.steps));
}

void check_search(Reader& reader, const DeckValues& values) {
  reader.require(values.search.enabled || values.plan.by_hand() || !values.plan.file.empty(),
                 {{"search", "enabled"}, {"plan", "file"}},
                 "enabled = false needs a plan: plan.file, or a plan by hand in [plan]");
}

void check_galvatron(Reader& reader, const DeckValues& values) {
  if (values.search.rules != "galvatron-3.0") return;
  reader.require(!values.search.grows_batch(), {{"search", "batch"}, {"search", "rules"}},
                 "batch = \"max\": the rules of Galvatron 3.0 need the batches named");
  const auto& g = values.galvatron;
  const std::pair<const char*, const std::string*> files[] = {
      {"allreduce", &g.allreduce},     {"p2p", &g.p2p},      {"overlap", &g.overlap}, {"sp_time", &g.sp_time},
      {"computation", &g.computation}, {"memory", &g.memory}};
  for (const auto& [key, file] : files)
    reader.require(!file->empty(), {{"search", "rules"}, {"galvatron", key}},
                   format("rules = \"galvatron-3.0\" needs the file galvatron.{}", key));
}

}  // namespace

void fill_in(const Reader& reader, DeckValues& values) {
  ModelSection& model = values.model;
  if (!reader.given({"model", "kv_heads"})) model.kv_heads = model.heads;
  if (model.family == "llama") {
    auto fill = [&](const char* key, auto& member, const auto& value) {
      if (!reader.given({"model", key})) member = value;
    };
    fill("norm", model.norm, "rmsnorm");
    fill("activation", model.activation, "swiglu");
    fill("position", model.position, "rope");
    fill("bias", model.bias, false);
    fill("tie_embeddings", model.tie_embeddings, false);
  }
  const bool gated = model.activation == "swiglu";
  if (!reader.given({"model", "ffn"}))
    model.ffn = gated ? (8 * model.hidden / 3 + 255) / 256 * 256 : 4 * model.hidden;
  TrainSection& train = values.train;
  if (reader.given({"train", "lr"}) && !reader.given({"train", "min_lr"})) train.min_lr = train.lr / 10.0;
  if (!reader.given({"train", "warmup"})) train.warmup = std::min(train.warmup, train.steps);
}

void check_contradictions(Reader& reader, const DeckValues& values) {
  check_model(reader, values);
  check_data(reader, values.data);
  check_cluster(reader, values.cluster);
  check_profile(reader, values.profile);
  check_search(reader, values);
  check_galvatron(reader, values);
  check_plan(reader, values);
  check_train(reader, values.train);
}

}  // namespace galvatron::deck
