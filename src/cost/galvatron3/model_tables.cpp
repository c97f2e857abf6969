// Forward times and memory of a model out of its two profile files, by the modes of Galvatron 3.0.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "cost/galvatron3/tables.hpp"

namespace galvatron::cost::galvatron3 {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr size_t fewest_batches = 8;  ///< for a line over batches
constexpr size_t fewest_lengths = 3;  ///< for a parabola over lengths
constexpr const char* layer_stem = "layertype_0";
constexpr const char* vocab_stem = "layertype_other";

/// The number after `mark` in a key, e.g. 8 in "layertype_0_bsz8_seq4096" after "_bsz".
std::optional<double> number_after(const std::string& key, const std::string& mark) {
  const auto at = key.find(mark);
  if (at == std::string::npos) return std::nullopt;
  auto digits = key.substr(at + mark.size());
  digits.resize(std::min({digits.size(), digits.find_first_not_of("0123456789"), size_t{9}}));
  if (digits.empty()) return std::nullopt;
  return std::stod(digits);
}

/// "layernum2_bsz8_seq4096" or "layernum[2]_bsz8_seq4096": the 2.
std::optional<double> layers_in(const std::string& key) {
  const auto bracketed = number_after(key, "layernum[");
  return bracketed ? bracketed : number_after(key, "layernum");
}

[[noreturn]] void refuse(const Numbers& file, const std::string& key, const std::string& why) {
  throw core::UserError(core::format("{}: keys '{}': {}", file.file, key, why));
}

/// Milliseconds per sample of a layer and of the rest.
struct Derived {
  std::string condition;  ///< "_bsz8_seq4096"
  double layer = 0, vocab = 0;
};

/// What the raw times of two numbers of layers give: the difference is layers, the remainder the rest.
std::vector<Derived> derived_from_raw(const Numbers& file) {
  std::vector<Derived> out;
  for (const auto& [key, few_ms] : file.values) {
    const auto few = layers_in(key);
    const auto batch = number_after(key, "_bsz");
    if (!few || !batch || *batch == 0) continue;
    const auto condition = key.substr(key.find("_bsz"));
    for (const auto& [other, many_ms] : file.values) {
      const auto many = layers_in(other);
      if (!many || *many <= *few || !other.ends_with(condition)) continue;
      const double layer = (many_ms - few_ms) / (*many - *few) / *batch;
      out.push_back({condition, layer, few_ms / *batch - *few * layer});
    }
  }
  return out;
}

/// The file's derived entries in its order; where it has none, what its raw entries give.
std::vector<Derived> derived_of(const Numbers& file) {
  std::vector<Derived> out;
  const std::string stem = layer_stem;
  for (const auto& [key, value] : file.values) {
    if (key.starts_with("layertype_1_"))
      refuse(file, "layertype_1_…", "models with several kinds of layers are not read");
    if (!key.starts_with(stem + "_bsz")) continue;
    const auto condition = key.substr(stem.size());
    out.push_back({condition, value, file.at(vocab_stem + condition)});
  }
  return out.empty() ? derived_from_raw(file) : out;
}

/// Coefficients of the parabola with least squares, constant first. x is scaled to 1 to keep the normal
/// equations well conditioned.
std::array<double, 3> parabola_through(const Points& points, double scale) {
  std::array<std::array<double, 4>, 3> rows{};
  for (const auto& [x, y] : points) {
    const double s = x / scale;
    const std::array<double, 3> powers = {1, s, s * s};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) rows[i][j] += powers[i] * powers[j];
      rows[i][3] += powers[i] * y;
    }
  }
  for (size_t i = 0; i < 3; ++i) {
    const auto pivot = std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(i), rows.end(),
                                        [&](auto& a, auto& b) { return std::abs(a[i]) < std::abs(b[i]); });
    std::swap(rows[i], *pivot);
    for (size_t k = 0; k < 3; ++k) {
      if (k == i) continue;
      const double factor = rows[k][i] / rows[i][i];
      for (size_t j = i; j < 4; ++j) rows[k][j] -= factor * rows[i][j];
    }
  }
  return {rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

size_t different_x(const Points& points) {
  std::set<double> seen;
  for (const auto& point : points) seen.insert(point.first);
  return seen.size();
}

void read_sequence_times(const Numbers& file, const std::vector<Derived>& all, ModelTables& out) {
  Points layer, vocab;
  double longest = 0;
  for (const auto& entry : all) {
    const auto seq = number_after(entry.condition, "_seq");
    if (!seq || *seq == 0 || number_after(entry.condition, "_bsz") != 1.0) continue;
    layer.emplace_back(*seq, entry.layer);
    vocab.emplace_back(*seq, entry.vocab);
    longest = std::max(longest, *seq);
  }
  if (different_x(layer) < fewest_lengths)
    refuse(file, "layertype_0_bsz1_seq…",
           core::format("{} lengths, a curve needs {}", different_x(layer), fewest_lengths));
  const auto curve = parabola_through(layer, longest);
  const auto length = static_cast<double>(out.seq);
  const double s = length / longest;
  out.layer_ms = {curve[0] + curve[1] * s + curve[2] * s * s, 0};
  out.vocab_ms = {line_through(vocab).at(length), 0};
}

/// Entries whose key contains the length: of "_seq2048" those of 20480 too, as in Galvatron.
void read_times(const Numbers& file, TimeMode mode, ModelTables& out) {
  const auto all = derived_of(file);
  if (mode == TimeMode::sequence) return read_sequence_times(file, all, out);
  const auto mark = core::format("_seq{}", out.seq);
  Points layer, vocab;
  for (const auto& entry : all) {
    const auto batch = number_after(entry.condition, "_bsz");
    if (!batch || entry.condition.find(mark) == std::string::npos) continue;
    if (mode == TimeMode::fixed) {
      out.layer_ms = {entry.layer, 0};
      out.vocab_ms = {entry.vocab, 0};
      return;
    }
    layer.emplace_back(*batch, *batch * entry.layer);
    vocab.emplace_back(*batch, *batch * entry.vocab);
  }
  const auto key = core::format("layertype_0_bsz…{}", mark);
  if (layer.empty()) refuse(file, key, "there is none");
  if (different_x(layer) < fewest_batches)
    refuse(file, key, core::format("{} batches, a line needs {}", different_x(layer), fewest_batches));
  out.layer_ms = line_through(layer);
  out.vocab_ms = line_through(vocab);
}

double not_negative(const Numbers& file, const std::string& key) {
  const double value = file.at(key);
  if (value >= 0) return value;
  throw core::UserError(core::format("{}: key '{}': {} is below 0", file.file, key, value));
}

/// "1", "2", "4" … below a key, each multiplied.
ByDegree degrees_under(const Numbers& file, const std::string& stem, double factor) {
  ByDegree out;
  out.origin = file.file + ": " + stem;
  for (const auto& [key, value] : file.values) {
    if (!key.starts_with(stem + "/")) continue;
    const auto degree = key.substr(stem.size() + 1);
    if (degree.empty() || degree.size() > 6 || degree.find_first_not_of("0123456789") != std::string::npos)
      continue;
    out.values[std::stoll(degree)] = factor * not_negative(file, key);
  }
  if (out.values.empty()) throw core::UserError(core::format("{}: key '{}' is missing", file.file, stem));
  return out;
}

/// Lengths that a section of the memory file has, ascending.
std::vector<int64_t> lengths_under(const Numbers& file, const std::string& section) {
  std::set<int64_t> lengths;
  for (const auto& entry : file.values) {
    if (!entry.first.starts_with(section + "/")) continue;
    if (const auto length = number_after(entry.first, section + "/")) lengths.insert(std::llround(*length));
  }
  if (lengths.empty()) throw core::UserError(core::format("{}: key '{}' is missing", file.file, section));
  return {lengths.begin(), lengths.end()};
}

VocabTable vocab_of(const Numbers& file, const std::string& section, const ModelQuestion& question) {
  int64_t at = question.seq;
  double factor = 1;
  if (question.memory == MemoryMode::sequence) {
    at = lengths_under(file, section).back();
    factor = static_cast<double>(question.seq) / static_cast<double>(at);
  }
  const auto stem = core::format("{}/{}", section, at);
  return {degrees_under(file, stem + "/model_states", 1), degrees_under(file, stem + "/activation", factor)};
}

void read_memory(const Numbers& file, const ModelQuestion& question, ModelTables& out) {
  const auto section = layer_stem + question.suffix;
  int64_t parameters_at = question.seq, activations_at = question.seq;
  double factor = 1;
  if (question.memory == MemoryMode::sequence) {
    const auto lengths = lengths_under(file, section);
    parameters_at = lengths.front();
    activations_at = lengths.back();
    factor = static_cast<double>(question.seq) / static_cast<double>(activations_at);
  }
  out.parameter_mb = not_negative(file, core::format("{}/{}/parameter_size", section, parameters_at));
  const auto stem = core::format("{}/{}/tp_activation_per_bsz_dict", section, activations_at);
  out.activation_mb = degrees_under(file, stem, factor);
  out.kept_mb = factor * not_negative(file, stem + "/checkpoint");
  out.off = vocab_of(file, "other_memory_pp_off" + question.suffix, question);
  out.first = vocab_of(file, "other_memory_pp_on_first" + question.suffix, question);
  out.last = vocab_of(file, "other_memory_pp_on_last" + question.suffix, question);
}

}  // namespace

ModelTables model_of(const ModelFiles& files, const ModelQuestion& question) {
  GALV_ASSERT(question.layers > 0 && question.hidden > 0 && question.seq > 0, question.layers,
              question.hidden, question.seq);
  ModelTables out;
  out.layers = question.layers;
  out.hidden = question.hidden;
  out.seq = question.seq;
  read_times(files.computation, question.time, out);
  read_memory(files.memory, question, out);
  return out;
}

}  // namespace galvatron::cost::galvatron3
