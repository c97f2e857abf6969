#pragma once
// What a deck's [data] section names, of any format: tokens to train on, tokens to validate with, and how
// several sources are blended.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/world.hpp"
#include "store/blend.hpp"
#include "store/dataset.hpp"

namespace galvatron::store {

struct DataOptions {
  std::string format = "text";     ///< text, megatron, llmc, tokens or synthetic
  std::vector<std::string> train;  ///< globs
  std::vector<std::string> valid;  ///< globs; empty = take `split` of the training tokens
  std::vector<double> weights;     ///< one per entry of `train`; empty = one source, all files in a row
  double split = 0.05;             ///< in [0, 1)
  int64_t synthetic_tokens = 0;
  uint64_t seed = 0;         ///< of synthetic tokens
  int64_t vocabulary = 256;  ///< of the model: ids beyond it are refused
  /// Hears what is being read, file after file and stretch after stretch, on the rank that reads it. What it
  /// throws ends the loading on every rank.
  std::function<void(std::string_view)> alive = [](std::string_view) {};
  /// Texts of so many bytes are packed into an index, beside them or else here, where all nodes see it.
  int64_t index_from = int64_t{64} << 20;
  std::filesystem::path index_folder = {};
};

struct TrainingData {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> valid;  ///< null when there is none
  std::vector<BlendPart> parts;    ///< of `train`; at least one
  int64_t files = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> indices;  ///< of packed texts: where they are, and whether they were made now
};

/// Collective: rank 0 looks for the files; text it also reads or packs for all (see load_text), files of
/// other formats are mapped by every rank and must be visible to it. The ranks check headers, indices and a
/// good part of the ids together. Without validation files the last `split` share of every file is kept for
/// it. Throws AgreedError (data): nothing found, a damaged file, an id beyond the vocabulary, ranks that see
/// different files.
TrainingData load_training_data(comm::World& world, const DataOptions& options);

/// The data files that an entry of [data] stands for: a glob, of Megatron's pairs with or without .bin.
std::vector<std::string> data_files_of(const std::string& format, const std::string& entry);

}  // namespace galvatron::store
