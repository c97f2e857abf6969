// The search inputs of 2022 as far as their rules are known: data parallelism, replicated or sharded per
// layer. Its layer time is that of Galvatron 3.0 times 1.1; its states have another padding.

#include "search/galvatron3/stage_path.hpp"
#include "support/galvatron3.hpp"

namespace galvatron::test::galvatron3 {
namespace {

namespace s3 = search::galvatron3;

constexpr double final_factor = 1.1;
constexpr int64_t reserved_mb = 1024;

struct Profile {
  double parameter_mb = 0, forward_ms = 0, activation_mb = 0, other_states_mb = 0, other_activation_mb = 0;
  int64_t seq = 0, hidden = 0;
};

Profile profile_named(const std::string& name) {
  for (const auto& row : rows("../galvatron2022/models.txt"))
    if (row.at(0) == name)
      return {std::stod(row[1]),  std::stod(row[2]) / std::stod(row[3]),
              std::stod(row[4]),  std::stod(row[8]),
              std::stod(row[9]),  std::stoll(row[10]),
              std::stoll(row[11])};
  ADD_FAILURE() << name;
  return {};
}

g3::Rules rules_of(const Profile& profile, int64_t layers) {
  g3::Hardware hardware;
  hardware.consecutive.values = {{1, 0}, {8, 0.2153}};
  hardware.overlap = 1.3;
  g3::ModelTables model;
  model.layers = layers;
  model.hidden = profile.hidden;
  model.seq = profile.seq;
  model.layer_ms = {profile.forward_ms, 0};
  model.parameter_mb = profile.parameter_mb;
  g3::Settings settings;
  settings.world = 8;
  settings.precision = g3::Precision::full;
  return {hardware, model, settings};
}

struct Best {
  double throughput = 0;
  int64_t batch = 0;
};

/// Over batches 8, 16, … until nothing fits.
Best search(const Profile& profile, int64_t layers, int64_t gigabytes, bool only_sharded) {
  const auto rules = rules_of(profile, layers);
  Best best;
  for (int64_t batch = 8;; batch += 8) {
    const auto samples = static_cast<double>(batch) / 8;
    const double other = profile.other_states_mb + profile.other_activation_mb * samples;
    s3::PathProblem problem;
    problem.layers = layers;
    problem.budget = 1024 * gigabytes - reserved_mb - static_cast<int64_t>(std::ceil(other));
    for (const auto type : {g3::DpType::zero3, g3::DpType::ddp}) {
      if (only_sharded && type == g3::DpType::ddp) continue;
      g3::Strategy s;
      s.dp = 8;
      s.type = type;
      const double states = 4 * profile.parameter_mb * (type == g3::DpType::ddp ? 1 : 1.0 / 8 + 0.025);
      problem.choices.push_back({rules.layer_seconds(s, {batch, 1}).with * final_factor,
                                 static_cast<int64_t>(std::ceil(states + profile.activation_mb * samples))});
    }
    problem.between.assign(problem.choices.size() * problem.choices.size(), 0);
    s3::PathStatistics statistics;
    const auto path = s3::shortest_path(problem, statistics);
    if (!path) return best;
    const double throughput = static_cast<double>(batch) / path->seconds;
    if (throughput > best.throughput) best = {throughput, batch};
  }
}

/// Its optima that are such plans: to the hundredth that was printed (cut or rounded).
bool is_settled(const std::vector<std::string>& row) {
  const auto name = row[0] + " " + row[1] + " " + row[2] + " " + row[3];
  return name == "ViT-Huge 32 16 any" || name == "ViT-Huge 32 20 any" || name == "ViT-Huge 48 20 any" ||
         name == "ViT-Huge 32 16 sharded" || name == "ViT-Huge 32 20 sharded";
}

TEST(Galvatron2022, FindsTheRecordedOptimaOfDataParallelism) {
  int settled = 0;
  for (const auto& row : rows("../galvatron2022/results.txt")) {
    const bool only_sharded = row.at(3) == "sharded";
    const auto best =
        search(profile_named(row.at(0)), std::stoll(row.at(1)), std::stoll(row.at(2)), only_sharded);
    const auto name = row[0] + "-" + row[1] + " " + row[2] + " GB " + row[3];
    const double recorded = std::stod(row.at(4));
    if (is_settled(row)) {
      ++settled;
      EXPECT_NEAR(best.throughput, recorded, 0.01) << name;
      if (row.at(5) != "0") {
        EXPECT_EQ(best.batch, std::stoll(row.at(5))) << name;
      }
    } else if (name != "BERT-Huge-32 20 GB any" && name != "BERT-Huge-32 20 GB sharded") {
      // A part of the plans cannot do better than all of them.
      EXPECT_LT(best.throughput, recorded) << name;
    }
  }
  EXPECT_EQ(settled, 5);
}

}  // namespace
}  // namespace galvatron::test::galvatron3
