// The file: a line that says which search it is, then the rounds, each after a line with its length. A file
// that was cut off is good up to where it is whole.
#include "app/kept_search.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "app/alone.hpp"
#include "app/build_info.hpp"
#include "core/fingerprint.hpp"
#include "core/format.hpp"
#include "deck/deck.hpp"
#include "runtime/training_state.hpp"

namespace galvatron::app {
namespace {

constexpr double write_every = 1.0;  // seconds
constexpr std::string_view memory_word = "memory ", round_word = "round ";
/// Memory that was found may differ by this part of it from what an earlier attempt found.
constexpr double most_drift = 0.1;

/// A file as it was written.
struct Kept {
  int64_t memory_bytes = 0;
  std::vector<std::string> rounds;
};

std::string text_of(const std::string& identity, int64_t memory, const std::vector<std::string>& rounds) {
  std::string text = core::format("{}\n{}{}\n", identity, memory_word, memory);
  for (const auto& round : rounds) text += core::format("{}{}\n{}", round_word, round.size(), round);
  return text;
}

/// The number after a word at the start of a line; the place moves behind the line. Nothing where there is
/// none.
std::optional<int64_t> number_after(std::string_view word, const std::string& text, size_t& at) {
  const size_t end = text.find('\n', at);
  if (end == std::string::npos || text.compare(at, word.size(), word) != 0) return std::nullopt;
  int64_t value = 0;
  if (std::from_chars(text.data() + at + word.size(), text.data() + end, value).ptr != text.data() + end)
    return std::nullopt;
  at = end + 1;
  return value;
}

Kept kept_of(const std::string& text, const std::string& identity) {
  Kept kept;
  if (!text.starts_with(identity + "\n")) return kept;
  size_t at = identity.size() + 1;
  const auto memory = number_after(memory_word, text, at);
  if (!memory) return kept;
  kept.memory_bytes = *memory;
  while (const auto length = number_after(round_word, text, at)) {
    if (*length < 0 || static_cast<size_t>(*length) > text.size() - at) break;
    kept.rounds.push_back(text.substr(at, static_cast<size_t>(*length)));
    at += static_cast<size_t>(*length);
  }
  return kept;
}

/// The keys of the deck that a search reads.
deck::DeckValues read_by_search(const deck::DeckValues& deck) {
  deck::DeckValues kept;
  kept.model = deck.model;
  kept.search = deck.search;
  kept.train.precision = deck.train.precision;
  kept.train.overlap_pipeline = deck.train.overlap_pipeline;
  kept.train.overlap_gradients = deck.train.overlap_gradients;
  kept.train.overlap_parameters = deck.train.overlap_parameters;
  kept.train.overlap_ring = deck.train.overlap_ring;
  return kept;
}

/// Everything that the answers depend on but the memory, as one line; the same on every rank. Collective.
std::string identity_of(Job& job) {
  const auto& named = job.deck().profile.file;
  const auto file = named.empty() ? job.paths().profile().string() : named;
  const auto profile = read_shared(job.world(), "read " + file,
                                   [&] { return core::format("{:016x}", core::fnv1a(read_text(file))); });
  const auto& cluster = job.cluster();
  const auto all = core::format("{}\n{}\n{} × {}, {} bytes\n{}", version_json(), profile, cluster.nodes,
                                cluster.ranks_per_node, job.deck().cluster.memory,
                                deck::to_toml(read_by_search(job.deck())));
  return core::format("answers of search {:016x}", core::fnv1a(all));
}

}  // namespace

KeptSearch::KeptSearch(Job& job, Requests& requests)
    : job_(job),
      requests_(requests),
      queue_(job.world()),
      identity_(identity_of(job)),
      cluster_(job.cluster()) {
  const auto file = job.paths().kept_search();
  const auto text = read_shared(job.world(), "read " + file.string(), [&] {
    return std::filesystem::exists(file) ? read_text(file.string()) : std::string();
  });
  auto kept = kept_of(text, identity_);
  const auto drift = static_cast<double>(kept.memory_bytes - cluster_.memory_bytes);
  if (std::abs(drift) > most_drift * static_cast<double>(cluster_.memory_bytes)) return;
  cluster_.memory_bytes = kept.memory_bytes;
  rounds_ = std::move(kept.rounds);
  known_ = static_cast<int64_t>(rounds_.size());
}

std::string KeptSearch::recalled() {
  return next_ < rounds_.size() ? rounds_[next_] : std::string();
}

void KeptSearch::keep(const std::string& round) {
  if (next_ == rounds_.size()) rounds_.emplace_back();
  unwritten_ = unwritten_ || rounds_[next_] != round;
  rounds_[next_++] = round;
  if (runtime::wall_clock() - written_ >= write_every) write();
}

bool KeptSearch::stop_asked() {
  job_.pat("search");
  return requests_.look() != runtime::Request::none;
}

void KeptSearch::write() {
  if (job_.world().rank() != 0 || !unwritten_) return;
  written_ = runtime::wall_clock();
  unwritten_ = false;
  try {
    const auto file = job_.paths().kept_search();
    const auto part = file.string() + ".part";
    write_text(part, text_of(identity_, cluster_.memory_bytes, rounds_));
    std::filesystem::rename(part, file);
  } catch (const std::exception& error) {
    job_.log().warning(core::format("the search goes on, but is not kept: {}", error.what()));
  }
}

}  // namespace galvatron::app
