// The recorded searches by themselves.
#include <cstdio>

#include "reference_searches.hpp"

int main() {
  const auto report = galvatron::bench::reference_searches();
  std::fputs(report.table.c_str(), stdout);
}
