// Three bursts per row: products alone, collectives alone on the other thread, and both. How many calls make
// a burst is decided from reduced times, so every rank makes the same ones.
#include "measure/interference.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "comm/background.hpp"
#include "core/format.hpp"
#include "measure/collective_call.hpp"
#include "measure/gather.hpp"
#include "measure/gemm_bench.hpp"

namespace galvatron::measure {
namespace {

using core::CollectiveKind;

enum class Beside { nothing, products };

/// What one burst of a rank took.
struct Burst {
  double seconds = 0;            ///< of the collectives, first to last
  std::vector<double> products;  ///< seconds of each whole product meanwhile
};

double mean_of(const std::vector<double>& values) {
  return values.empty()
             ? 0
             : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class InterferenceBench {
 public:
  InterferenceBench(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                    const InterferenceOptions& options, int64_t largest_bytes)
      : world_(world),
        gemm_(world, device, kernels, options.gemm_size, options.dtype),
        in_(device, largest_bytes),
        out_(device, largest_bytes) {}

  /// Products alone on every rank at once, `seconds` long.
  std::vector<double> products(double seconds) {
    world_.barrier();
    std::vector<double> times;
    const double begin = now_seconds();
    do times.push_back(gemm_.play());
    while (now_seconds() - begin < seconds);
    return times;
  }

  /// `calls` collectives on the other thread, alone or beside products; a rank without a group waits.
  Burst burst(comm::Communicator* group, CollectiveKind kind, int64_t elements, int64_t calls,
              Beside beside) {
    world_.barrier();
    Burst burst;
    const double begin = now_seconds();
    double end = begin;
    if (group == nullptr) return burst;
    const auto ticket = talk_.submit([&] {
      for (int64_t i = 0; i < calls; ++i) call(*group, kind, in_.data(), out_.data(), elements);
      end = now_seconds();
    });
    while (beside == Beside::products && !talk_.finished(ticket)) {
      const double product = gemm_.play();
      if (talk_.finished(ticket) && !burst.products.empty()) break;  // its end was not beside anything
      burst.products.push_back(product);
    }
    talk_.wait(ticket);
    burst.seconds = end - begin;
    return burst;
  }

 private:
  comm::World& world_;
  GemmBench gemm_;
  device::Buffer in_, out_;
  comm::Background talk_;
};

/// One row. Collective.
cost::Interference measure_row(comm::World& world, InterferenceBench& bench, comm::Communicator* group,
                               const cost::Interference& row, double burst_seconds, store::RawTable& raw) {
  const auto elements = static_cast<int64_t>(row.bytes) / core::size_of(core::DType::f32);
  // How long a call takes, by two of them: the first ones make what later ones use again.
  const auto once = [&](Beside beside) {
    return largest_of(world, bench.burst(group, row.kind, elements, 2, beside).seconds) / 2;
  };
  const auto calls_of = [&](double seconds) {
    return static_cast<int64_t>(std::clamp(burst_seconds / std::max(seconds, 1e-7), 2.0, 20000.0));
  };
  const auto alone = bench.products(burst_seconds);
  once(Beside::nothing);
  const auto quiet_calls = calls_of(once(Beside::nothing));
  const auto quiet = bench.burst(group, row.kind, elements, quiet_calls, Beside::nothing);
  // Beside products a call may take many times as long, where both share a core.
  const auto both_calls = calls_of(once(Beside::products));
  const auto both = bench.burst(group, row.kind, elements, both_calls, Beside::products);

  const double product = group == nullptr ? 1 : mean_of(both.products) / std::max(mean_of(alone), 1e-9);
  auto out = row;
  const double quiet_each = quiet.seconds / static_cast<double>(quiet_calls);
  const double both_each = both.seconds / static_cast<double>(both_calls);
  out.collective =
      std::max(1.0, largest_of(world, both_each) / std::max(largest_of(world, quiet_each), 1e-9));
  const auto all = world.all_gather(product);
  const auto talking = world.all_gather(group == nullptr ? 0.0 : 1.0);
  double sum = 0, ranks = 0;
  for (size_t r = 0; r < all.size(); ++r) {
    sum += talking[r] * all[r];
    ranks += talking[r];
  }
  out.compute = ranks > 0 ? std::max(1.0, sum / ranks) : 1.0;
  const auto name =
      core::format("{} of {} ranks on {} nodes", core::name_of(row.kind), row.shape.ranks, row.shape.nodes);
  const auto keep = [&](const char* what, const std::vector<double>& mine) {
    keep_samples(world, core::format("{} {}", what, name), row.bytes, mine, raw);
  };
  keep("product alone before", alone);
  keep("product beside", both.products);
  keep("mean of a burst alone of", std::vector<double>{quiet_each});
  keep("mean of a burst beside products of", std::vector<double>{both_each});
  return out;
}

/// Rows that the profile does not hold, small sizes first.
std::vector<cost::Interference> missing_rows(const std::vector<const GroupSet*>& sets,
                                             const InterferenceOptions& options,
                                             const cost::HardwareProfile& profile) {
  std::vector<cost::Interference> rows;
  for (const auto bytes : options.sizes) {
    for (const auto* set : sets) {
      const auto whole = elements_for(bytes, set->shape.ranks) * core::size_of(core::DType::f32);
      for (const auto kind : options.kinds) {
        const cost::Interference row{kind, set->shape, static_cast<double>(whole), 1, 1};
        const auto same = [&](const auto& r) {
          return r.kind == row.kind && r.shape == row.shape && r.bytes == row.bytes;
        };
        const auto& have = profile.interference;
        if (std::none_of(have.begin(), have.end(), same)) rows.push_back(row);
      }
    }
  }
  return rows;
}

void insert_sorted(cost::HardwareProfile& profile, const cost::Interference& row) {
  const auto before = [](const auto& a, const auto& b) {
    return std::tuple(a.kind, a.shape, a.bytes) < std::tuple(b.kind, b.shape, b.bytes);
  };
  auto& rows = profile.interference;
  rows.insert(std::upper_bound(rows.begin(), rows.end(), row, before), row);
}

}  // namespace

InterferenceCoverage measure_interference(comm::World& world, device::Device& device,
                                          kernels::Kernels& kernels, const std::vector<GroupSet>& sets,
                                          const InterferenceOptions& options, Budget& budget,
                                          cost::HardwareProfile& profile, store::RawTable& raw) {
  raw.x_unit = "B";
  raw.meaning = "matrix products and collectives, alone and at the same time, over bytes of the whole tensor";
  const auto chosen = largest_sets(sets);
  InterferenceCoverage coverage;
  coverage.wanted = static_cast<int64_t>(chosen.size() * options.kinds.size() * options.sizes.size());
  const auto rows = missing_rows(chosen, options, profile);
  coverage.measured = coverage.kept = coverage.wanted - static_cast<int64_t>(rows.size());
  if (rows.empty()) return coverage;
  const auto groups = live_groups(world, chosen, profile);
  double largest = 0;
  for (const auto& row : rows) largest = std::max(largest, row.bytes);
  InterferenceBench bench(world, device, kernels, options, static_cast<int64_t>(largest));
  for (const auto& row : rows) {
    budget.note(coverage.measured, coverage.wanted, "rows");
    const double left = budget.left();
    if (left <= 0) break;
    // A row has three bursts of one length, and the last of them may well take three times as long.
    const double fair = left / static_cast<double>(coverage.wanted - coverage.measured) / 6;
    insert_sorted(profile, measure_row(world, bench, groups.at(row.shape).get(), row,
                                       std::clamp(fair, 0.002, options.burst_seconds), raw));
    ++coverage.measured;
  }
  return coverage;
}

}  // namespace galvatron::measure
