// Columns of what every group of profile.h5 holds, and the checks of their lengths: a file is an input like
// any other.
#include "store/profile_columns.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::store::profile {

void refuse(const std::string& text) {
  throw core::UserError(text);
}

h5::Handle open_group(hid_t parent, const char* name) {
  return h5::Handle(GALV_H5(H5Gopen2(parent, name, H5P_DEFAULT)), H5Gclose);
}

void require_rows(const char* what, size_t rows, std::initializer_list<size_t> columns) {
  for (const auto size : columns)
    if (size != rows) refuse(core::format("columns of {} differ in length", what));
}

void require_runs(const std::vector<int64_t>& first, size_t count, size_t values) {
  if (first.size() != count + 1 || first.front() != 0 || first.back() != static_cast<int64_t>(values))
    refuse("columns of curves differ in length");
  for (size_t i = 0; i < count; ++i)
    if (first[i + 1] < first[i]) refuse("a curve ends before it begins");
}

void write_curves(hid_t group, const Curves& curves, const std::string& x_unit,
                  const std::string& x_meaning) {
  Runs<cost::Curve::Point> runs;
  for (const auto& curve : curves) runs.add(curve.points);
  const auto& [first, points] = runs;
  using Point = cost::Curve::Point;
  const auto numbers = [&points = points](double Point::*field) {
    return column<double>(points, [field](const Point& p) { return p.*field; });
  };
  h5::write_column(group, "first", first, "points", "curve i is the points first[i] to first[i + 1]");
  h5::write_column(group, "x", numbers(&Point::x), x_unit, x_meaning);
  h5::write_column(group, "seconds", numbers(&Point::seconds), "s", "median over the samples");
  h5::write_column(group, "minimum", numbers(&Point::minimum), "s", "least of the samples");
  h5::write_column(group, "p95", numbers(&Point::p95), "s", "95th percentile of the samples");
  h5::write_column(group, "p99", numbers(&Point::p99), "s", "99th percentile of the samples");
  h5::write_column(group, "variation", numbers(&Point::variation), "1",
                   "standard deviation of the samples over their mean");
  h5::write_column(group, "samples", column<int64_t>(points, [](const Point& p) { return p.samples; }), "1",
                   "how many samples the point stands for");
}

Curves read_curves(hid_t group, size_t count) {
  const auto first = h5::read_integers(group, "first");
  const auto x = h5::read_numbers(group, "x");
  const auto seconds = h5::read_numbers(group, "seconds");
  const auto minimum = h5::read_numbers(group, "minimum");
  const auto p95 = h5::read_numbers(group, "p95");
  const std::vector<double> none(x.size());  // profiles of other writers may lack these two
  const auto p99 = h5::has(group, "p99") ? h5::read_numbers(group, "p99") : none;
  const auto variation = h5::has(group, "variation") ? h5::read_numbers(group, "variation") : none;
  const auto samples = h5::read_integers(group, "samples");
  require_rows("curves", x.size(),
               {seconds.size(), minimum.size(), p95.size(), p99.size(), variation.size(), samples.size()});
  require_runs(first, count, x.size());
  Curves curves(count);
  for (size_t c = 0; c < count; ++c)
    for (auto i = static_cast<size_t>(first[c]); i < static_cast<size_t>(first[c + 1]); ++i)
      curves[c].points.push_back({x[i], seconds[i], minimum[i], p95[i], p99[i], variation[i], samples[i]});
  return curves;
}

void write_shapes(hid_t group, const std::vector<cost::GroupShape>& shapes) {
  const auto numbers = [&](int32_t cost::GroupShape::*field) {
    return column<int64_t>(shapes, [field](const cost::GroupShape& shape) { return shape.*field; });
  };
  h5::write_column(group, "ranks", numbers(&cost::GroupShape::ranks), "1", "members of the group");
  h5::write_column(group, "nodes", numbers(&cost::GroupShape::nodes), "1", "nodes that the group lies on");
  h5::write_column(group, "per_node", numbers(&cost::GroupShape::per_node), "1", "most members on one node");
}

std::vector<cost::GroupShape> read_shapes(hid_t group, size_t count) {
  const auto ranks = h5::read_integers(group, "ranks"), nodes = h5::read_integers(group, "nodes");
  const auto per_node = h5::read_integers(group, "per_node");
  require_rows("group shapes", count, {ranks.size(), nodes.size(), per_node.size()});
  std::vector<cost::GroupShape> shapes;
  for (size_t i = 0; i < count; ++i)
    shapes.push_back(
        {static_cast<int32_t>(ranks[i]), static_cast<int32_t>(nodes[i]), static_cast<int32_t>(per_node[i])});
  return shapes;
}

}  // namespace galvatron::store::profile
