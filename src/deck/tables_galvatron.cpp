// The section that says what the rules of the Python Galvatron are fed with.
#include "deck/tables.hpp"

namespace galvatron::deck {

Section<GalvatronSection> galvatron_table() {
  using S = GalvatronSection;
  const auto count = Rule().at_least(0);
  return {
      "galvatron",
      "Profile files and switches of the Python Galvatron 3.0, read where search.rules is galvatron-3.0. The "
      "axes, ZeRO 3, recomputation, limits, the first schedule and the batches are those of [search].",
      {{"allreduce", &S::allreduce, {}, "", "The file allreduce_bandwidth_….json."},
       {"p2p", &S::p2p, {}, "", "The file p2p_bandwidth_….json."},
       {"overlap", &S::overlap, {}, "", "The file overlap_coefficient.json."},
       {"sp_time", &S::sp_time, {}, "", "The file sp_time_….json."},
       {"computation", &S::computation, {}, "", "The file computation_profiling_….json."},
       {"memory", &S::memory, {}, "", "The file memory_profiling_….json."},
       {"time_mode", &S::time_mode, Rule().one_of({"static", "batch", "sequence"}), "",
        "How forward times follow from the profile: its first entry, a line over batches, a curve over "
        "sequence lengths."},
       {"memory_mode", &S::memory_mode, Rule().one_of({"static", "sequence"}), "",
        "Memory at the profiled sequence length, or scaled from the longest one."},
       {"default_dp", &S::default_dp, Rule().one_of({"zero2", "ddp"}), "",
        "What replicas do that do not share parameters."},
       {"objective", &S::objective, Rule().one_of({"both", "galvatron"}), "",
        "Plans by Galvatron's objective and by ours, the better of the two by its formula; or by its own "
        "alone."},
       {"chunks", &S::chunks, count, "micro-batches",
        "Micro-batches per step. 0: every divisor of the batch."},
       {"max_sp", &S::max_sp, count, "ranks", "Largest Ulysses degree. 0: no limit."},
       {"max_cp", &S::max_cp, count, "ranks", "Largest context-parallel degree. 0: no limit."},
       {"async_grad_reduce",
        &S::async_grad_reduce,
        {},
        "",
        "Gradients are reduced in every micro-batch instead of after the last."},
       {"sequence_parallel",
        &S::sequence_parallel,
        {},
        "",
        "Tensor-parallel ranks split the sequence between their products."},
       {"fine_grained", &S::fine_grained, {}, "", "A strategy per layer; else one for all layers."}}};
}

}  // namespace galvatron::deck
