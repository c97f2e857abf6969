#pragma once
// What a step's duration depends on, read from its operands alone: its signature for measured steps, its
// arithmetic and its bytes for the others.

#include <cstdint>
#include <optional>
#include <string>

#include "cost/profile.hpp"
#include "program/program.hpp"

namespace galvatron::cost {

/// C[m, n] (+)= op(A)[m, k] · op(B)[k, n].
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  core::DType dtype = core::DType::f32;
  core::Transpose a = core::Transpose::no, b = core::Transpose::no;
  core::Write write = core::Write::overwrite;

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  /// A weight's gradient sums over tokens: there they are k, else m.
  bool tokens_are_k() const { return a == core::Transpose::yes; }
  int64_t tokens() const { return tokens_are_k() ? k : m; }
};

GemmShape gemm_shape(const program::Program& program, const program::Step& step);

/// The two dimensions of a gemm's signature that are not tokens; nothing when the key names no gemm.
struct GemmKey {
  core::DType dtype = core::DType::f32;
  bool tokens_are_k = false;
  int64_t first = 0, second = 0;  ///< n and k, or m and n
};
std::optional<GemmKey> parse_gemm_key(const std::string& key);
GemmKey gemm_key(const GemmShape& shape);

/// Floating-point operations and bytes moved, if every operand passed through memory once.
struct StepWork {
  double flops = 0;
  double bytes = 0;
};
StepWork work_of(const program::Program& program, const program::Step& step);

int64_t operand_bytes(const program::Program& program, const program::Operand& operand);

/// Bytes of a collective's whole (gathered, unreduced or reduced) tensor.
int64_t collective_bytes(const program::Program& program, const program::Step& step);

}  // namespace galvatron::cost
