#pragma once
// The decision tree: which divisions of the ranks there are (stages, tp, sp, cp, dp), which of them each
// layer kind allows, and why the others were cut.

#include <cstdint>
#include <string>
#include <vector>

#include "search/options.hpp"
#include "spec/cluster.hpp"
#include "spec/model.hpp"

namespace galvatron::search {

/// Layers with equal specs are one kind: they are priced once.
struct Kinds {
  std::vector<spec::LayerSpec> specs;  ///< in order of appearance
  std::vector<int64_t> of_layer;

  explicit Kinds(const spec::ModelSpec& model);
  int64_t size() const { return static_cast<int64_t>(specs.size()); }
};

/// One way to divide the ranks: stages × (tp × sp × cp × dp).
struct Division {
  int64_t stages = 1;
  spec::LayerStrategy degrees;                            ///< zero and recompute unset
  std::vector<std::vector<spec::LayerStrategy>> choices;  ///< per kind, ascending
};

/// Divisions or strategies that were left out, and why.
struct Cut {
  std::string level;  ///< where in the tree: "stages", "axes", "zero", "recompute"
  std::string reason;
  int64_t count = 0;
};

struct Space {
  int64_t ranks = 1;
  std::vector<Division> divisions;  ///< those that are left
  std::vector<Cut> cuts;            ///< in the order in which they were met

  void cut(const std::string& level, const std::string& reason, int64_t count = 1);
  int64_t strategies() const;  ///< leaves: choices of all divisions and kinds
};

/// Legality is judged for the largest micro-batch (`samples`); a division whose dp exceeds a smaller one is
/// left out when tasks are made.
Space make_space(const spec::ModelSpec& model, const Kinds& kinds, const spec::ClusterSpec& cluster,
                 const SearchOptions& options);

}  // namespace galvatron::search
