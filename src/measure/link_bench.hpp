#pragma once
// Plays slots of the tournament and keeps what this rank measured as a sender, sample by sample.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "comm/world.hpp"
#include "measure/link_paths.hpp"
#include "measure/ping.hpp"
#include "measure/tournament.hpp"

namespace galvatron::measure {

enum class Pass { isolated, loaded };

struct LinkKey {
  int path = 0;  ///< index into the list of paths
  int from = 0, to = 0;
  Pass pass = Pass::isolated;
  int visit = 0;  ///< links that look slow are visited again
  auto operator<=>(const LinkKey&) const = default;
};

/// One size of one direction. Seconds are one way: the round trip less half of that of the smallest size.
struct LinkSamples {
  int64_t bytes = 0;
  std::vector<double> seconds;
};

using LinkResults = std::map<LinkKey, std::vector<LinkSamples>>;

/// Sizes in bytes, ascending, by tier.
struct TierSizes {
  std::vector<int64_t> same_node, across;
};

struct LinkIterations {
  int64_t small = 200;                        ///< samples wanted per size
  int64_t large = 20;                         ///< likewise from `large_bytes` on
  int64_t large_bytes = 64 * 1024;            ///<
  int64_t volume_bytes = int64_t{512} << 20;  ///< no more than this per size, but for the least samples
};

/// Seconds of one exchange of `bytes`, filling and checking included.
struct PilotPoint {
  int64_t bytes = 0;
  double seconds = 0;
};

/// Every rank makes one. A rank never throws while others wait for its messages: what goes wrong is noted and
/// agreed on at the end of each slot.
class LinkBench {
 public:
  /// Messages are up to `largest` bytes. Paths and world outlive it.
  LinkBench(comm::World& world, std::span<const LinkPath> paths, const LinkIterations& iterations,
            int64_t largest);

  /// A first look at the pairs, all at once: two messages of each size from low to high, until one takes
  /// longer than `seconds`. What this rank sent. Collective; throws as play() does.
  std::vector<PilotPoint> look(const Round& slot, const std::vector<int64_t>& sizes, double seconds);

  /// All pairs of the slot at once, low → high and then high → low, each direction for about `seconds`; large
  /// sizes are left out where that does not suffice. Throws core::AgreedError with LinkError's text on every
  /// rank when a message arrives damaged. Collective over the world.
  void play(const Round& slot, int path, Pass pass, const TierSizes& sizes, double seconds, int visit = 0);

  const LinkResults& mine() const { return mine_; }

 private:
  void end_slot(const Round& slot, PingBench& ping);
  void send(PingBench& ping, const LinkKey& key, const std::vector<int64_t>& sizes, double seconds);
  void receive(PingBench& ping, int from, const std::vector<int64_t>& sizes, Pass pass);
  SampleRule rule_for(int64_t bytes, double seconds) const;

  comm::World& world_;
  LinkIterations iterations_;
  std::vector<int> node_of_;
  std::vector<PingBench> pings_;  // one per path
  LinkResults mine_;
  std::optional<PingResult> wrong_;
};

}  // namespace galvatron::measure
