// Words for values that several parts of the page name alike.

#include "report/values.hpp"

#include "core/format.hpp"

namespace galvatron::report {

std::string text_of(const cost::GroupShape& shape) {
  return shape.nodes == 1 ? core::format("{} ranks of a node", shape.ranks)
                          : core::format("{} ranks on {} nodes", shape.ranks, shape.nodes);
}

}  // namespace galvatron::report
