#pragma once
// What a search says, as text. Nothing is printed here.

#include <string>

#include "search/search.hpp"

namespace galvatron::search {

/// The plan's stages with time and memory by term, and its runs of equal layers.
std::string plan_table(const plan::Plan& plan, const spec::ModelSpec& model);
/// The best plans and those of the families that people use by hand, and what each loses.
std::string ranking_table(const SearchResult& result);
/// The decision tree: what is left at each division and on each level, what was cut and why.
std::string space_tree(const Space& space, const Kinds& kinds);
/// Why nothing fits and what would help.
std::string infeasible_text(const Infeasible& infeasible);

/// "4 stages × tp2 dp2, 8 micro-batches of 4, 1f1b".
std::string outline(const plan::Plan& plan);

}  // namespace galvatron::search
