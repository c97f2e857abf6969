// The table of compute steps: one row each.

#include "parity/kernels/cases.hpp"

namespace galvatron::kernels::test {
namespace {

struct StepRow {
  const char* step;
  std::vector<Case> (*cases)();
};

constexpr StepRow steps[] = {
    {"gemm", gemm_cases},
    {"epilogue", epilogue_cases},
    {"add", add_cases},
    {"column_sum and sum_of_squares", column_sum_cases},
    {"embedding", embedding_cases},
    {"positions", position_cases},
    {"fill and copy", fill_and_copy_cases},
    {"norm", norm_cases},
    {"activation", activation_cases},
    {"attention", attention_cases},
    {"cross_entropy", cross_entropy_cases},
    {"adamw and sgd", optimizer_cases},
};

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& row : steps) {
    for (auto& one : row.cases()) all.push_back(std::move(one));
  }
  return all;
}

std::vector<Case> cases_but_attention() {
  auto cases = all_cases();
  std::erase_if(cases, [](const Case& one) { return one.name.starts_with("attention"); });
  return cases;
}

}  // namespace galvatron::kernels::test
