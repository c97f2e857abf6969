// Checks and text of Shape.
#include "core/shape.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::core {

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int64_t>(dims.size())) {
  GALV_ASSERT(rank_ <= max_rank, rank_);
  for (const int64_t extent : dims) GALV_ASSERT(extent >= 0, extent);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::index(int64_t i) const {
  const int64_t at = i < 0 ? i + rank_ : i;
  GALV_ASSERT(at >= 0 && at < rank_, i, rank_);
  return at;
}

int64_t Shape::dim(int64_t i) const {
  return dims_[static_cast<size_t>(index(i))];
}

void Shape::set_dim(int64_t i, int64_t extent) {
  GALV_ASSERT(extent >= 0, extent);
  dims_[static_cast<size_t>(index(i))] = extent;
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (const int64_t extent : dims()) {
    GALV_ASSERT(!__builtin_mul_overflow(product, extent, &product), to_string());
  }
  return product;
}

std::string Shape::to_string() const {
  std::string out = "[";
  for (int64_t i = 0; i < rank_; ++i) out += (i ? ", " : "") + std::to_string(dim(i));
  return out + "]";
}

}  // namespace galvatron::core
