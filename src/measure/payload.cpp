// A counter times an odd constant after a mixed start: as fast as memory, and equal words are rare.
#include "measure/payload.hpp"

#include <algorithm>
#include <cstring>

#include "core/format.hpp"

namespace galvatron::measure {
namespace {

constexpr uint64_t odd_constant = 0x9E3779B97F4A7C15ull;

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

uint64_t start_of(const Message& message) {
  uint64_t state = 0;
  for (const int64_t part : {int64_t{message.from}, int64_t{message.to}, message.bytes, message.iteration})
    state = mix(state + odd_constant + static_cast<uint64_t>(part));
  return state;
}

}  // namespace

void fill_payload(std::span<std::byte> data, const Message& message) {
  uint64_t word = start_of(message);
  for (size_t i = 0; i < data.size(); i += sizeof word) {
    std::memcpy(data.data() + i, &word, std::min(sizeof word, data.size() - i));
    word += odd_constant;
  }
}

std::optional<int64_t> find_mismatch(std::span<const std::byte> data, const Message& message) {
  uint64_t word = start_of(message);
  for (size_t i = 0; i < data.size(); i += sizeof word) {
    const size_t count = std::min(sizeof word, data.size() - i);
    if (std::memcmp(data.data() + i, &word, count) != 0) {
      std::byte expected[sizeof word];
      std::memcpy(expected, &word, sizeof word);
      size_t b = 0;
      while (data[i + b] == expected[b]) ++b;
      return static_cast<int64_t>(i + b);
    }
    word += odd_constant;
  }
  return std::nullopt;
}

LinkError::LinkError(const Message& message, int64_t wrong_byte, const std::string& from_host,
                     const std::string& to_host)
    : core::Error(core::ExitCode::environment,
                  core::format("the link from rank {} ({}) to rank {} ({}) delivers wrong data: byte {} of a "
                               "message of {} bytes, iteration {}",
                               message.from, from_host, message.to, to_host, wrong_byte, message.bytes,
                               message.iteration)),
      message_(message) {}

}  // namespace galvatron::measure
