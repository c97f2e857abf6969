// The sections that say what is trained and how.
#include "deck/tables.hpp"

namespace galvatron::deck {
namespace {

constexpr int64_t largest_extent = int64_t{1} << 31;

/// A count of at least one that keeps products of two in 64 bits.
Rule extent() {
  return Rule().at_least(1).at_most(largest_extent);
}

Rule count() {
  return Rule().at_least(0);
}

}  // namespace

Section<ModelSection> model_table() {
  using S = ModelSection;
  return {
      "model",
      "The network.",
      {{"family", &S::family, Rule().one_of({"gpt", "llama"}), "",
        "Kind of network, which fills in what is left out below. gpt: as GPT-2, a decoder with learned "
        "positions, "
        "layernorm, gelu, biases and a tied head. llama: rotary positions, rmsnorm, swiglu, no biases, an "
        "untied head."},
       {"layers", &S::layers, extent().at_most(100000), "blocks", "Transformer blocks."},
       {"hidden", &S::hidden, extent(), "", "Width of the residual stream."},
       {"heads", &S::heads, extent(), "", "Attention heads; divides `hidden`."},
       {"kv_heads", &S::kv_heads, extent(), "",
        "Heads of keys and values; divides `heads`. Left out: as many as `heads`."},
       {"ffn", &S::ffn, extent(), "",
        "Width inside the feed-forward layer. Left out: 4 × `hidden`; with swiglu 8/3 × `hidden`, rounded up "
        "to a "
        "multiple of 256."},
       {"vocab", &S::vocab, extent().at_least(2), "tokens", "Size of the vocabulary; at least 256 for text."},
       {"seq", &S::seq, extent(), "tokens", "Positions per sample."},
       {"norm", &S::norm, Rule().one_of({"layernorm", "rmsnorm"}), "", "Normalisation before each layer."},
       {"activation", &S::activation, Rule().one_of({"gelu", "swiglu"}), "",
        "Activation of the feed-forward layer. gelu: in its tanh form; swiglu: gated, three matrices."},
       {"position", &S::position, Rule().one_of({"learned", "rope"}), "",
        "How positions enter. learned: a table added to the embedding; rope: queries and keys are turned."},
       {"bias", &S::bias, {}, "", "Linear layers and layernorms have a bias."},
       {"tie_embeddings", &S::tie_embeddings, {}, "", "The head uses the embedding's table."},
       {"rope_base", &S::rope_base, Rule().above(0), "",
        "Base of rotary positions; not used by learned ones."},
       {"norm_eps", &S::norm_eps, Rule().above(0).below(1), "", "Added to the variance in norms."},
       {"init_std", &S::init_std, Rule().above(0), "",
        "Standard deviation of initial weights; residual outputs get it divided by √(2 · layers)."}}};
}

namespace {

using TrainFields = std::vector<Section<TrainSection>::Field>;

TrainFields overlap_fields() {
  using S = TrainSection;
  return {
      {"overlap_pipeline",
       &S::overlap_pipeline,
       {},
       "",
       "Messages between pipeline stages travel while the next actions are computed. false: each is waited "
       "for where it is sent. The same numbers either way."},
      {"overlap_gradients",
       &S::overlap_gradients,
       {},
       "",
       "Gradients are reduced on a thread of their own while backward goes on. false: backward waits. The "
       "same numbers either way."},
      {"overlap_parameters",
       &S::overlap_parameters,
       {},
       "",
       "ZeRO-3 gathers the next layer's parameters while this one is computed. false: each layer waits for "
       "its own. The same numbers either way."},
      {"overlap_ring",
       &S::overlap_ring,
       {},
       "",
       "Ring attention passes keys and values on while it computes. false: they move when it waits for them. "
       "The same numbers either way."},
      {"graphs",
       &S::graphs,
       {},
       "",
       "On a device, runs of compute steps of forward and backward are captured at their second time and "
       "launched as CUDA graphs from then on. CPUs have none. The same numbers either way."}};
}

TrainFields precision_fields() {
  using S = TrainSection;
  return {{"precision", &S::precision, Rule().one_of({"fp32", "fp64", "bf16", "fp16"}), "",
           "Element type of parameters and activations. bf16 and fp16 keep fp32 master weights, gradients "
           "and moments; fp16 scales its loss. fp64 uses the plain reference kernels and is slow."},
          {"loss_scale", &S::loss_scale, Rule().at_least(1), "",
           "fp16: factor on the loss at the start. It halves when a gradient overflows (that step is "
           "skipped) and doubles after `loss_scale_growth` steps without."},
          {"loss_scale_growth", &S::loss_scale_growth, Rule().at_least(1), "steps",
           "fp16: steps without overflow after which the factor doubles."},
          {"max_skipped", &S::max_skipped, Rule().at_least(1), "steps",
           "fp16: so many skipped steps in a row end the run with exit code 7."}};
}

}  // namespace

Section<TrainSection> train_table() {
  using S = TrainSection;
  TrainFields fields = {
      {"steps", &S::steps, Rule().at_least(1), "steps", "Steps of the whole run; the schedules span them."},
      {"stop_after", &S::stop_after, count(), "steps", "Stop and save after this step. 0: at `steps`."},
      {"resume",
       &S::resume,
       {},
       "",
       "auto: from the newest valid checkpoint of the run folder, if any; never; or a checkpoint file."},
      {"optimizer", &S::optimizer, Rule().one_of({"adamw", "sgd"}), "",
       "adamw: decoupled weight decay (arXiv 1711.05101); sgd: plain steps against the gradient."},
      {"lr", &S::lr, Rule().above(0), "", "Largest learning rate, reached after the warm-up."},
      {"min_lr", &S::min_lr, count(), "",
       "Learning rate at the end of the decay. Left out: a tenth of `lr`."},
      {"warmup", &S::warmup, count(), "steps",
       "Steps over which the learning rate rises. Left out: at most `steps`."},
      {"decay", &S::decay, Rule().one_of({"cosine", "linear", "constant"}), "",
       "Form of the learning rate's fall from `lr` to `min_lr`; constant: none."},
      {"weight_decay", &S::weight_decay, count(), "",
       "Decoupled weight decay of tensors with at least two dims."},
      {"betas", &S::betas, Rule().at_least(0).below(1).items(2, 2), "",
       "Decay rates of AdamW's first and second moments."},
      {"eps", &S::eps, Rule().above(0), "", "Added to AdamW's denominator."},
      {"clip", &S::clip, count(), "", "Largest global gradient norm. 0: no clipping."},
      {"eval_every", &S::eval_every, count(), "steps",
       "Steps between validation losses. 0: only at the end."},
      {"log_every", &S::log_every, Rule().at_least(1), "steps", "Steps between progress and metrics lines."},
      {"check_replicas_every", &S::check_replicas_every, count(), "steps",
       "Steps between comparisons, bit for bit, of the weights and moments that several ranks hold. Where "
       "they "
       "differ the run ends with exit code 7, naming tensor and hosts. 0: only before each checkpoint."},
      {"walltime", &S::walltime, count().written_as(Form::duration), "s",
       "Time limit of the job, where the batch system does not tell it. Before it ends, the run saves and "
       "stops "
       "with exit code 75. Empty: none."}};
  for (const auto& more : {precision_fields(), overlap_fields()})
    fields.insert(fields.end(), more.begin(), more.end());
  return {"train", "The optimization: AdamW with linear warm-up and a decay of the learning rate.",
          std::move(fields)};
}

Section<CheckpointSection> checkpoint_table() {
  using S = CheckpointSection;
  return {"checkpoint",
          "What is kept of the run and how it is written.",
          {{"every", &S::every, count(), "steps", "Steps between checkpoints. 0: only at the end."},
           {"keep", &S::keep, Rule().at_least(1), "files", "The newest checkpoints that are kept."},
           {"keep_every", &S::keep_every, count(), "steps",
            "Checkpoints of steps that this divides are kept for ever. 0: none is."},
           {"io", &S::io, Rule().one_of({"auto", "collective", "independent", "aggregate"}), "",
            "How ranks share the writing. aggregate: each its own bytes, with plain calls; independent, "
            "collective: "
            "through MPI's input and output, each for itself or all together, where a probe at the start "
            "shows that "
            "it works; auto: aggregate."},
           {"asynchronous",
            &S::asynchronous,
            {},
            "",
            "Copy the state to host memory between two steps and write it behind the next ones, where there "
            "is memory for the copy."}}};
}

}  // namespace galvatron::deck
