// Sources become stretches of one joined dataset, so that whoever reads tokens knows nothing of files.
#include "store/training_data.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/joined_dataset.hpp"
#include "store/text_dataset.hpp"
#include "store/token_file.hpp"

namespace galvatron::store {
namespace {

/// Ids of each rank's share of a file that are looked at before training begins; the rest when it is read.
constexpr int64_t tokens_looked_at = int64_t{16} << 20;

/// Files of one source, or of the validation set.
using Files = std::vector<std::string>;

/// What rank 0 finds: sources, then validation.
struct Found {
  std::vector<Files> sources;
  Files valid;
  std::vector<std::string> warnings;
};

Files match(const DataOptions& options, const char* key, const std::vector<std::string>& entries,
            std::vector<std::string>& warnings) {
  std::set<std::string> files;
  for (const auto& entry : entries) {
    const auto found = data_files_of(options.format, entry);
    if (found.empty()) warnings.push_back(core::format("data.{}: \"{}\" matches no file", key, entry));
    files.insert(found.begin(), found.end());
  }
  return {files.begin(), files.end()};
}

/// One source per weight, or a single one.
std::vector<std::vector<std::string>> source_entries(const DataOptions& options) {
  if (options.weights.empty()) return {options.train};
  std::vector<std::vector<std::string>> sources;
  for (const auto& entry : options.train) sources.push_back({entry});
  return sources;
}

Found find_files(const DataOptions& options) {
  Found found;
  found.valid = match(options, "valid", options.valid, found.warnings);
  for (const auto& entries : source_entries(options)) {
    auto files = match(options, "train", entries, found.warnings);
    const auto left_out = std::remove_if(files.begin(), files.end(), [&](const auto& file) {
      return std::find(found.valid.begin(), found.valid.end(), file) != found.valid.end();
    });
    for (auto file = left_out; file != files.end(); ++file)
      found.warnings.push_back(*file + " is for validation, so it is not trained on");
    files.erase(left_out, files.end());
    if (files.empty())
      throw core::UserError(core::ExitCode::data, core::format("data.train: no {} files in [\"{}\"] under {}",
                                                               options.format, core::join(entries, "\", \""),
                                                               std::filesystem::current_path().string()));
    found.sources.push_back(std::move(files));
  }
  return found;
}

std::vector<std::string> broadcast_list(comm::World& world, const std::vector<std::string>& list) {
  auto count = static_cast<int64_t>(list.size());
  count = std::stoll(world.broadcast(std::to_string(count), 0));
  std::vector<std::string> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) out[i] = world.broadcast(world.rank() == 0 ? list[i] : "", 0);
  return out;
}

/// Collective: what rank 0 finds, on every rank.
Found find_files_together(comm::World& world, const DataOptions& options) {
  Found found;
  world.agree("look for the data", [&] {
    if (world.rank() == 0) found = find_files(options);
  });
  found.sources.resize(source_entries(options).size());
  for (auto& files : found.sources) files = broadcast_list(world, files);
  found.valid = broadcast_list(world, found.valid);
  found.warnings = broadcast_list(world, found.warnings);
  return found;
}

/// Collects stretches and the parts that sources make of them.
struct Assembly {
  std::vector<Stretch> train, valid;
  std::vector<BlendPart> parts;

  void begin_source(double weight) { parts.push_back({tokens_of(train), 0, weight}); }
  void add(std::shared_ptr<const Dataset> data, double split) {
    const auto tokens = data->tokens();
    const auto kept = static_cast<int64_t>(std::llround(split * static_cast<double>(tokens)));
    train.push_back({data, 0, tokens - kept});
    parts.back().tokens += tokens - kept;
    if (kept > 0) valid.push_back({std::move(data), tokens - kept, kept});
  }
  static int64_t tokens_of(const std::vector<Stretch>& stretches) {
    int64_t tokens = 0;
    for (const auto& s : stretches) tokens += s.tokens;
    return tokens;
  }
};

void finish(Assembly assembly, const DataOptions& options, TrainingData& out) {
  if (Assembly::tokens_of(assembly.train) == 0)
    throw core::UserError(core::ExitCode::data, "data.train: no tokens are left to train on");
  std::string note;
  for (const double weight : options.weights) note += core::format("{};", weight);
  out.parts = std::move(assembly.parts);
  out.train = join_datasets(std::move(assembly.train), note);
  if (Assembly::tokens_of(assembly.valid) > 0) out.valid = join_datasets(std::move(assembly.valid));
}

double weight_of(const DataOptions& options, size_t source) {
  return options.weights.empty() ? 1.0 : options.weights[source];
}

/// Collective: all ranks must have opened the same tokens.
void require_same_tokens(comm::World& world, const Dataset& data, const char* key) {
  std::string mine;
  world.agree("", [&] { mine = data.fingerprint(); });
  const auto all = world.all_gather(mine);
  world.agree("", [&] {
    for (size_t r = 0; r < all.size(); ++r)
      if (all[r] != all[0])
        throw core::UserError(
            core::ExitCode::data,
            core::format("data.{}: rank {} on {} sees other tokens ({}) than rank 0 ({}); are the files the "
                         "same on every node?",
                         key, r, world.host_of(world.node_of(static_cast<int>(r))), all[r], all[0]));
  });
}

TrainingData load_files(comm::World& world, const DataOptions& options) {
  const auto found = find_files_together(world, options);
  TrainingData out;
  out.warnings = found.warnings;
  world.agree("", [&] {
    const CheckShare share{world.rank(), world.size()};
    const auto format = parse_token_format(options.format);
    Assembly assembly;
    const auto open = [&](const std::string& path) -> std::shared_ptr<const Dataset> {
      const auto file = read_token_file(format, path, share);
      if (file.vocabulary > options.vocabulary)
        throw core::UserError(core::ExitCode::data,
                              core::format("{} has a vocabulary of {} and model.vocab is {}; set it to {}",
                                           path, file.vocabulary, options.vocabulary, file.vocabulary));
      std::shared_ptr<const Dataset> data = open_token_file(file, options.vocabulary);
      look_at_tokens(*data, share, tokens_looked_at, [&] { options.alive(path); });
      ++out.files;
      return data;
    };
    for (size_t s = 0; s < found.sources.size(); ++s) {
      assembly.begin_source(weight_of(options, s));
      for (const auto& path : found.sources[s])
        assembly.add(open(path), options.valid.empty() ? options.split : 0.0);
    }
    for (const auto& path : found.valid) {
      auto data = open(path);
      const auto tokens = data->tokens();
      assembly.valid.push_back({std::move(data), 0, tokens});
    }
    finish(std::move(assembly), options, out);
  });
  require_same_tokens(world, *out.train, "train");
  if (out.valid) require_same_tokens(world, *out.valid, "valid");
  return out;
}

/// One text is what it always was. Of a blend, every source is a text of its own.
TrainingData load_texts(comm::World& world, const DataOptions& options) {
  TrainingData out;
  Assembly assembly;
  const auto sources = source_entries(options);
  for (size_t s = 0; s < sources.size(); ++s) {
    auto text = load_text(world, {sources[s], options.valid, options.split, options.alive, options.index_from,
                                  options.index_folder});
    if (!text.index.empty()) out.indices.push_back(std::move(text.index));
    for (auto& warning : text.warnings)
      if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end())
        out.warnings.push_back(std::move(warning));
    out.files += text.files;
    const auto tokens = text.train->tokens();
    if (sources.size() == 1) {
      out.train = std::move(text.train);
      out.valid = std::move(text.valid);
      out.parts = {{0, tokens, 1.0}};
      return out;
    }
    assembly.begin_source(weight_of(options, s));
    assembly.add(std::move(text.train), 0.0);
    if (!text.valid || (!options.valid.empty() && s > 0)) continue;
    const auto kept = text.valid->tokens();
    assembly.valid.push_back({std::move(text.valid), 0, kept});
  }
  finish(std::move(assembly), options, out);
  return out;
}

TrainingData make_synthetic(const DataOptions& options) {
  TrainingData out;
  Assembly assembly;
  assembly.begin_source(1.0);
  assembly.add(make_synthetic_dataset(options.seed, "train", options.synthetic_tokens, options.vocabulary),
               options.split);
  finish(std::move(assembly), options, out);
  return out;
}

}  // namespace

std::vector<std::string> data_files_of(const std::string& format, const std::string& entry) {
  std::set<std::string> files;
  for (const auto& path : match_files(entry))
    if (format != "megatron" || path.extension() == ".bin") files.insert(path.string());
  if (format == "megatron" && !entry.ends_with(".bin"))
    for (const auto& path : match_files(entry + ".bin")) files.insert(path.string());
  return {files.begin(), files.end()};
}

TrainingData load_training_data(comm::World& world, const DataOptions& options) {
  GALV_ASSERT(options.split >= 0.0 && options.split < 1.0, options.split);
  GALV_ASSERT(options.weights.empty() || options.weights.size() == options.train.size(),
              options.weights.size(), options.train.size());
  if (options.format == "text") return load_texts(world, options);
  TrainingData out;
  if (options.format != "synthetic") return load_files(world, options);
  world.agree("", [&] { out = make_synthetic(options); });
  return out;
}

}  // namespace galvatron::store
