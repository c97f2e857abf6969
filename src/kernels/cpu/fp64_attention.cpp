// fp64 oracle: causal attention, one query at a time. The workspace holds one row of scores.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fp64.hpp"
#include "kernels/cpu/rows.hpp"

namespace galvatron::kernels::fp64 {
namespace {

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(double factor, const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

void forward_query(const AttentionArgs& args, int64_t sample, int64_t head, int64_t query) {
  const auto order = token_order(args);
  const auto width = args.head_dim;
  const auto kv = head / (args.heads / args.kv_heads) * width;
  const auto here = order.row(sample, query);
  auto* scores = args.workspace.as<double>();
  const auto* q = row<double>(args.q, here) + head * width;
  double maximum = -INFINITY;
  for (int64_t p = 0; p <= query; ++p) {
    scores[p] = args.scale * dot(q, row<double>(args.k, order.row(sample, p)) + kv, width);
    maximum = std::max(maximum, scores[p]);
  }
  double sum = 0;
  for (int64_t p = 0; p <= query; ++p) sum += std::exp(scores[p] - maximum);
  const auto lse = maximum + std::log(sum);
  auto* out = row<double>(args.out, here) + head * width;
  std::fill_n(out, width, 0.0);
  for (int64_t p = 0; p <= query; ++p) {
    add_scaled(std::exp(scores[p] - lse), row<double>(args.v, order.row(sample, p)) + kv, out, width);
  }
  row<double>(args.lse, here)[head] = lse;
}

void backward_query(const AttentionBackwardArgs& args, int64_t sample, int64_t head, int64_t query) {
  const auto order = token_order(args);
  const auto width = args.head_dim;
  const auto kv = head / (args.heads / args.kv_heads) * width;
  const auto here = order.row(sample, query);
  const auto* q = row<double>(args.q, here) + head * width;
  const auto* dout = row<double>(args.dout, here) + head * width;
  const auto delta = dot(dout, row<double>(args.out, here) + head * width, width);
  auto* dq = row<double>(args.dq, here) + head * width;
  for (int64_t p = 0; p <= query; ++p) {
    const auto there = order.row(sample, p);
    const auto* k = row<double>(args.k, there) + kv;
    const auto weight = std::exp(args.scale * dot(q, k, width) - row<double>(args.lse, here)[head]);
    const auto dscore = args.scale * weight * (dot(dout, row<double>(args.v, there) + kv, width) - delta);
    add_scaled(weight, dout, row<double>(args.dv, there) + kv, width);
    add_scaled(dscore, q, row<double>(args.dk, there) + kv, width);
    add_scaled(dscore, k, dq, width);
  }
}

}  // namespace

void attention(const AttentionArgs& args) {
  for (int64_t s = 0; s < args.samples; ++s) {
    for (int64_t h = 0; h < args.heads; ++h) {
      for (int64_t p = 0; p < args.positions; ++p) forward_query(args, s, h, p);
    }
  }
}

void attention_backward(const AttentionBackwardArgs& args) {
  fill(args.dq, 0.0);
  fill(args.dk, 0.0);
  fill(args.dv, 0.0);
  for (int64_t s = 0; s < args.samples; ++s) {
    for (int64_t h = 0; h < args.heads; ++h) {
      for (int64_t p = 0; p < args.positions; ++p) backward_query(args, s, h, p);
    }
  }
}

}  // namespace galvatron::kernels::fp64
