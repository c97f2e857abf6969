// The sender leads: it announces how many iterations follow, 0 ends the point. With Check::each the receiver
// says when it is ready, so that filling and checking never count as the link's time.
#include "measure/ping.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/errors.hpp"
#include "measure/budget.hpp"

namespace galvatron::measure {
namespace {

constexpr int64_t token_bytes = 8;

comm::TensorView bytes_view(const device::Buffer& buffer, int64_t bytes) {
  return device::vector(buffer.data(), core::DType::u8, bytes);
}

}  // namespace

PingBench::PingBench(comm::Communicator& comm, device::Device& device, int64_t largest)
    : comm_(comm),
      stream_(device.make_stream()),
      window_(device, *stream_),
      payload_(device, std::max(largest, token_bytes)),
      token_(device, token_bytes) {
  GALV_ASSERT(largest > 0, largest);
}

void PingBench::tell(int peer, int64_t word) {
  std::memcpy(window_.edit(token_.data(), token_bytes).data(), &word, sizeof word);
  window_.put_back();
  comm_.send(bytes_view(token_, token_bytes), peer).wait();
}

int64_t PingBench::hear(int peer) {
  int64_t word = 0;
  comm_.receive(bytes_view(token_, token_bytes), peer).wait();
  std::memcpy(&word, window_.look(token_.data(), token_bytes).data(), sizeof word);
  return word;
}

void PingBench::fill(const Message& message) {
  fill_payload(window_.edit(payload_.data(), message.bytes), message);
  window_.put_back();
}

void PingBench::doze(int peer) {
  constexpr auto nap = std::chrono::microseconds(200);
  auto pending = comm_.receive(bytes_view(token_, token_bytes), peer);
  while (!pending.test()) std::this_thread::sleep_for(nap);
}

PingResult PingBench::send(int to, int64_t bytes, Check check, const SampleRule& rule) {
  const int from = comm_.members()[static_cast<size_t>(comm_.index())];
  const int peer_rank = comm_.members()[static_cast<size_t>(to)];
  const auto payload = bytes_view(payload_, bytes);
  Sampler sampler(rule);
  int64_t iteration = 0;
  std::vector<double> batch;
  for (auto count = sampler.next_batch(); count > 0; count = sampler.next_batch()) {
    const double batch_begin = now_seconds();
    tell(to, count);
    batch.clear();
    // The message that is looked at bears the number of its iteration.
    if (check == Check::last) fill({from, peer_rank, bytes, iteration + count - 1});
    for (int64_t i = 0; i < count; ++i, ++iteration) {
      if (check == Check::each) {
        fill({from, peer_rank, bytes, iteration});
        hear(to);
      }
      const double begin = now_seconds();
      comm_.send(payload, to).wait();
      hear(to);
      batch.push_back(now_seconds() - begin);
    }
    sampler.add(batch, now_seconds() - batch_begin);
  }
  tell(to, 0);
  return {sampler.samples(), std::nullopt, 0};
}

PingResult PingBench::receive(int from, int64_t bytes, Check check) {
  const int to = comm_.members()[static_cast<size_t>(comm_.index())];
  const int peer_rank = comm_.members()[static_cast<size_t>(from)];
  const auto payload = bytes_view(payload_, bytes);
  PingResult result;
  int64_t iteration = 0;
  for (auto count = hear(from); count > 0; count = hear(from)) {
    for (int64_t i = 0; i < count; ++i, ++iteration) {
      auto arriving = comm_.receive(payload, from);
      if (check == Check::each) tell(from, 0);
      arriving.wait();
      tell(from, 0);
      if (result.wrong || (check == Check::last && i + 1 < count)) continue;
      const Message message{peer_rank, to, bytes, iteration};
      if (const auto byte = find_mismatch(window_.look(payload_.data(), bytes), message)) {
        result.wrong = message;
        result.wrong_byte = *byte;
      }
    }
  }
  return result;
}

}  // namespace galvatron::measure
