// The sections that say what is run, on what, and how a plan is found.
#include "deck/tables.hpp"

namespace galvatron::deck {
namespace {

constexpr int64_t most_ranks = int64_t{1} << 20;

Rule count() {
  return Rule().at_least(0);
}

Rule schedules() {
  return Rule().one_of({"1f1b", "gpipe", "eager-1f1b", "interleaved"});
}

Rule placements() {
  return Rule().one_of({"stage-major", "stage-minor"});
}

Rule zero_levels() {
  return Rule().at_least(0).at_most(3);
}

}  // namespace

Section<RunSection> run_table() {
  using S = RunSection;
  return {"run",
          "The run itself: where it writes and how it behaves.",
          {{"out", &S::out, {}, "", "The run folder. It is made if it is missing."},
           {"seed", &S::seed, count(), "", "Seed of the initial weights and of the order of the data."},
           {"threads", &S::threads, count().at_most(4096), "threads",
            "Threads per rank. 0: the cores of this rank's cpuset, shared among ranks that have the same; "
            "OMP_NUM_THREADS wins over 0."},
           {"device", &S::device, Rule().one_of({"auto", "cpu", "cuda", "cuda-shared"}), "",
            "What computes. auto: CUDA devices where the build has CUDA and every rank sees a device, else "
            "CPUs. cuda: one device per rank, or an error. cuda-shared: ranks may share a device; where they "
            "do, all traffic goes through host memory: for tests."},
           {"watchdog", &S::watchdog, count(), "s",
            "The job ends with exit code 9 after this long without progress. 0: never."},
           {"trace", &S::trace, count().at_most(1000), "steps",
            "How many steps trace.json shows: the last ones of the job, with what was evaluated and saved "
            "between them. 0: no trace. Recording costs a fraction of a microsecond per layer."}}};
}

Section<DataSection> data_table() {
  using S = DataSection;
  return {
      "data",
      "What the model learns from.",
      {{"format", &S::format, Rule().one_of({"text", "megatron", "llmc", "tokens", "synthetic"}), "",
        "How the files are read. text: every byte is a token; megatron: pairs of .bin and .idx; llmc: .bin "
        "of "
        "llm.c; tokens: HDF5 as `convert tokens` writes it; synthetic: random tokens, no files."},
       {"train", &S::train, Rule().items(1), "",
        "Files to train on, as names or patterns (`*`, `**`). A pattern without a match is a warning; no "
        "file at all is an error. Of megatron the names of the .bin, with or without the ending."},
       {"valid", &S::valid, {}, "", "Files for the validation loss. Empty: a part of the training data."},
       {"weights", &S::weights, Rule().above(0), "",
        "One per entry of `train`: samples are drawn from the entries in these proportions, each of which is "
        "walked through in epochs of its own. Empty: all files are one row."},
       {"split", &S::split, count().at_most(0.5), "fraction",
        "The part of the training data kept for validation where `valid` is empty."},
       {"synthetic_tokens", &S::synthetic_tokens, Rule().at_least(2), "tokens",
        "How many tokens synthetic data have, validation included."}}};
}

Section<ClusterSection> cluster_table() {
  using S = ClusterSection;
  return {
      "cluster",
      "The machine to plan for. The defaults describe what the job runs on; fill them in to plan for other "
      "hardware with `check` and `search`.",
      {{"nodes", &S::nodes, count().at_most(most_ranks), "nodes", "Nodes. 0: from MPI."},
       {"ranks_per_node", &S::ranks_per_node, count().at_most(most_ranks), "ranks",
        "Ranks on each node. 0: from MPI."},
       {"memory", &S::memory, count().written_as(Form::size), "bytes",
        "Memory per rank. 0: the device's memory, or the share of this rank in what the node lets the job "
        "use."}}};
}

Section<ProfileSection> profile_table() {
  using S = ProfileSection;
  return {
      "profile",
      "How long measuring may take and what is reused.",
      {{"budget", &S::budget, Rule().above(0), "s", "Time for measuring links, collectives and layers."},
       {"reuse",
        &S::reuse,
        {},
        "",
        "Take a profile in the run folder that was measured under the same conditions."},
       {"file", &S::file, {}, "", "A profile to use instead of measuring."},
       {"min_bytes", &S::min_bytes, Rule().at_least(8).written_as(Form::size), "bytes",
        "Smallest message of the link map."},
       {"max_bytes", &S::max_bytes,
        Rule().at_least(8).at_most(double(int64_t{1} << 40)).written_as(Form::size), "bytes",
        "Largest one. Sizes double from min_bytes on; those that the budget does not reach are left out."},
       {"compare",
        &S::compare,
        {},
        "",
        "An earlier profile to compare the links with. Empty: the one in the run folder, where there is "
        "one."}}};
}

Section<SearchSection> search_table() {
  using S = SearchSection;
  return {
      "search",
      "Which plans are considered.",
      {{"enabled",
        &S::enabled,
        {},
        "",
        "Search for a plan where neither a file nor a plan by hand is given."},
       {"batch", &S::batch, Rule().at_least(1).items(1).or_word("max"), "samples",
        "Samples per step; several values are tried in turn. A plan by hand takes the first. max: ever "
        "larger ones, from one per rank on, until none fits or twice as many bring less than 1 % more "
        "samples per second."},
       {"schedule", &S::schedule, schedules().items(1), "", "Pipeline schedules to consider."},
       {"placement", &S::placement, placements().items(1), "",
        "Which ranks a stage may get where there are several nodes. stage-major: ranks in a row. "
        "stage-minor: neighbouring ranks hold neighbouring stages."},
       {"axes", &S::axes, Rule().one_of({"tp", "sp", "cp", "dp"}).items(1), "",
        "Axes along which layers may be split. An axis that a layer kind does not support is left out."},
       {"max_tp", &S::max_tp, count(), "ranks", "Largest tensor-parallel degree. 0: no limit."},
       {"max_sp", &S::max_sp, count(), "ranks", "Largest Ulysses sequence-parallel degree. 0: no limit."},
       {"max_cp", &S::max_cp, count(), "ranks", "Largest context-parallel degree. 0: no limit."},
       {"max_pp", &S::max_pp, count(), "stages", "Most pipeline stages. 0: no limit."},
       {"in_node", &S::in_node, {}, "", "Let tp times sp be at most the ranks of a node."},
       {"zero", &S::zero, zero_levels().items(1), "", "ZeRO levels to consider."},
       {"recompute", &S::recompute, {}, "", "Consider recomputing activations in the backward pass."},
       {"trials", &S::trials, count().at_most(100), "plans",
        "The best plans are tried for a few steps before one is chosen. 0: trust the prediction."},
       {"rules", &S::rules, Rule().one_of({"own", "galvatron-3.0"}), "",
        "How plans are priced. own: from measured steps. galvatron-3.0: by the formulas and profile files of "
        "the Python Galvatron, see [galvatron] and galvatron-3.0.md."}}};
}

Section<PlanSection> plan_table() {
  using S = PlanSection;
  return {
      "plan",
      "A plan instead of a search: a file, or a uniform plan by hand, which is in force as soon as one of "
      "its "
      "keys differs from its default. Degrees left at 0 count as 1; dp is what remains of the ranks.",
      {{"file", &S::file, {}, "", "A plan file."},
       {"pp", &S::pp, count(), "stages", "Pipeline stages."},
       {"tp", &S::tp, count(), "ranks", "Tensor-parallel degree."},
       {"sp", &S::sp, count(), "ranks", "Ulysses sequence-parallel degree."},
       {"cp", &S::cp, count(), "ranks", "Context-parallel degree."},
       {"zero", &S::zero, zero_levels(), "",
        "ZeRO level: 0 nothing is sharded, 1 optimizer state, 2 and gradients, 3 and parameters."},
       {"recompute",
        &S::recompute,
        {},
        "",
        "Keep only each layer's input and run it again in the backward pass."},
       {"microbatches", &S::microbatches, count(), "micro-batches",
        "Micro-batches per step; divides the batch. 0: chosen by the program."},
       {"schedule", &S::schedule, schedules(), "",
        "Pipeline schedule. eager-1f1b has more micro-batches in flight than 1f1b and gives messages more "
        "time; interleaved has a smaller bubble with virtual_stages above 1, and pp must divide its "
        "micro-batches."},
       {"placement", &S::placement, placements(), "",
        "Which ranks a stage gets. stage-major: ranks in a row. stage-minor: neighbouring ranks hold "
        "neighbouring stages."},
       {"virtual_stages", &S::virtual_stages, count(), "stages",
        "Stages on each of the pp ranks of the pipeline, for schedule interleaved: stage k is on rank k mod "
        "pp."},
       {"stage_layers", &S::stage_layers, Rule().at_least(1), "layers",
        "How many entries of the layer list (embedding, attention and mlp of each block, head) each stage "
        "holds. Empty: as even as possible."}}};
}

}  // namespace galvatron::deck
