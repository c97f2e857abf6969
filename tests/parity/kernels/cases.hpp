#pragma once
// The table of kernel calls that every back end must agree on. A new compute step gets one row in cases.cpp
// and a function that lists its cases.

#include <functional>
#include <string>
#include <vector>

#include "parity/kernels/workbench.hpp"

namespace galvatron::kernels::test {

struct Case {
  std::string name;
  std::function<void(Workbench&)> run;
  /// Bound of |fp32 − fp64| relative to the result's largest magnitude. The default leaves a factor of about
  /// ten over the rounding of sums of a few hundred terms. Results of 16 bits get one rounding more.
  double tolerance = 2e-6;
  /// Errors of values that are rounded to 16 bits on the way to a result, in roundings of that result.
  double more_roundings = 0;
};

std::vector<Case> all_cases();
std::vector<Case> cases_but_attention();

std::vector<Case> gemm_cases();
std::vector<Case> epilogue_cases();
std::vector<Case> add_cases();
std::vector<Case> column_sum_cases();
std::vector<Case> embedding_cases();
std::vector<Case> position_cases();
std::vector<Case> fill_and_copy_cases();
std::vector<Case> norm_cases();
std::vector<Case> activation_cases();
std::vector<Case> attention_cases();
std::vector<Case> cross_entropy_cases();
std::vector<Case> optimizer_cases();

}  // namespace galvatron::kernels::test
