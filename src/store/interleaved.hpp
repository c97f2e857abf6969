#pragma once
// Many things that repeat at equal distances, walked in one ascending order without listing every repetition:
// whether ranks cover a tensor once, and what of a file its blocks cover, needs that order of very many rows.

#include <cstdint>
#include <optional>
#include <vector>

namespace galvatron::store {

/// The places begin, begin + stride, … `times` of them; `stride` > 0 where there are several.
struct Repeated {
  int64_t begin = 0;
  int64_t stride = 0;
  int64_t times = 1;
  int64_t owner = 0;  ///< the caller's number for it
};

/// In memory for the number of repeated things, whatever their `times`; a step takes time for the logarithm
/// of how many of them are under way at that place.
class Interleaved {
 public:
  explicit Interleaved(std::vector<Repeated> things);

  struct Place {
    int64_t at = 0;
    int64_t owner = 0;
    int64_t time = 0;  ///< which repetition it is
  };
  /// The next place; of equal ones the lowest owner's first. Nothing at the end.
  std::optional<Place> next();

 private:
  struct Cursor {
    int64_t at = 0;
    int64_t time = 0;
    size_t thing = 0;
  };
  bool later(const Cursor& a, const Cursor& b) const;

  std::vector<Repeated> things_;  // by where they begin
  size_t begun_ = 0;              // how many of them have been under way
  std::vector<Cursor> heap_;      // those under way, the one whose turn it is first
};

}  // namespace galvatron::store
