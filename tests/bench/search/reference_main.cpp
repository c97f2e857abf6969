// The recorded searches by themselves.
#include <cstdio>

#include "core/format.hpp"
#include "process.hpp"
#include "reference_searches.hpp"

int main() {
  const auto report = galvatron::bench::reference_searches();
  const auto line = galvatron::core::format(
      "{}RESULT bench=search_reference reference_min_speedup={:.0f} reference_rows_equal_or_better={} "
      "reference_rows={} labels={} cut={} worst_ms={:.2f} peak_bytes={}\n",
      report.table, report.min_speedup, report.equal_or_better, report.rows, report.labels, report.cut,
      report.worst_ms, galvatron::bench::peak_bytes());
  std::fputs(line.c_str(), stdout);
}
