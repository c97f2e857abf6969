// Transition programs of all ranks of a stage, interpreted together for every pair of layouts: activations
// arrive where the new layout wants them, gradients come back, nothing else is touched. The payload is the
// token's own index.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "program/transition.hpp"
#include "support/layouts.hpp"

namespace galvatron::program {
namespace {

constexpr int64_t positions = 48, cols = 2;
constexpr int64_t untouched = -1;

using testing::splits_of;
using testing::tokens_of;

/// One element per row: all columns of a row move together.
using Rows = std::vector<int64_t>;

/// The ranks of a stage: their programs and what lies in their values.
class Stage {
 public:
  Stage(const spec::TokenLayout& from, const spec::TokenLayout& to) {
    for (int64_t rank = 0; rank < from.strategy.ranks(); ++rank) {
      programs_.push_back(transition({from, to, rank, cols, core::DType::f32}));
      values_.emplace_back();
      for (const auto& value : programs_.back().values)
        values_.back().emplace_back(static_cast<size_t>(value.rows), untouched);
    }
  }

  const Program& program(int64_t rank) const { return programs_[static_cast<size_t>(rank)]; }
  Rows& rows(int64_t rank, ValueId id) { return values_[static_cast<size_t>(rank)][static_cast<size_t>(id)]; }

  /// Before the exchange, the exchange of all ranks, after it.
  void play(Phase phase) {
    for (int64_t rank = 0; rank < size(); ++rank)
      copies(rank, phase, [](size_t at, size_t exchange) { return at < exchange; });
    std::map<std::pair<int64_t, int64_t>, Rows> messages;
    for (int64_t rank = 0; rank < size(); ++rank) send(rank, phase, messages);
    for (int64_t rank = 0; rank < size(); ++rank) receive(rank, phase, messages);
    EXPECT_TRUE(messages.empty()) << messages.size() << " messages that nobody receives";
    for (int64_t rank = 0; rank < size(); ++rank)
      copies(rank, phase, [](size_t at, size_t exchange) { return at > exchange; });
  }

 private:
  int64_t size() const { return static_cast<int64_t>(programs_.size()); }

  size_t exchange_of(int64_t rank, Phase phase) const {
    const auto& steps = program(rank).steps(phase);
    size_t found = steps.size();
    for (size_t at = 0; at < steps.size(); ++at)
      if (steps[at].kind == StepKind::collective) {
        EXPECT_EQ(found, steps.size()) << "rank " << rank << " exchanges twice";
        found = at;
      }
    EXPECT_LT(found, steps.size()) << "rank " << rank << " does not take part";
    return found;
  }

  template <class When>
  void copies(int64_t rank, Phase phase, const When& when) {
    const auto exchange = exchange_of(rank, phase);
    const auto& steps = program(rank).steps(phase);
    for (size_t at = 0; at < steps.size(); ++at) {
      if (!when(at, exchange)) continue;
      ASSERT_EQ(steps[at].kind, StepKind::copy);
      write(rank, steps[at].writes.front(), read(rank, steps[at].reads.front()));
    }
  }

  void send(int64_t rank, Phase phase, std::map<std::pair<int64_t, int64_t>, Rows>& messages) {
    const auto& step = program(rank).steps(phase)[exchange_of(rank, phase)];
    const auto& peers = std::get<CollectiveAttributes>(step.attributes).to;
    ASSERT_EQ(peers.size(), step.reads.size());
    for (size_t i = 0; i < peers.size(); ++i) messages[{rank, peers[i]}] = read(rank, step.reads[i]);
  }

  void receive(int64_t rank, Phase phase, std::map<std::pair<int64_t, int64_t>, Rows>& messages) {
    const auto& step = program(rank).steps(phase)[exchange_of(rank, phase)];
    const auto& peers = std::get<CollectiveAttributes>(step.attributes).from;
    ASSERT_EQ(peers.size(), step.writes.size());
    for (size_t i = 0; i < peers.size(); ++i) {
      const auto message = messages.find({peers[i], rank});
      ASSERT_NE(message, messages.end()) << "rank " << peers[i] << " sends nothing to " << rank;
      ASSERT_EQ(static_cast<int64_t>(message->second.size()), step.writes[i].rows);
      write(rank, step.writes[i], message->second);
      messages.erase(message);
    }
  }

  Rows read(int64_t rank, const Operand& operand) {
    EXPECT_EQ(operand.cols, cols);
    const auto begin = rows(rank, operand.value).begin() + operand.row;
    return {begin, begin + operand.rows};
  }

  void write(int64_t rank, const Operand& operand, const Rows& from) {
    ASSERT_EQ(static_cast<int64_t>(from.size()), operand.rows);
    auto& target = rows(rank, operand.value);
    for (int64_t i = 0; i < operand.rows; ++i) {
      auto& place = target[static_cast<size_t>(operand.row + i)];
      EXPECT_EQ(place, untouched) << "row " << operand.row + i << " of '"
                                  << program(rank).value(operand.value).name << "' is written twice";
      place = from[static_cast<size_t>(i)];
    }
  }

  std::vector<Program> programs_;
  std::vector<std::vector<Rows>> values_;
};

class Transitions : public ::testing::TestWithParam<int32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Transitions, ::testing::Values(2, 3, 4, 6, 8));

TEST_P(Transitions, MoveActivationsThereAndGradientsBack) {
  for (const int64_t samples : {int64_t{GetParam()}, int64_t{GetParam()} + 3})
    for (const auto& a : splits_of(GetParam()))
      for (const auto& b : splits_of(GetParam())) {
        SCOPED_TRACE(to_string(a) + " → " + to_string(b) + ", " + std::to_string(samples) + " samples");
        const spec::TokenLayout from{samples, positions, a}, to{samples, positions, b};
        Stage stage(from, to);
        for (int64_t rank = 0; rank < GetParam(); ++rank) {
          stage.rows(rank, stage.program(rank).input) = tokens_of(from, rank);
          stage.rows(rank, stage.program(rank).output_gradient) = tokens_of(to, rank);
        }
        stage.play(Phase::forward);
        stage.play(Phase::backward);
        for (int64_t rank = 0; rank < GetParam(); ++rank) {
          const auto& program = stage.program(rank);
          ASSERT_EQ(stage.rows(rank, program.output), tokens_of(to, rank)) << "rank " << rank;
          ASSERT_EQ(stage.rows(rank, program.input_gradient), tokens_of(from, rank)) << "rank " << rank;
        }
      }
}

TEST(TransitionProgram, RowsThatLieTogetherAreNotPacked) {
  // One sample each to half of both samples each: every message is one run, so nothing is copied but what
  // stays.
  const auto program = transition({{2, 8, {.dp = 2}}, {2, 8, {.tp = 2}}, 0, 16, core::DType::f32});
  EXPECT_EQ(program.memory.work_bytes, 0);
  EXPECT_EQ(program.steps(Phase::forward).size(), 2u);
  EXPECT_EQ(program.memory.saved_bytes, 0) << "a transition keeps nothing for backward";
  EXPECT_EQ(program.memory.persistent_bytes(), 0);
  // Two samples each: the halves that leave lie apart.
  const auto packed = transition({{4, 8, {.dp = 2}}, {4, 8, {.tp = 2}}, 0, 16, core::DType::f32});
  EXPECT_EQ(packed.memory.work_bytes, 8 * 16 * 4) << "eight rows to send; those received lie together";
}

}  // namespace
}  // namespace galvatron::program
