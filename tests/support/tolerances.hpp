#pragma once
// How far two runs of the same training may lie apart, each with its reason. Every test that compares plans
// takes its bound from here.

namespace galvatron::testing::tolerance {

/// Gradients of the first step, fp32, 2-norm per tensor: partial sums over ranks and micro-batches are added
/// in another order, some 10 to 100 roundings of 6e-8 each.
inline constexpr double gradient = 1e-5;

/// Part of the mean tensor's gradient norm below which a tensor's own norm is no yardstick: the gradient of a
/// key's bias is zero, and what is computed of it is rounding alone.
inline constexpr double gradient_floor = 1e-3;

/// Weights after five plain SGD steps, fp32: each step adds lr times a gradient error; lr is 0.05.
inline constexpr double weights_after_sgd = 1e-5;

/// Loss of each of 20 AdamW steps with clipping, fp32: the loss is summed in fp64, so what is left is the
/// rounding of logits. AdamW hides errors of scale, which the SGD bounds find.
inline constexpr double loss = 1e-6;

/// Gradient norm of the same steps: clipping feeds it back into the weights, and it moves faster than the
/// loss.
inline constexpr double gradient_norm = 2e-6;

/// Validation loss after training: as the loss, at weights that are 20 steps apart.
inline constexpr double evaluation = 2e-6;

/// Validation loss at equal weights, fp32: as the loss.
inline constexpr double initial_evaluation = 1e-6;

/// Everything in fp64: 1e-16 a rounding, up to 1e5 of them one after the other.
inline constexpr double fp64 = 1e-11;

/// Gradients, losses and gradient norms against the reference implementation in fp64: as above, but neither
/// side was made to agree with the other in the order of its sums, and ten steps feed back into the weights.
inline constexpr double reference_fp64 = 1e-9;
/// Weights after those ten steps.
inline constexpr double reference_weights_fp64 = 1e-8;
/// The same in fp32, where all rounding is ours and a larger learning rate shows more of it; measured on
/// plans of one to four ranks: 1.3e-6 and 2.5e-6.
inline constexpr double reference_gradient_norm_fp32 = 5e-6;
inline constexpr double reference_weights_fp32 = 1e-5;

/// The same in bf16, whose weights and activations are rounded to 3.9e-3 at every step of a layer: gradients,
/// their norms and the weights after ten steps, then losses. Measured on the same plans: 2.3e-2 and 8.6e-4.
inline constexpr double reference_bf16 = 5e-2;
inline constexpr double reference_loss_bf16 = 3e-3;

/// The same in fp16, whose weights and activations are rounded to 4.9e-4. Measured against values recorded in
/// fp64: 2.8e-3 and 1.4e-4; in fp16, whose recorded values are themselves up to 4.5e-3 and 1.7e-4 away from
/// those in fp64: 6.2e-3 and 2.7e-4.
inline constexpr double reference_fp16 = 1e-2;
inline constexpr double reference_loss_fp16 = 5e-4;

/// A gradient against central differences of fourth order in fp64 at distance 1e-3: the loss is exact to
/// 1e-16, so the quotient to 1e-12, next to a truncation of about 1e-12 · the fifth derivative.
inline constexpr double finite_difference = 1e-6;
/// Below this part of the largest element of all gradients the quotient's own error counts.
inline constexpr double finite_difference_floor = 1e-4;

}  // namespace galvatron::testing::tolerance
