#pragma once
// The texts of galvatron show, one function per kind of file.

#include <string>
#include <vector>

namespace galvatron::app {

/// The effective deck: every key with value, unit, where it comes from, and meaning.
std::string shown_deck(const std::string& file, const std::vector<std::string>& overrides);

/// Stages and layers, with the model of the deck.toml beside the plan, and what the search found (search.txt)
/// when that lies there too. Without a deck, the file as it stands: nothing says what its layers are.
std::string shown_plan(const std::string& file);

/// The decision tree for the cluster that a deck describes.
std::string shown_space_of_deck(const std::string& file, const std::vector<std::string>& overrides);

/// The decision tree for the ranks of a plan and the deck.toml beside it.
std::string shown_space_of_plan(const std::string& file);

/// The figures of a cluster that nobody has measured.
std::string shown_cluster(const std::string& file);

/// Links, collectives, peaks, memory, and the layer steps.
std::string shown_profile(const std::string& file);

/// What a run folder tells of its run: how it began, what happened, where the time went.
std::string shown_run(const std::string& folder);

/// What can be told of a checkpoint, whole or damaged.
struct ShownCheckpoint {
  std::string text;
  std::string damage;  ///< what is wrong with tensor data; empty when every block is whole
};

/// Step, samples, tensors with shape, size and norm. Throws core::UserError (checkpoint) when not even the
/// description of the contents is whole.
ShownCheckpoint shown_checkpoint(const std::string& file);

}  // namespace galvatron::app
