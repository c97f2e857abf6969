#pragma once
// The energy that the processors of this node took while something ran, as the kernel's power capping
// interface counts it (RAPL: packages, with what is on them). Many machines have none, or keep it for root,
// so the reason is a text and never an error.

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace galvatron::measure {

/// Counts from its making on. One per node is enough. The counters are short: at full load they begin anew
/// after some minutes, so a thread looks at them now and then.
class EnergyMeter {
 public:
  /// `root` is the folder that holds sys/.
  explicit EnergyMeter(const std::filesystem::path& root = "/", double look_every = 20.0);
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;
  ~EnergyMeter();

  /// Joules so far, of all packages; 0 where they cannot be counted.
  double joules();
  /// Why they cannot be; empty where they can.
  const std::string& missing() const { return missing_; }

 private:
  struct Package {
    std::filesystem::path file;
    int64_t range_uj = 0;  ///< the count begins anew here
    int64_t last_uj = 0;
    double joules = 0;
  };

  void find(const std::filesystem::path& folder);
  void look();

  std::mutex mutex_;
  std::vector<Package> packages_;
  std::string missing_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: stops before what it uses goes
};

}  // namespace galvatron::measure
