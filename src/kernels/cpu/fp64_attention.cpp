// fp64 oracle: attention, one query at a time. The workspace holds one row of scores.

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

void forward_query(const AttentionArgs& args, const AttentionSpan& span, int64_t sample, int64_t head,
                   int64_t query) {
  const auto order = token_order(args);
  const auto width = args.head_dim;
  const auto kv = head / (args.heads / args.kv_heads) * width;
  const auto here = order.row(sample, query);
  const auto keys = span.keys_of(query);
  const auto merge = args.write == Write::accumulate;
  auto* scores = args.workspace.as<double>();
  auto* out = row<double>(args.out, here) + head * width;
  auto& lse = row<double>(args.lse, here)[head];
  const auto* q = row<double>(args.q, here) + head * width;
  double maximum = merge ? lse : -INFINITY;
  for (int64_t p = 0; p < keys; ++p) {
    scores[p] = args.scale * dot(q, row<double>(args.k, order.row(sample, p)) + kv, width);
    maximum = std::max(maximum, scores[p]);
  }
  double sum = merge ? std::exp(lse - maximum) : 0.0;
  for (int64_t p = 0; p < keys; ++p) sum += std::exp(scores[p] - maximum);
  const auto merged = maximum + std::log(sum);
  const auto kept = merge ? std::exp(lse - merged) : 0.0;
  for (int64_t d = 0; d < width; ++d) out[d] = merge ? kept * out[d] : 0.0;
  for (int64_t p = 0; p < keys; ++p) {
    add_scaled(std::exp(scores[p] - merged), row<double>(args.v, order.row(sample, p)) + kv, out, width);
  }
  lse = merged;
}

void backward_query(const AttentionBackwardArgs& args, const AttentionSpan& span, int64_t sample,
                    int64_t head, int64_t query) {
  const auto order = token_order(args);
  const auto width = args.head_dim;
  const auto kv = head / (args.heads / args.kv_heads) * width;
  const auto here = order.row(sample, query);
  const auto* q = row<double>(args.q, here) + head * width;
  const auto* dout = row<double>(args.dout, here) + head * width;
  const auto delta = dot(dout, row<double>(args.out, here) + head * width, width);
  auto* dq = row<double>(args.dq, here) + head * width;
  for (int64_t p = 0; p < span.keys_of(query); ++p) {
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
  const auto span = attention_span(args.part, args.positions);
  for (int64_t s = 0; s < args.samples; ++s) {
    for (int64_t h = 0; h < args.heads; ++h) {
      for (int64_t p = span.query_begin; p < span.query_end; ++p) forward_query(args, span, s, h, p);
    }
  }
}

void attention_backward(const AttentionBackwardArgs& args) {
  const auto span = attention_span(args.part, args.positions);
  if (args.write_q == Write::overwrite) fill(args.dq, 0.0);
  if (args.write_kv == Write::overwrite) {
    fill(args.dk, 0.0);
    fill(args.dv, 0.0);
  }
  for (int64_t s = 0; s < args.samples; ++s) {
    for (int64_t h = 0; h < args.heads; ++h) {
      for (int64_t p = span.query_begin; p < span.query_end; ++p) backward_query(args, span, s, h, p);
    }
  }
}

}  // namespace galvatron::kernels::fp64
