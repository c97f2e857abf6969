// Senders fit their own links, so that the work is shared; what travels are numbers.
#include "measure/link_results.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "measure/fit.hpp"
#include "measure/gather.hpp"
#include "measure/link_figures.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

/// Of each size the visit with the shorter median.
std::map<LinkKey, cost::Curve> curves_of(const LinkResults& results) {
  std::map<LinkKey, std::map<int64_t, cost::Curve::Point>> best;
  for (const auto& [key, sizes] : results) {
    auto first = key;
    first.visit = 0;
    for (const auto& size : sizes) {
      const auto point = point_of(double(size.bytes), summarise(size.seconds));
      const auto [place, fresh] = best[first].try_emplace(size.bytes, point);
      if (!fresh && point.seconds < place->second.seconds) place->second = point;
    }
  }
  std::map<LinkKey, cost::Curve> curves;
  for (const auto& [key, points] : best) {
    auto& curve = curves[key];
    for (const auto& [bytes, point] : points) curve.points.push_back(point);
    curve.fit = fit_pieces(curve.points);
  }
  return curves;
}

void pack(const LinkKey& key, std::vector<double>& out) {
  out.insert(out.end(), {double(key.path), double(key.from), double(key.to),
                         key.pass == Pass::isolated ? 0.0 : 1.0, double(key.visit)});
}

/// Key, number of points, number of segments, points, segments.
void pack(const LinkKey& key, const cost::Curve& curve, std::vector<double>& out) {
  const auto& segments = curve.fit.segments;
  pack(key, out);
  out.insert(out.end(), {double(curve.points.size()), double(segments.size())});
  for (const auto& p : curve.points)
    out.insert(out.end(), {p.x, p.seconds, p.minimum, p.p95, p.p99, p.variation, double(p.samples)});
  for (const auto& s : segments) out.insert(out.end(), {s.first, s.latency_seconds, s.seconds_per_x});
}

/// Reads numbers in the order in which they were packed.
class Reader {
 public:
  explicit Reader(const std::vector<double>& numbers) : numbers_(numbers) {}
  bool done() const { return at_ == numbers_.size(); }
  double next() {
    GALV_ASSERT(at_ < numbers_.size(), numbers_.size());
    return numbers_[at_++];
  }
  template <typename Whole>
  Whole whole() {
    return static_cast<Whole>(next());
  }

 private:
  const std::vector<double>& numbers_;
  size_t at_ = 0;
};

LinkKey unpacked_key(Reader& reader) {
  LinkKey key;
  key.path = reader.whole<int>();
  key.from = reader.whole<int>();
  key.to = reader.whole<int>();
  key.pass = reader.next() > 0 ? Pass::loaded : Pass::isolated;
  key.visit = reader.whole<int>();
  return key;
}

std::pair<LinkKey, cost::Curve> unpacked(Reader& reader) {
  const auto key = unpacked_key(reader);
  cost::Curve curve;
  curve.points.resize(reader.whole<size_t>());
  curve.fit.segments.resize(reader.whole<size_t>());
  for (auto& p : curve.points) {
    for (double* field : {&p.x, &p.seconds, &p.minimum, &p.p95, &p.p99, &p.variation}) *field = reader.next();
    p.samples = reader.whole<int64_t>();
  }
  for (auto& s : curve.fit.segments)
    for (double* field : {&s.first, &s.latency_seconds, &s.seconds_per_x}) *field = reader.next();
  note_residuals(curve);
  return {key, std::move(curve)};
}

LatencyBandwidth line_of(const cost::Curve& curve) {
  std::vector<SizedTime> times;
  for (const auto& p : curve.points) times.push_back({p.x, p.seconds});
  return fit_latency_bandwidth(times);
}

std::string name_of(const LinkKey& key, const std::string& path) {
  return core::format("{} to {}, {}, {}{}", key.from, key.to,
                      key.pass == Pass::isolated ? "isolated" : "loaded", path,
                      key.visit > 0 ? ", visited again" : "");
}

}  // namespace

std::vector<cost::Link> links_of_all(comm::World& world, const LinkResults& mine,
                                     const std::vector<std::string>& path_names) {
  std::vector<double> numbers;
  for (const auto& [key, curve] : curves_of(mine)) pack(key, curve, numbers);
  std::map<LinkKey, cost::Link> links;
  for (const auto& of_rank : gather_numbers(world, numbers)) {
    for (Reader reader(of_rank); !reader.done();) {
      auto [key, curve] = unpacked(reader);
      auto& link = links[{key.path, key.from, key.to, Pass::isolated, 0}];
      (key.pass == Pass::isolated ? link.isolated : link.loaded) = std::move(curve);
    }
  }
  std::vector<cost::Link> out;
  for (auto& [key, link] : links) {
    link.from = key.from;
    link.to = key.to;
    link.path = path_names.at(static_cast<size_t>(key.path));
    const auto alone = line_of(judged_curve(link));
    link.latency_seconds = alone.latency_seconds;
    link.bytes_per_second = alone.bytes_per_second;
    link.loaded_bytes_per_second =
        link.loaded.points.empty() ? alone.bytes_per_second : line_of(link.loaded).bytes_per_second;
    out.push_back(std::move(link));
  }
  return out;
}

store::RawTable raw_of_all(comm::World& world, const LinkResults& mine, std::span<const LinkPath> paths) {
  std::vector<double> numbers;
  for (const auto& [key, sizes] : mine) {
    for (const auto& size : sizes) {
      pack(key, numbers);
      numbers.insert(numbers.end(), {double(size.bytes), double(size.seconds.size())});
      numbers.insert(numbers.end(), size.seconds.begin(), size.seconds.end());
    }
  }
  store::RawTable table{
      "B", "one message, one way: the round trip less half of that of the smallest size", {}};
  const auto& way = paths.front();
  for (const auto& of_rank : gather_to_first(world, *way.talk, *way.memory, numbers)) {
    for (Reader reader(of_rank); !reader.done();) {
      const auto key = unpacked_key(reader);
      auto& series = table.series.emplace_back();
      series.of = name_of(key, paths[static_cast<size_t>(key.path)].name);
      series.x = reader.next();
      series.rank = key.from;
      series.samples.resize(reader.whole<size_t>());
      for (auto& sample : series.samples) sample = reader.next();
    }
  }
  return table;
}

}  // namespace galvatron::measure
