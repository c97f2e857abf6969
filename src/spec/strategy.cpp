// How a strategy prints: degrees above 1 only, so that a table of layers stays readable.

#include "spec/strategy.hpp"

#include "core/format.hpp"

namespace galvatron::spec {

std::string to_string(const LayerStrategy& s) {
  std::vector<std::string> parts;
  auto degree = [&](const char* axis, int32_t n) {
    if (n > 1) parts.push_back(core::format("{}{}", axis, n));
  };
  degree("tp", s.tp);
  degree("sp", s.sp);
  degree("cp", s.cp);
  degree("dp", s.dp);
  degree("ep", s.ep);
  if (s.zero > 0) parts.push_back(core::format("zero{}", s.zero));
  if (s.recompute == Recompute::full) parts.emplace_back("recompute");
  return parts.empty() ? "single" : core::join(parts, " ");
}

}  // namespace galvatron::spec
