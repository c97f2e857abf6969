#pragma once
// Stretches of datasets, one after the other, as a dataset of their own.

#include <memory>
#include <string>
#include <vector>

#include "store/dataset.hpp"

namespace galvatron::store {

/// Tokens [begin, begin + tokens) of a dataset. Shared, because training and validation are often stretches
/// of the same mapped file.
struct Stretch {
  std::shared_ptr<const Dataset> data;
  int64_t begin = 0;
  int64_t tokens = 0;
};

/// Stretches may be empty; all together must not be. The vocabulary is the largest of theirs. `note` becomes
/// part of the fingerprint.
std::unique_ptr<Dataset> join_datasets(std::vector<Stretch> stretches, const std::string& note = "");

}  // namespace galvatron::store
