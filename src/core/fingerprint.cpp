// The hash behind fingerprints.
#include "core/fingerprint.hpp"

#include "core/format.hpp"

namespace galvatron::core {

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

std::string fingerprint(std::string_view text) {
  return format("{:016x}", fnv1a(text));
}

}  // namespace galvatron::core
