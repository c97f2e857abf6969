#pragma once
// What the phases of a run share: ranks, kernels, the model, the run folder. Made once, at the start of a
// verb.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/context.hpp"
#include "app/ranks.hpp"
#include "comm/watchdog.hpp"
#include "kernels/kernels.hpp"
#include "measure/reserve.hpp"
#include "runtime/kernel_args.hpp"
#include "spec/cluster.hpp"
#include "spec/model.hpp"
#include "store/blend.hpp"
#include "store/run_folder.hpp"

namespace galvatron::app {

/// Training and validation tokens, and what a bigram model makes of them (texts only).
struct Data {
  std::unique_ptr<store::Dataset> train, valid;
  std::vector<store::BlendPart> parts;  ///< of `train`
  std::optional<double> bigram_loss;
};

/// Whether a verb goes on with the run of the folder, or only looks at what it left.
enum class FolderUse { own, read };

class Job {
 public:
  /// Collective: opens the run folder, writes the effective deck, prints the banner. Throws core::AgreedError
  /// when the folder holds another run and --overwrite was not given. With FolderUse::read the folder is
  /// neither locked nor written to.
  explicit Job(Context& context, FolderUse use = FolderUse::own);

  Context& context() { return context_; }
  const deck::DeckValues& deck() const { return context_.deck; }
  Console& log() { return context_.console; }
  comm::World& world() { return context_.ranks->world(); }
  device::Device& device() { return context_.ranks->device(); }
  kernels::Kernels& kernels() { return *kernels_; }
  const program::WorkspaceRule& workspace() const { return *workspace_; }
  const spec::ModelSpec& model() const { return model_; }
  /// What plans are for: the machine that the job runs on or, for the verb `search`, the deck's [cluster].
  const spec::ClusterSpec& cluster() const { return cluster_; }
  const store::RunPaths& paths() const { return paths_; }
  const std::string& run_id() const { return run_id_; }
  const std::string& deck_text() const { return deck_text_; }
  measure::ReserveMeter& reserve() { return reserve_; }
  int threads() const { return threads_; }

  /// Kernels without what they keep per shape: what was measured and searched holds memory that training does
  /// not need. References to the old ones end.
  void renew_kernels();
  /// The most memory that this rank held where it computes: of the device since the job began, else resident
  /// in the host since measure::forget_peak_resident().
  int64_t peak_bytes();

  void pat(std::string_view action) { context_.watchdog->pat(action); }
  void pat_beside(std::string_view action) { context_.watchdog->pat_beside(action); }
  /// Signals of this rank, touch files (rank 0).
  runtime::Request take_requests();
  /// Local, between two collective calls or where its error is agreed upon: throws core::Error (requeue) when
  /// the batch system asked this rank to stop or its time is over. For phases that have nothing to save;
  /// touch files are left to those that have.
  void end_if_asked(std::string_view when) const;
  /// Seconds until the job's time limit; infinite without one.
  double seconds_left() const;
  /// A finished run lies in the folder already.
  bool finished() const { return finished_; }

 private:
  void open_folder();
  void look_at_earlier_run();
  void banner();
  void note_attempt();

  Context& context_;
  measure::ReserveMeter reserve_;
  int64_t free_at_start_ = 0;  ///< of the device's memory, where it has its own
  int threads_ = 1;
  std::unique_ptr<kernels::Kernels> kernels_;
  std::unique_ptr<runtime::KernelWorkspace> workspace_;
  spec::ModelSpec model_;
  spec::ClusterSpec cluster_;
  bool described_ = false;  ///< the cluster is the deck's
  store::RunPaths paths_;
  std::optional<store::RunFolder> folder_;  // rank 0
  std::string run_id_, deck_text_;
  bool finished_ = false;
  double deadline_ = 0;  ///< seconds since 1970; 0 = none
};

/// Collective: throws core::AgreedError (environment) naming the ranks whose `text` differs from rank 0's:
/// another deck, build or plan on some rank would train something else without a word.
void require_same(comm::World& world, std::string_view what, const std::string& text);

/// Collective: the checkpoint of --checkpoint, else the newest whole one of the run folder. Throws
/// core::AgreedError (checkpoint) where there is none.
std::filesystem::path chosen_checkpoint(Job& job);

/// Collective: what [data] names. Throws core::AgreedError (data).
Data load_data(Job& job);

}  // namespace galvatron::app
