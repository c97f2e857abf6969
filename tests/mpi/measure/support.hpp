#pragma once
// What the tests of the benches share: a live world, a communicator over all of it, small options, and a
// communicator that damages messages.

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/forwarding_communicator.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"
#include "measure/group_sets.hpp"

namespace galvatron::measure::test {

struct Live {
  std::unique_ptr<device::Device> device = device::make_device(device::DeviceKind::cpu);
  std::unique_ptr<comm::World> world = comm::make_mpi_world(*device);

  std::unique_ptr<comm::Communicator> everyone() {
    std::vector<int> ranks(static_cast<size_t>(world->size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return world->make_communicator(ranks, comm::TrafficClass::pipeline);
  }
  std::vector<int> nodes() const { return nodes_of_ranks(*world); }
  /// True when all ranks hold the same text. Collective.
  bool same_everywhere(const std::string& text) {
    const auto all = world->all_gather(text);
    return std::all_of(all.begin(), all.end(), [&](const auto& other) { return other == text; });
  }
};

/// Which message is damaged: the receiver sees one flipped bit.
struct Damage {
  int from = 0, to = 0;
  int64_t bytes = 0;
  int64_t skip = 0;  ///< that many such messages pass unharmed
};

/// Passes everything on to another communicator; damages what the test asks for.
class DamagingCommunicator final : public comm::ForwardingCommunicator {
 public:
  DamagingCommunicator(comm::Communicator& inner, const Damage& damage)
      : ForwardingCommunicator(inner), damage_(damage) {}

  comm::Pending receive(comm::TensorView data, int from, int channel) override {
    auto pending = ForwardingCommunicator::receive(data, from, channel);
    const bool hit = from == damage_.from && index() == damage_.to && data.bytes() == damage_.bytes;
    if (!hit || damage_.skip-- > 0) return pending;
    return comm::Pending(std::make_unique<FlipOnArrival>(std::move(pending), data.data + data.bytes() / 2));
  }

 private:
  class FlipOnArrival final : public comm::Pending::State {
   public:
    FlipOnArrival(comm::Pending pending, std::byte* victim) : pending_(std::move(pending)), victim_(victim) {}
    void wait() override {
      pending_.wait();
      flip();
    }
    bool test() override {
      const bool done = pending_.test();
      if (done) flip();
      return done;
    }

   private:
    void flip() {
      if (victim_ != nullptr) *victim_ ^= std::byte{0x01};
      victim_ = nullptr;
    }
    comm::Pending pending_;
    std::byte* victim_;
  };

  Damage damage_;
};

}  // namespace galvatron::measure::test
