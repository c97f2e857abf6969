#pragma once
// One direction of one link: how long a message of a given size takes from this rank to a peer. Both ranks
// call it at the same time, one as the sender and one as the receiver.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "device/host_window.hpp"
#include "measure/payload.hpp"
#include "measure/sampler.hpp"

namespace galvatron::measure {

/// each: every message is filled anew and looked at, with nothing else going on in between (isolated pass).
/// last: messages follow each other closely and the last one of each batch is looked at (loaded pass).
enum class Check { each, last };

struct PingResult {
  std::vector<double> round_trips;  ///< seconds, there with the payload and back with 8 bytes; sender only
  std::optional<Message> wrong;     ///< the first message that arrived damaged; receiver only
  int64_t wrong_byte = 0;
};

/// Buffers of both roles for messages up to `largest` bytes. The communicator is attached to no stream, so
/// that a call takes as long as the host waits for it.
class PingBench {
 public:
  PingBench(comm::Communicator& comm, device::Device& device, int64_t largest);

  PingResult send(int to, int64_t bytes, Check check, const SampleRule& rule);
  /// Instead of send(): the receiver's call ends without a message.
  void skip(int to) { tell(to, 0); }
  /// Follows the sender's lead until that has enough. A damaged message is noted and the exchange goes on, so
  /// that no rank is left waiting.
  PingResult receive(int from, int64_t bytes, Check check);

  /// Ends `peer`'s doze.
  void wake(int peer) { tell(peer, 0); }
  /// Waits for `peer` without using the processor: a rank that polls may take the time of those who measure.
  void doze(int peer);

 private:
  void tell(int peer, int64_t word);
  int64_t hear(int peer);
  void fill(const Message& message);

  comm::Communicator& comm_;
  std::unique_ptr<device::Stream> stream_;
  device::HostWindow window_;
  device::Buffer payload_;
  device::Buffer token_;
};

}  // namespace galvatron::measure
