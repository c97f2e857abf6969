#pragma once
// The extents of a tensor: a small value without allocation, because programs hold thousands of them.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace galvatron::core {

/// Up to six dims, outermost first, row-major by convention. The default is a scalar: rank 0, one element.
class Shape {
 public:
  static constexpr int64_t max_rank = 6;

  Shape() = default;
  /// Throws InternalError on more than `max_rank` dims or a negative one.
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int64_t rank() const { return rank_; }
  /// Extent of dim `i`; negative `i` counts from the end. Throws InternalError outside.
  int64_t dim(int64_t i) const;
  int64_t operator[](int64_t i) const { return dim(i); }
  void set_dim(int64_t i, int64_t extent);
  /// Product of the dims; 1 for a scalar. Throws InternalError on overflow.
  int64_t elements() const;
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  /// "[2, 3, 4]".
  std::string to_string() const;

  auto operator<=>(const Shape&) const = default;

 private:
  int64_t index(int64_t i) const;

  std::array<int64_t, max_rank> dims_{};  // unused ones stay 0, so that comparison is memberwise
  int64_t rank_ = 0;
};

}  // namespace galvatron::core
