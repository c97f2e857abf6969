// Times of the recorded searches: first by Galvatron's objective alone, which is what the recorded times are
// for, then with ours beside it.
#include "reference_searches.hpp"

#include <chrono>

#include "core/format.hpp"
#include "core/table.hpp"
#include "support/galvatron3_searches.hpp"

namespace galvatron::bench {
namespace {

using namespace test::galvatron3;

/// Least of a few runs, which is the one that others disturbed least.
template <typename Body>
double milliseconds(const Body& body) {
  double least = 1e30;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count());
  }
  return least;
}

}  // namespace

ReferenceReport reference_searches() {
  ReferenceReport report;
  std::vector<core::Row> table = {{"search", "theirs ms", "both ms", "recorded", "with ours", "gain %",
                                   "opened", "candidates", "solves", "labels", "cut"}};
  for (const auto& row : search_rows()) {
    const auto rules = rules_of(row);
    auto alone = row.options;
    alone.objectives = {s3::Objective::published};
    s3::Outcome outcome;
    const double theirs_ms = milliseconds([&] { s3::search(rules, alone); });
    const double both_ms = milliseconds([&] { outcome = s3::search(rules, row.options); });
    const double got = outcome.best ? outcome.best->throughput() : 0;
    ++report.rows;
    report.equal_or_better += got >= row.throughput * (1 - 1e-8);
    report.worst_ms = std::max(report.worst_ms, both_ms);
    const auto& s = outcome.statistics;
    report.labels += s.paths.labels;
    report.cut += s.paths.cut;
    table.push_back({row.name(), core::format("{:.2f}", theirs_ms), core::format("{:.2f}", both_ms),
                     core::format("{:.4f}", row.throughput), core::format("{:.4f}", got),
                     row.throughput > 0 ? core::format("{:.2f}", 100 * (got / row.throughput - 1)) : "",
                     core::format("{}", s.opened), core::format("{}", s.candidates),
                     core::format("{}", s.paths.solved), core::format("{}", s.paths.labels),
                     core::format("{}", s.paths.cut)});
  }
  report.table = core::table(table);
  return report;
}

}  // namespace galvatron::bench
