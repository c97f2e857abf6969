// Products, sums and look-ups.

#include "core/format.hpp"
#include "parity/kernels/cases.hpp"

namespace galvatron::kernels::test {
namespace {

struct GemmCase {
  int64_t m, n, k;
  Transpose ta, tb;
  Write write;
  bool bias, sums;
  int64_t gap;
};

void run_gemm(Workbench& w, const GemmCase& c) {
  GemmArgs args;
  const auto a_turned = c.ta == Transpose::yes;
  const auto b_turned = c.tb == Transpose::yes;
  args.a = w.input(a_turned ? c.k : c.m, a_turned ? c.m : c.k, 1.0, c.gap);
  args.b = w.input(b_turned ? c.n : c.k, b_turned ? c.k : c.n, 1.0, 2 * c.gap);
  args.c = c.write == Write::accumulate ? w.input_sums(c.m, c.n, 1.0, c.gap)
           : c.sums                     ? w.output_sums(c.m, c.n, c.gap)
                                        : w.output(c.m, c.n, c.gap);
  if (c.bias) args.bias = w.input(1, c.n);
  args.transpose_a = c.ta;
  args.transpose_b = c.tb;
  args.write = c.write;
  args.workspace = w.scratch(w.kernels().gemm_workspace_bytes(args));
  w.kernels().gemm(w.stream(), args);
  w.result("c", args.c);
}

}  // namespace

std::vector<Case> gemm_cases() {
  std::vector<Case> cases;
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {1, 65, 33}, {3, 5, 7}, {128, 96, 64}, {37, 129, 65}}) {
    for (const auto ta : {Transpose::no, Transpose::yes}) {
      for (const auto tb : {Transpose::no, Transpose::yes}) {
        for (const auto gap : {0, 5}) {
          for (const auto* mode : {"plain", "bias", "accumulate", "sums"}) {
            const std::string name = mode;
            const GemmCase c{m,
                             n,
                             k,
                             ta,
                             tb,
                             name == "accumulate" ? Write::accumulate : Write::overwrite,
                             name == "bias" || name == "sums",
                             name == "sums",
                             gap};
            cases.push_back(
                {core::format("gemm_{}x{}x{}_{}{}_{}_gap{}", m, n, k, ta == Transpose::yes ? 't' : 'n',
                              tb == Transpose::yes ? 't' : 'n', name, gap),
                 [c](Workbench& w) { run_gemm(w, c); }});
          }
        }
      }
    }
  }
  const GemmCase empty{4, 5, 0, Transpose::no, Transpose::no, Write::overwrite, true, false, 0};
  cases.push_back({"gemm_no_inner_dim", [empty](Workbench& w) { run_gemm(w, empty); }});
  const GemmCase none{0, 5, 3, Transpose::no, Transpose::no, Write::overwrite, false, false, 0};
  cases.push_back({"gemm_no_rows", [none](Workbench& w) { run_gemm(w, none); }});
  return cases;
}

std::vector<Case> add_cases() {
  std::vector<Case> cases;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {7, 33}, {129, 257}}) {
    for (const auto gap : {0, 3}) {
      for (const auto bias : {false, true}) {
        cases.push_back({core::format("add_{}x{}_gap{}{}", rows, cols, gap, bias ? "_bias" : ""),
                         [rows = rows, cols = cols, gap, bias](Workbench& w) {
                           const auto a = w.input(rows, cols, 1.0, gap);
                           const auto b = w.input(rows, cols);
                           const auto shift = bias ? w.input(1, cols) : TensorView{};
                           const auto out = w.output(rows, cols, gap);
                           w.kernels().add(w.stream(), a, b, shift, out);
                           w.kernels().add(w.stream(), a, b, shift, a);
                           w.result("out", out);
                           w.result("in place", a);
                         }});
      }
    }
  }
  return cases;
}

std::vector<Case> column_sum_cases() {
  std::vector<Case> cases;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 5}, {67, 1}, {300, 1100}}) {
    cases.push_back({core::format("column_sum_{}x{}", rows, cols), [rows = rows, cols = cols](Workbench& w) {
                       const auto x = w.input(rows, cols, 1.0, 3);
                       const auto out = w.input_sums(1, cols);
                       w.kernels().column_sum(w.stream(), x, out);
                       w.result("out", out);
                     }});
    cases.push_back(
        {core::format("sum_of_squares_{}x{}", rows, cols), [rows = rows, cols = cols](Workbench& w) {
           const auto out = w.filled(DType::f64, 1, 1, 3.0);
           w.kernels().sum_of_squares(w.stream(), w.input_sums(rows, cols, 1.0, 3), out);
           w.kernels().sum_of_squares(w.stream(), w.input_sums(rows, cols), out);
           w.result("out", out);
         }});
  }
  return cases;
}

std::vector<Case> embedding_cases() {
  std::vector<Case> cases;
  for (const auto& [tokens, width] : {std::pair<int64_t, int64_t>{1, 3}, {50, 33}, {600, 64}}) {
    for (const int64_t first : {0, 10}) {
      cases.push_back({core::format("embedding_{}x{}_from{}", tokens, width, first),
                       [tokens = tokens, width = width, first](Workbench& w) {
                         const auto ids = w.ids(tokens, 0, 39);
                         const auto table = w.input(17, width, 1.0, 2);
                         const auto out = w.output(tokens, width, 3);
                         const auto dtable = w.input_sums(17, width, 1.0, 1);
                         w.kernels().embedding(w.stream(), ids, table, first, out);
                         w.kernels().embedding_backward(w.stream(), ids, w.input(tokens, width), first,
                                                        dtable);
                         w.result("out", out);
                         w.result("dtable", dtable);
                       }});
    }
  }
  return cases;
}

namespace {

/// Whole samples; pieces of one block; a rank's share of a block in zigzag order that crosses its halves.
std::vector<std::pair<std::string, RowPositions>> positions_of_rows() {
  return {{"one", {1, 1, 1, 4, 5, 0, 0}},       {"samples", {3, 1, 7, 4, 11, 0, 0}},
          {"wide", {4, 1, 40, 4, 44, 0, 0}},    {"pieces", {3, 2, 10, 0, 20, 0, 0}},
          {"zigzag", {2, 1, 24, 0, 12, 6, 30}}, {"zigzag_share", {2, 3, 5, 5, 12, 12, 24}}};
}

void run_rope(Workbench& w, const RowPositions& positions, int64_t heads, int64_t head_dim) {
  RopeArgs args;
  args.positions = positions;
  args.heads = heads;
  args.head_dim = head_dim;
  args.base = 500.0;
  args.x = w.input(positions.rows(), heads * head_dim + 5, 1.0, 3);
  args.y = w.output(positions.rows(), heads * head_dim + 5, 2);
  w.kernels().rope(w.stream(), args);
  w.result("forward", args.y);
  args.direction = Direction::inverse;
  args.y = args.x;
  w.kernels().rope(w.stream(), args);
  w.result("inverse in place", args.y);
}

}  // namespace

std::vector<Case> position_cases() {
  std::vector<Case> cases;
  for (const auto& [name, positions] : positions_of_rows()) {
    for (const int64_t width : {1, 129}) {
      cases.push_back(
          {core::format("positions_{}_{}", name, width), [positions = positions, width](Workbench& w) {
             const auto x = w.input(positions.rows(), width, 1.0, 2);
             const auto table = w.input(49, width);
             const auto out = w.output(positions.rows(), width);
             const auto dtable = w.input_sums(49, width, 1.0, 3);
             w.kernels().add_positions(w.stream(), x, table, positions, out);
             w.kernels().add_positions_backward(w.stream(), x, positions, dtable);
             w.kernels().add_positions(w.stream(), x, table, positions, x);
             w.result("out", out);
             w.result("dtable", dtable);
             w.result("in place", x);
           }});
    }
    for (const auto& [heads, head_dim] : {std::pair<int64_t, int64_t>{1, 2}, {3, 64}, {1, 300}}) {
      cases.push_back({core::format("rope_{}_{}x{}", name, heads, head_dim),
                       [positions = positions, heads = heads, head_dim = head_dim](Workbench& w) {
                         run_rope(w, positions, heads, head_dim);
                       }});
    }
  }
  return cases;
}

std::vector<Case> fill_and_copy_cases() {
  std::vector<Case> cases;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {9, 31}, {130, 200}}) {
    for (const auto gap : {0, 3}) {
      cases.push_back({core::format("fill_and_copy_{}x{}_gap{}", rows, cols, gap),
                       [rows = rows, cols = cols, gap](Workbench& w) {
                         const auto from = w.input(rows, cols, 1.0, gap);
                         const auto to = w.output(rows, cols, 2 * gap);
                         const auto sums = w.output_sums(rows, cols, gap);
                         const auto back = w.output(rows, cols, gap);
                         const auto constant = w.output(rows, cols, gap);
                         w.kernels().copy(w.stream(), from, to);
                         w.kernels().copy(w.stream(), from, sums);
                         w.kernels().copy(w.stream(), sums, back);
                         w.kernels().fill(w.stream(), constant, -2.5);
                         w.result("copy", to);
                         w.result("copy in the type of sums", sums);
                         w.result("and back", back);
                         w.result("fill", constant);
                       },
                       0.0});
    }
  }
  return cases;
}

}  // namespace galvatron::kernels::test
