#pragma once
// The content of test messages: every word depends on who sends to whom, how much and for which time, so that
// a message from elsewhere, an old one, a torn one and a flipped bit all show.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/errors.hpp"

namespace galvatron::measure {

/// One directed message of a link test.
struct Message {
  int from = 0, to = 0;
  int64_t bytes = 0;
  int64_t iteration = 0;
};

void fill_payload(std::span<std::byte> data, const Message& message);

/// Where the first wrong byte is; nothing when all are right.
std::optional<int64_t> find_mismatch(std::span<const std::byte> data, const Message& message);

/// A link that delivers wrong bytes. Exit code: environment.
class LinkError final : public core::Error {
 public:
  LinkError(const Message& message, int64_t wrong_byte, const std::string& from_host,
            const std::string& to_host);
  const Message& message() const { return message_; }

 private:
  Message message_;
};

}  // namespace galvatron::measure
