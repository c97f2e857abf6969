#pragma once
// The decision tree: which divisions of the ranks there are (stages, tp, sp, cp, dp), which strategies of
// each layer kind they allow, and why the others were cut.

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
  std::vector<std::vector<spec::LayerStrategy>> choices;  ///< per kind, ascending; none where illegal
};

/// What decides which rows of an activation a rank owns, however tp and sp share them.
struct LayoutClass {
  int32_t dp = 1, cp = 1;
  auto operator<=>(const LayoutClass&) const = default;
};

/// Everything that the layers of a stage may choose from when there are so many stages: the leaves of all its
/// divisions.
struct Pool {
  int64_t stages = 1, ranks = 1;                          ///< ranks of a stage
  std::vector<LayoutClass> layouts;                       ///< ascending
  std::vector<std::vector<spec::LayerStrategy>> choices;  ///< per kind, ascending
  std::vector<std::vector<int32_t>> layout_of;            ///< per kind and choice
};

/// Divisions or strategies that were left out, and why.
struct Cut {
  std::string level;  ///< where in the tree: "stages", "axes", "zero", "recompute"
  std::string reason;
  int64_t count = 0;
};

struct Space {
  int64_t ranks = 1;
  std::vector<Division> divisions;  ///< those in which every layer kind can be, or some can
  std::vector<Pool> pools;          ///< one for each number of stages that is left
  std::vector<Cut> cuts;            ///< in the order in which they were met

  void cut(const std::string& level, const std::string& reason, int64_t count = 1);
  int64_t strategies() const;  ///< leaves: choices of all divisions and kinds
};

/// Legality is judged for the largest micro-batch (`samples`); strategies whose dp exceeds a smaller one are
/// left out task by task.
Space make_space(const spec::ModelSpec& model, const Kinds& kinds, const spec::ClusterSpec& cluster,
                 const SearchOptions& options);

}  // namespace galvatron::search
