// Names of strategies as the reports of Galvatron 3.0 print them, so that plans can be compared by eye.
#include "cost/galvatron3/strategy.hpp"

#include "core/format.hpp"

namespace galvatron::cost::galvatron3 {

const char* name_of(DpType type) {
  switch (type) {
    case DpType::ddp:
      return "ddp";
    case DpType::zero2:
      return "zero2";
    case DpType::zero3:
      return "zero3";
  }
  return "";
}

std::string to_string(const Strategy& s) {
  return core::format("{}-{}{}-{}{}{}{}", s.pp, s.width(), s.width() > 1 ? "*" : "", s.dp,
                      s.type == DpType::zero3 ? "f" : "", s.recomputes() ? "-c" : "", s.sp > 1 ? "-sp" : "");
}

}  // namespace galvatron::cost::galvatron3
