// Rank 0 makes the index beside the text. Where other nodes do not see it, they have copies of the text and
// make their own, or see nothing of it: then it is made once more in the folder that all share.
#include "store/text_index_together.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"
#include "store/text_index.hpp"

namespace galvatron::store {
namespace {

namespace fs = std::filesystem;

/// Seconds of work between two meetings of all ranks.
constexpr double slice = 0.25;
/// How often another node's new file is looked for, a twentieth of a second apart: some file systems are
/// late.
constexpr int looks = 60;

enum class Who { rank_0, lacking_with_text, rank_0_for_all };

class Finder {
 public:
  Finder(comm::World& world, const TextSources& sources, const TextOptions& options)
      : world_(world), options_(options) {
    if (world.rank() == 0) sources_ = sources;
    name_ = world.broadcast(world.rank() == 0 ? index_name_of(sources) : "", 0);
    fingerprint_ = std::stoull(world.broadcast(std::to_string(fingerprint_of(sources)), 0));
    beside_ = world.broadcast(
        world.rank() == 0 ? fs::absolute(sources.files.front().path).parent_path().string() : "", 0);
    if (leads() && world.rank() != 0) look_for_text();
  }

  /// An index that every node sees, or false.
  bool find() {
    if (look(1)) return true;
    for (const auto who : {Who::rank_0, Who::lacking_with_text, Who::rank_0_for_all}) {
      if (!make(who)) continue;
      made_ = true;
      if (look(world_.nodes() > 1 ? looks : 1)) return true;
    }
    return false;
  }

  /// Checks the bytes of all nodes' indices together; the damaged ones are removed. True when all are whole.
  bool whole() {
    const auto found = index_of_node();
    std::optional<TextIndex> index;
    world_.agree("map the text", [&] {
      index = TextIndex::open(found.first, found.second);
      if (!index) throw core::UserError(core::ExitCode::data, found.first + " is gone again");
    });
    int64_t damaged = 0;
    int64_t block = world_.local_rank();
    in_slices("check the text", [&](double until) {
      for (; block < index->blocks() && clock() < until; block += world_.local_size())
        if (!index->block_is_whole(block)) ++damaged;
      return block >= index->blocks();
    });
    const auto all = world_.all_gather(damaged);
    int64_t here = 0;
    for (int r = 0; r < world_.size(); ++r)
      if (world_.node_of(r) == world_.node()) here += all[static_cast<size_t>(r)];
    world_.barrier();  // nobody opens any more what is removed now
    if (here > 0 && leads()) ::unlink(found.first.c_str());
    world_.barrier();
    index_ = std::move(index);
    return *std::max_element(all.begin(), all.end()) == 0;
  }

  const TextIndex& index() const { return *index_; }
  bool made() const { return made_; }
  const std::string& problem() const { return problem_; }

 private:
  bool leads() const { return world_.local_rank() == 0; }
  static double clock() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void look_for_text() {
    try {
      sources_ = find_text(options_);
    } catch (const core::Error&) {
      sources_.reset();  // the text is not to be seen on this node
    }
  }

  std::vector<fs::path> folders() const {
    std::vector<fs::path> folders = {beside_};
    if (!options_.index_folder.empty()) folders.push_back(options_.index_folder);
    return folders;
  }

  /// By rank 0's state of the files or, of a copy on this node, by its own.
  std::optional<TextIndex> open(const fs::path& file) {
    auto index = TextIndex::open(file, fingerprint_);
    if (!index && sources_) index = TextIndex::open(file, fingerprint_of(*sources_));
    return index;
  }

  /// Whether every node has an index now.
  bool look(int times) {
    for (int i = 0; i < times; ++i) {
      world_.agree("", [&] { options_.alive("look for the packed text"); });
      if (i > 0) ::usleep(50'000);
      if (leads()) look_here();
      int64_t lacking = leads() && seen_.empty() ? 1 : 0;
      world_.all_reduce(std::span(&lacking, 1), core::ReduceOp::max);
      if (lacking == 0) return true;
    }
    return false;
  }

  void look_here() {
    seen_.clear();
    for (const auto& folder : folders()) {
      try {
        if (const auto index = open(folder / name_)) {
          seen_ = index->path().string();
          seen_fingerprint_ = index->fingerprint();
          return;
        }
      } catch (const core::Error&) {
        continue;  // damaged: it is made again
      }
    }
  }

  /// Collective: the ranks whose turn it is make an index; whether any did.
  bool make(Who who) {
    const bool text = sources_.has_value();
    const bool turn = who == Who::lacking_with_text ? leads() && seen_.empty() && text
                      : who == Who::rank_0          ? world_.rank() == 0 && seen_.empty()
                                                    : world_.rank() == 0 && !options_.index_folder.empty();
    auto places = folders();
    if (who == Who::rank_0_for_all) places.erase(places.begin());
    std::unique_ptr<TextIndexBuilder> builder;
    size_t place = 0;
    int64_t done = 0;
    in_slices("pack the text", [&](double until) {
      while (turn && done == 0 && place < places.size() && clock() < until) {
        try {
          if (!builder) builder = std::make_unique<TextIndexBuilder>(*sources_, places[place]);
          doing_ = builder->where();
          if (builder->work(until - clock())) done = 1;
        } catch (const DiskError& error) {
          problem_ = error.what();
          builder.reset();
          ++place;
        }
      }
      return !turn || done == 1 || place >= places.size();
    });
    world_.all_reduce(std::span(&done, 1), core::ReduceOp::max);
    return done == 1;
  }

  /// Collective: calls `work` on every rank, a slice of time each, until all say that they are done; between
  /// two slices all ranks meet, and are asked whether they are to stop.
  template <class Work>
  void in_slices(const char* what, Work work) {
    for (int64_t left = 1; left > 0;) {
      bool done = false;
      world_.agree("", [&] {
        options_.alive(doing_.empty() ? what : doing_);
        done = work(clock() + slice);
      });
      left = done ? 0 : 1;
      world_.all_reduce(std::span(&left, 1), core::ReduceOp::max);
    }
    doing_.clear();
  }

  /// What the first rank of this node found: file and fingerprint.
  std::pair<std::string, uint64_t> index_of_node() {
    const auto all =
        world_.all_gather(leads() ? core::format("{} {}", seen_fingerprint_, seen_) : std::string());
    for (int r = 0; r < world_.size(); ++r) {
      const auto& text = all[static_cast<size_t>(r)];
      const auto space = text.find(' ');
      if (world_.node_of(r) == world_.node() && space != std::string::npos)
        return {text.substr(space + 1), std::stoull(text)};
    }
    return {};
  }

  comm::World& world_;
  const TextOptions& options_;
  std::optional<TextSources> sources_;  ///< as this node sees them; on the first rank of a node only
  std::string name_, beside_;
  uint64_t fingerprint_ = 0, seen_fingerprint_ = 0;
  std::string seen_, doing_, problem_;
  bool made_ = false;
  std::optional<TextIndex> index_;
};

}  // namespace

bool map_index(comm::World& world, const TextSources& sources, const TextOptions& options,
               TextDatasets& out) {
  Finder finder(world, sources, options);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!finder.find()) {
      out.warnings.push_back(world.broadcast(
          core::format("the text is not packed, so every rank holds all of it: {}", finder.problem()), 0));
      return false;
    }
    if (!finder.whole()) {
      out.warnings.push_back("a packed text was damaged and is made again");
      continue;
    }
    out.train = finder.index().train();
    out.valid = finder.index().valid();
    world.agree("", [&] {
      if (out.train->tokens() == 0)
        throw core::UserError(core::ExitCode::data, "data.train: no text is left to train on");
    });
    out.index = world.broadcast(
        core::format("{} ({})", finder.index().path().string(), finder.made() ? "made now" : "used again"),
        0);
    return true;
  }
  return false;
}

}  // namespace galvatron::store
