#pragma once
// What tests of plans on several ranks start from: a world, a comparison, and a line on what was played.

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "comm/world.hpp"
#include "device/device.hpp"
#include "support/parity_check.hpp"
#include "support/plan_space.hpp"
#include "support/test_device.hpp"

namespace galvatron::testing {

class PlanJob : public ::testing::Test {
 protected:
  PlanJob() : world_(tested_world()), check_(*world_) {}

  comm::World& world() { return *world_; }
  ParityCheck& check() { return check_; }

  void say(const std::string& what, size_t played, size_t of) const {
    if (world_->rank() == 0)
      std::printf("%s on %d ranks: %zu plans of %zu\n", what.c_str(), world_->size(), played, of);
  }
  void say_seed() const {
    if (world_->rank() == 0)
      std::printf("GALVATRON_TEST_SEED=%llu\n", static_cast<unsigned long long>(test_seed()));
  }

 private:
  std::unique_ptr<comm::World> world_;
  ParityCheck check_;
};

}  // namespace galvatron::testing
