// The ledger accepts every job whose two sides fit and refuses every job in which one call was changed,
// whichever it was.
#include "comm/dry/ledger.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "comm/dry/dry_world.hpp"
#include "core/errors.hpp"

namespace galvatron::comm {
namespace {

device::TensorView shape_only(int64_t count) {
  return device::vector(nullptr, core::DType::f32, count);
}

/// One step of a job: a collective of all ranks, or a message from one to another.
struct Event {
  int kind = 0;  // 0 all_reduce, 1 all_to_all, 2 barrier, 3 message, 4 shift, 5 exchange of one block
  int64_t count = 0;
  int from = 0;
  int to = 0;
  int channel = 0;
};

std::vector<Event> random_job(std::mt19937& random, int ranks) {
  std::vector<Event> job(40);
  for (auto& event : job) {
    event.kind = static_cast<int>(random() % 6);
    event.count = static_cast<int64_t>(1 + random() % 50) * ranks;
    event.from = static_cast<int>(random() % static_cast<unsigned>(ranks));
    event.to = (event.from + 1 + static_cast<int>(random() % static_cast<unsigned>(ranks - 1))) % ranks;
    event.channel = static_cast<int>(random() % 3);
  }
  return job;
}

void play(Communicator& group, const Event& event) {
  const auto data = shape_only(event.count);
  if (event.kind == 0) group.all_reduce(data, ReduceOp::sum);
  if (event.kind == 1) group.all_to_all(data, data);
  if (event.kind == 2) group.barrier();
  if (event.kind == 3 && group.index() == event.from) group.send(data, event.to, event.channel).wait();
  if (event.kind == 3 && group.index() == event.to) group.receive(data, event.from, event.channel).wait();
  if (event.kind == 4) group.shift(data, data).wait();
  if (event.kind != 5) return;
  const Block send{data, event.to}, receive{data, event.from};
  const std::span<const Block> none;
  group.exchange(group.index() == event.from ? std::span(&send, 1) : none,
                 group.index() == event.to ? std::span(&receive, 1) : none);
}

bool concerns(const Event& event, int rank) {
  return event.kind != 3 || event.from == rank || event.to == rank;
}

enum class Change { none, leave_out, other_size };

/// Plays `job` on all pretended ranks; rank `odd` changes event `which`.
std::unique_ptr<dry::Ledger> rehearse(const std::vector<Event>& job, int ranks, int odd, size_t which,
                                      Change change) {
  auto ledger = std::make_unique<dry::Ledger>();
  std::vector<int> everybody;
  for (int r = 0; r < ranks; ++r) everybody.push_back(r);
  for (int r = 0; r < ranks; ++r) {
    const auto world = dry::make_world(r, ranks, 1, *ledger);
    const auto group = world->make_communicator(everybody, TrafficClass::layer);
    for (size_t e = 0; e < job.size(); ++e) {
      auto event = job[e];
      if (r == odd && e == which && change == Change::leave_out) continue;
      if (r == odd && e == which && change == Change::other_size) event.count += ranks;
      play(*group, event);
    }
  }
  return ledger;
}

TEST(Ledger, AcceptsFittingJobsAndRefusesEveryChangedCall) {
  const unsigned seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const int ranks : {2, 3, 6}) {
    const auto job = random_job(random, ranks);
    EXPECT_NO_THROW(rehearse(job, ranks, 0, 0, Change::none)->check());
    for (size_t e = 0; e < job.size(); ++e) {
      const int odd = static_cast<int>(random() % static_cast<unsigned>(ranks));
      if (!concerns(job[e], odd)) continue;
      EXPECT_THROW(rehearse(job, ranks, odd, e, Change::leave_out)->check(), core::InternalError)
          << "event " << e << " left out by rank " << odd << " of " << ranks;
      if (job[e].kind == 2) continue;                                            // a barrier has no size
      if (job[e].kind == 5 && odd != job[e].from && odd != job[e].to) continue;  // nor has this one's part
      EXPECT_THROW(rehearse(job, ranks, odd, e, Change::other_size)->check(), core::InternalError)
          << "event " << e << " of other size on rank " << odd << " of " << ranks;
    }
  }
}

/// The text of the refusal; empty when accepted.
std::string refusal(const dry::Ledger& ledger, const std::vector<int>& absent = {}) {
  try {
    ledger.check(absent);
  } catch (const core::InternalError& error) {
    return error.what();
  }
  return {};
}

TEST(Ledger, NamesTheMessageThatDoesNotFit) {
  dry::Ledger ledger;
  // Group order differs from rank order, so that members and ranks cannot be mixed up.
  const auto sender = dry::make_world(5, 6, 1, ledger)->make_communicator({5, 2}, TrafficClass::pipeline);
  const auto receiver = dry::make_world(2, 6, 1, ledger)->make_communicator({5, 2}, TrafficClass::pipeline);
  sender->send(shape_only(8), 1);
  receiver->receive(shape_only(8), 0);
  sender->send(shape_only(8), 1);
  receiver->receive(shape_only(9), 0);
  const auto text = refusal(ledger);
  EXPECT_NE(
      text.find(
          "communicator 'pipeline 5,2', message 1 from rank 5 to rank 2: the sender calls send of 32 bytes "
          "f32 (member 1), the receiver calls receive of 36 bytes f32 (member 0)"),
      std::string::npos)
      << text;
}

TEST(Ledger, NamesTheMemberThatDoesNotCome) {
  dry::Ledger ledger;
  const auto a = dry::make_world(0, 2, 1, ledger)->make_communicator({0, 1}, TrafficClass::gradient);
  a->all_reduce(shape_only(4), ReduceOp::sum);
  const auto text = refusal(ledger);
  EXPECT_NE(
      text.find(
          "communicator 'gradient 0,1', collective 0: rank 0 calls all_reduce of 16 bytes f32 (sum), rank 1 "
          "calls nothing"),
      std::string::npos)
      << text;
}

TEST(Ledger, DoesNotMissRanksThatWereNotRehearsed) {
  dry::Ledger ledger;
  const auto a = dry::make_world(0, 3, 1, ledger)->make_communicator({0, 1, 2}, TrafficClass::layer);
  const auto b = dry::make_world(1, 3, 1, ledger)->make_communicator({0, 1, 2}, TrafficClass::layer);
  for (auto* group : {a.get(), b.get()}) group->all_reduce(shape_only(4), ReduceOp::sum);
  a->send(shape_only(1), 2);
  EXPECT_EQ(refusal(ledger, {2}), "");
  EXPECT_NE(refusal(ledger), "");
}

TEST(Ledger, ComparesEveryChannelByItself) {
  for (const int wrong : {0, 1}) {
    dry::Ledger ledger;
    const auto a = dry::make_world(0, 2, 1, ledger)->make_communicator({0, 1}, TrafficClass::pipeline);
    const auto b = dry::make_world(1, 2, 1, ledger)->make_communicator({0, 1}, TrafficClass::pipeline);
    a->send(shape_only(3), 1, 1);
    a->send(shape_only(4), 1, 2);
    a->send(shape_only(5), 1, 1);
    b->receive(shape_only(4), 0, 2);
    b->receive(shape_only(3), 0, 1);
    b->receive(shape_only(5), 0, 1 + wrong);
    const auto text = refusal(ledger);
    EXPECT_EQ(text.empty(), wrong == 0) << text;
    if (wrong == 1) {
      EXPECT_NE(text.find("on channel 2"), std::string::npos) << text;
    }
  }
}

TEST(Ledger, NamesTheBlockThatNobodyReceives) {
  dry::Ledger ledger;
  const auto a = dry::make_world(0, 2, 1, ledger)->make_communicator({0, 1}, TrafficClass::layer);
  const auto b = dry::make_world(1, 2, 1, ledger)->make_communicator({0, 1}, TrafficClass::layer);
  const Block send{shape_only(3), 1};
  for (auto* group : {a.get(), b.get()}) group->exchange({}, {});
  a->exchange(std::span(&send, 1), {});
  b->exchange({}, {});
  const auto text = refusal(ledger);
  EXPECT_NE(
      text.find("the sender calls block_send of 12 bytes f32 (member 1) in exchange 1, the receiver calls "
                "nothing"),
      std::string::npos)
      << text;
}

TEST(Ledger, KeepsTrafficClassesApart) {
  dry::Ledger ledger;
  const auto worlds = {dry::make_world(0, 2, 1, ledger), dry::make_world(1, 2, 1, ledger)};
  for (const auto& world : worlds) {
    const auto layer = world->make_communicator({0, 1}, TrafficClass::layer);
    const auto gradient = world->make_communicator({0, 1}, TrafficClass::gradient);
    // The two ranks interleave their two streams differently, which is allowed.
    if (world->rank() == 0) layer->barrier();
    gradient->all_reduce(shape_only(3), ReduceOp::sum);
    if (world->rank() == 1) layer->barrier();
  }
  EXPECT_EQ(refusal(ledger), "");
}

}  // namespace
}  // namespace galvatron::comm
