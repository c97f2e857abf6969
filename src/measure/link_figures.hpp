#pragma once
// The two numbers by which a link is judged: how long its smallest message takes, and at which rate its
// largest one travels. Links are only compared at equal sizes.

#include <cstdint>
#include <string>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::measure {

/// One figure of one link among its peers.
struct Judged {
  size_t link = 0;       ///< index into the profile's links
  double value = 0;      ///< seconds, or bytes per second
  double best = 0;       ///< likewise of its fastest sample
  double reference = 0;  ///< median of the peers' values at the same size
  double tail = 0;       ///< seconds that 95 of 100 samples stay below; 0 without a curve
  double ratio = 1;      ///< value / reference
};

/// Of `links` (indices into profile.links), in their order, from the isolated pass where there is one. Sizes
/// at which fewer than half of the links were measured do not count. Links without curves are judged by their
/// plain figures.
std::vector<Judged> judged(const cost::HardwareProfile& profile, const std::vector<size_t>& links,
                           cost::LinkFigure figure);

/// The curve that a link is judged by: of the isolated pass, else of the loaded one.
const cost::Curve& judged_curve(const cost::Link& link);

}  // namespace galvatron::measure
