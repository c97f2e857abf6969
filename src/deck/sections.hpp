#pragma once
// The sections of a deck as plain structs. A member's initial value is the key's default; names, rules, units
// and meanings stand beside each other in the tables of tables_*.cpp. Bytes and seconds, as everywhere.

#include <cstdint>
#include <string>
#include <vector>

namespace galvatron::deck {

struct RunSection {
  std::string out = "runs/quickstart";
  int64_t seed = 1234;
  int64_t threads = 0;  ///< per rank; 0 = the cores of this rank's cpuset
  std::string device = "auto";
  double watchdog = 300.0;
  int64_t trace = 2;  ///< steps of trace.json; 0 = no trace
  bool operator==(const RunSection&) const = default;
};

struct ModelSection {
  std::string family = "gpt";
  int64_t layers = 4;  ///< transformer blocks
  int64_t hidden = 256;
  int64_t heads = 4;
  int64_t kv_heads = 4;  ///< where the deck is silent: heads
  int64_t ffn = 1024;    ///< where the deck is silent: 4 · hidden
  int64_t vocab = 256;
  int64_t seq = 256;
  std::string norm = "layernorm";
  std::string activation = "gelu";
  std::string position = "learned";
  bool bias = true;
  bool tie_embeddings = true;
  double rope_base = 10000.0;
  double norm_eps = 1e-5;
  double init_std = 0.02;
  bool operator==(const ModelSection&) const = default;
};

struct DataSection {
  std::string format = "text";
  std::vector<std::string> train = {"docs/**/*.md"};
  std::vector<std::string> valid;
  std::vector<double> weights;  ///< one per entry of `train`; empty = one source
  double split = 0.05;
  int64_t synthetic_tokens = 1048576;
  bool operator==(const DataSection&) const = default;
};

struct ClusterSection {
  int64_t nodes = 0;           ///< 0 = from MPI
  int64_t ranks_per_node = 0;  ///< 0 = from MPI
  int64_t memory = 0;          ///< bytes per rank; 0 = what the machine has
  bool operator==(const ClusterSection&) const = default;
};

struct ProfileSection {
  double budget = 60.0;
  bool reuse = true;
  std::string file;
  int64_t min_bytes = 8;  ///< of the messages of the link map
  int64_t max_bytes = int64_t{64} << 20;
  std::string compare;
  bool operator==(const ProfileSection&) const = default;
};

struct SearchSection {
  bool enabled = true;
  std::vector<int64_t> batch = {16};  ///< empty: "max"
  std::vector<std::string> schedule = {"1f1b", "gpipe"};
  std::vector<std::string> placement = {"stage-major", "stage-minor"};
  std::vector<std::string> axes = {"tp", "sp", "cp", "dp"};
  int64_t max_tp = 0;
  int64_t max_sp = 0;
  int64_t max_cp = 0;
  int64_t max_pp = 0;
  bool in_node = false;
  std::vector<int64_t> zero = {0, 1, 2, 3};
  bool recompute = true;
  int64_t trials = 3;
  std::string rules = "own";

  bool grows_batch() const { return batch.empty(); }
  bool operator==(const SearchSection&) const = default;
};

/// Files and switches of the Python Galvatron, for search.rules = "galvatron-3.0".
struct GalvatronSection {
  std::string allreduce, p2p, overlap, sp_time;  ///< hardware files
  std::string computation, memory;               ///< model files
  std::string time_mode = "batch";
  std::string memory_mode = "static";
  std::string default_dp = "zero2";
  std::string objective = "both";
  int64_t chunks = 0;  ///< micro-batches; 0 = every divisor of the batch
  int64_t max_sp = 0;  ///< 0 = any
  int64_t max_cp = 1;  ///< 0 = any
  bool async_grad_reduce = true;
  bool sequence_parallel = true;
  bool fine_grained = true;
  bool operator==(const GalvatronSection&) const = default;
};

/// A plan file, or a uniform plan by hand. A degree of 0 was left out and counts as 1; dp is what remains.
/// The batch is the first of search.batch.
struct PlanSection {
  std::string file;
  int64_t pp = 0;
  int64_t tp = 0;
  int64_t sp = 0;
  int64_t cp = 0;
  int64_t zero = 0;
  bool recompute = false;
  int64_t microbatches = 0;
  std::string schedule = "1f1b";
  std::string placement = "stage-major";
  int64_t virtual_stages = 0;         ///< stages on each of the pp ranks of the pipeline
  std::vector<int64_t> stage_layers;  ///< entries of the model's layer list per stage; empty = even
  bool operator==(const PlanSection&) const = default;

  /// Whether the deck states a plan itself: any key but `file` differs from its default.
  bool by_hand() const;
};

struct TrainSection {
  int64_t steps = 200;
  int64_t stop_after = 0;
  std::string resume = "auto";
  std::string precision = "fp32";
  double loss_scale = 65536.0;
  int64_t loss_scale_growth = 1000;
  int64_t max_skipped = 20;
  std::string optimizer = "adamw";
  double lr = 3e-3;
  double min_lr = 3e-4;  ///< where the deck is silent: lr / 10
  int64_t warmup = 20;   ///< where the deck is silent: at most steps
  std::string decay = "cosine";
  double weight_decay = 0.1;
  std::vector<double> betas = {0.9, 0.95};
  double eps = 1e-8;
  double clip = 1.0;
  int64_t eval_every = 50;
  int64_t log_every = 10;
  int64_t check_replicas_every = 0;  ///< 0 = only before saves
  double walltime = 0.0;             ///< seconds; 0 = none
  bool overlap_pipeline = true;
  bool overlap_gradients = true;
  bool overlap_parameters = true;
  bool overlap_ring = true;
  bool graphs = true;
  bool operator==(const TrainSection&) const = default;
};

struct CheckpointSection {
  int64_t every = 100;
  int64_t keep = 2;
  int64_t keep_every = 0;
  std::string io = "auto";
  bool asynchronous = true;
  bool operator==(const CheckpointSection&) const = default;
};

/// Everything a deck says, with all defaults filled in.
struct DeckValues {
  RunSection run;
  ModelSection model;
  DataSection data;
  ClusterSection cluster;
  ProfileSection profile;
  SearchSection search;
  GalvatronSection galvatron;
  PlanSection plan;
  TrainSection train;
  CheckpointSection checkpoint;
  bool operator==(const DeckValues&) const = default;
};

}  // namespace galvatron::deck
