#pragma once
// A plan as the strategy file of the Python Galvatron 3.0 says it: one entry per transformer block, tensor or
// Ulysses parallelism but not both, ZeRO-3 or the file's default.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace galvatron::plan::galvatron3 {

/// Members are named as the keys of the file, which docs/galvatron-3.0.md lists.
struct StrategyFile {
  int64_t pp_deg = 1;
  std::vector<int64_t> tp_sizes_enc;  ///< per block: tp, or sp where use_sp is 1
  std::vector<int64_t> cp_sizes_enc;
  std::vector<int64_t> dp_types_enc;  ///< 1: ZeRO-3, 0: default_dp_type
  std::vector<int64_t> use_sp;
  std::vector<int64_t> checkpoint;
  int64_t world_size = 0;  ///< 0: the file does not say
  int64_t global_bsz = 1;
  int64_t chunks = 1;
  std::vector<int64_t> pp_division;  ///< blocks per stage; empty: even, the remainder on the last
  std::string pipeline_type = "pipedream_flush";  ///< or gpipe
  std::string default_dp_type = "zero2";          ///< or ddp
  int64_t vtp = 1;                                ///< of embedding and head: tp, or sp where vsp is 1
  int64_t vsp = 0;
  int64_t vcp = 1;
  int64_t embed_sdp = 0;  ///< 1: ZeRO-3; vocab_sdp to the one that reads it

  bool operator==(const StrategyFile&) const = default;
};

/// Why the model is not made of what such a file lists, blocks of attention and mlp between embedding and
/// head; empty when it is.
std::string no_blocks(const spec::ModelSpec& model);

/// Nobody holds the same parameters: there is nothing to shard.
bool is_alone(const spec::LayerStrategy& strategy);

/// As many blocks on every stage, the remainder on the last.
std::vector<int64_t> even_stages(int64_t blocks, int64_t stages);

/// Our plan; attention and mlp of a block have its strategy. `world` is what the file leaves open. Where the
/// embedding's table is shared by two stages, it stays at ZeRO 1, as in plans by hand. Throws core::UserError
/// with every reason why this is no plan for the model.
Plan plan_of(const StrategyFile& strategies, const spec::ModelSpec& model, int64_t world,
             const std::string& file);

/// The other way. Throws core::UserError with everything that the file cannot say. How collectives are done
/// (`forms`) and predictions are left out: they do not change what is computed where.
StrategyFile strategy_file_of(const Plan& plan, const spec::ModelSpec& model, const std::string& file);

}  // namespace galvatron::plan::galvatron3
