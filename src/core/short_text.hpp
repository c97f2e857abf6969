#pragma once
// Text where asking for memory is too much: what a training step says about itself at every action.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace galvatron::core {

/// Put together piece by piece in itself, cut where it is full.
class ShortText {
 public:
  ShortText& add(std::string_view text) {
    const auto count = std::min(text.size(), room_.size() - length_);
    std::copy_n(text.begin(), count, room_.begin() + length_);
    length_ += count;
    return *this;
  }
  ShortText& add(int64_t number) {
    std::array<char, 20> digits;  // the longest: −2^63
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return add(std::string_view(digits.data(), static_cast<size_t>(end - digits.data())));
  }
  std::string_view view() const { return {room_.data(), length_}; }

 private:
  std::array<char, 96> room_;
  size_t length_ = 0;
};

}  // namespace galvatron::core
