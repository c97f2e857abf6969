// Comparing what two sides wrote down.
#include "comm/dry/ledger.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace galvatron::comm::dry {
namespace {

using CallsByMember = std::map<int, std::vector<Call>>;

bool is_message(const Call& call) {
  return call.kind == CallKind::send || call.kind == CallKind::receive || call.kind == CallKind::block_send ||
         call.kind == CallKind::block_receive;
}

std::vector<Call> select(const CallsByMember& calls, int member,
                         const std::function<bool(const Call&)>& wanted) {
  std::vector<Call> chosen;
  if (const auto found = calls.find(member); found != calls.end())
    std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(chosen), wanted);
  return chosen;
}

std::string call_text(const std::vector<Call>& calls, size_t k) {
  return k < calls.size() ? calls[k].to_string() : "nothing";
}

/// The first place where `fits` fails or one side has ended.
std::optional<size_t> first_difference(const std::vector<Call>& a, const std::vector<Call>& b,
                                       const std::function<bool(const Call&, const Call&)>& fits) {
  const auto shorter = std::min(a.size(), b.size());
  for (size_t k = 0; k < shorter; ++k)
    if (!fits(a[k], b[k])) return k;
  if (a.size() != b.size()) return shorter;
  return std::nullopt;
}

void check_collectives(const Group& group, const CallsByMember& calls, const std::vector<int>& present) {
  const auto collective = [](const Call& call) { return !is_message(call); };
  for (size_t i = 1; i < present.size(); ++i) {
    const auto a = select(calls, present[0], collective);
    const auto b = select(calls, present[i], collective);
    if (const auto k = first_difference(a, b, std::equal_to<Call>())) {
      throw core::InternalError(
          core::format("communicator '{}', collective {}: rank {} calls {}, rank {} calls {}", group.name, *k,
                       group.members[static_cast<size_t>(present[0])], call_text(a, *k),
                       group.members[static_cast<size_t>(present[i])], call_text(b, *k)));
    }
  }
}

/// The calls of one kind with one peer, by channel and then in the order made.
std::vector<Call> side_of(const CallsByMember& calls, int member, CallKind kind, int peer) {
  auto chosen =
      select(calls, member, [&](const Call& call) { return call.kind == kind && call.peer == peer; });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const Call& a, const Call& b) { return a.channel < b.channel; });
  return chosen;
}

void check_messages(const Group& group, const CallsByMember& calls, int from, int to, CallKind send,
                    CallKind receive) {
  const auto sends = side_of(calls, from, send, to);
  const auto receives = side_of(calls, to, receive, from);
  const auto meets = [](const Call& a, const Call& b) {
    return a.bytes == b.bytes && a.dtype == b.dtype && a.channel == b.channel;
  };
  if (const auto k = first_difference(sends, receives, meets)) {
    throw core::InternalError(core::format(
        "communicator '{}', message {} from rank {} to rank {}: the sender calls {}, the receiver calls {}",
        group.name, *k, group.members[static_cast<size_t>(from)], group.members[static_cast<size_t>(to)],
        call_text(sends, *k), call_text(receives, *k)));
  }
}

}  // namespace

std::string_view to_string(CallKind kind) {
  constexpr std::array<std::string_view, 12> names = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast",  "barrier",
      "shift",      "exchange",   "send",           "receive",    "block_send", "block_receive"};
  return names.at(static_cast<size_t>(kind));
}

std::string Call::to_string() const {
  auto text = core::format("{} of {} bytes {}", dry::to_string(kind), bytes, core::name(dtype));
  if (kind == CallKind::all_reduce) text += op == ReduceOp::sum ? " (sum)" : " (max)";
  if (peer >= 0) text += core::format(" (member {})", peer);
  if (kind == CallKind::block_send || kind == CallKind::block_receive) {
    text += core::format(" in exchange {}", channel);
  } else if (channel != 0) {
    text += core::format(" on channel {}", channel);
  }
  return text;
}

void Ledger::record(const Group& group, const Call& call) {
  auto& record = records_.try_emplace(group.name, Record{group, {}}).first->second;
  record.calls[group.index].push_back(call);
  by_rank_[group.members[static_cast<size_t>(group.index)]].push_back(call);
}

void Ledger::check(const std::vector<int>& absent_ranks) const {
  for (const auto& [name, record] : records_) {
    std::vector<int> present;
    for (int member = 0; member < record.group.size(); ++member) {
      const auto rank = record.group.members[static_cast<size_t>(member)];
      if (std::find(absent_ranks.begin(), absent_ranks.end(), rank) == absent_ranks.end())
        present.push_back(member);
    }
    check_collectives(record.group, record.calls, present);
    for (const int from : present)
      for (const int to : present)
        if (from != to) {
          check_messages(record.group, record.calls, from, to, CallKind::send, CallKind::receive);
          check_messages(record.group, record.calls, from, to, CallKind::block_send, CallKind::block_receive);
        }
  }
}

const std::vector<Call>& Ledger::calls(int rank) const {
  static const std::vector<Call> none;
  const auto found = by_rank_.find(rank);
  return found == by_rank_.end() ? none : found->second;
}

}  // namespace galvatron::comm::dry
