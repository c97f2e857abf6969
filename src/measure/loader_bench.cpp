// Samples are far apart, as they are in training's order: the first look at a page of a file is the one that
// counts.
#include "measure/loader_bench.hpp"

#include <algorithm>
#include <array>

#include "measure/gather.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {

void measure_loader(comm::World& world, const ReadSample& read, Budget& budget, cost::ModelProfile& profile,
                    store::RawTable& raw) {
  raw.x_unit = "tokens";
  raw.meaning = "reading and cutting of one sample, over its tokens";
  std::array<int64_t, 1> there = {read ? 1 : 0};
  world.all_reduce(std::span<int64_t>(there), comm::ReduceOp::max);
  profile.loader_seconds_per_token = 0;
  if (there[0] == 0 || budget.spent()) return;
  constexpr int64_t wanted = 200;
  constexpr double longest = 0.2;  // seconds
  std::vector<double> mine;
  int64_t tokens = 1;
  world.agree("read training data", [&] {
    const double begin = now_seconds();
    for (int64_t i = 0; i < wanted && now_seconds() - begin < longest; ++i) {
      const double start = now_seconds();
      tokens = std::max<int64_t>(read(i * world.size() + world.rank()), 1);
      mine.push_back(now_seconds() - start);
    }
  });
  profile.loader_seconds_per_token = largest_of(world, median_of(mine) / static_cast<double>(tokens));
  keep_samples(world, "sample", static_cast<double>(tokens), mine, raw);
}

}  // namespace galvatron::measure
