// The ranks of a job run the same binary on the same kind of machine, so the bytes of a double travel as they
// are.
#include "measure/gather.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/errors.hpp"
#include "device/host_window.hpp"

namespace galvatron::measure {

std::vector<std::vector<double>> gather_numbers(comm::World& world, std::span<const double> mine) {
  std::string text(mine.size_bytes(), '\0');
  if (!mine.empty()) std::memcpy(text.data(), mine.data(), mine.size_bytes());
  std::vector<std::vector<double>> out;
  for (const auto& bytes : world.all_gather(text)) {
    auto& numbers = out.emplace_back(bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  }
  return out;
}

double largest_of(comm::World& world, double mine) {
  world.all_reduce(std::span<double>(&mine, 1), comm::ReduceOp::max);
  return mine;
}

void keep_samples(comm::World& world, const std::string& of, double x, std::span<const double> mine,
                  store::RawTable& raw) {
  auto all = gather_numbers(world, mine);
  for (size_t r = 0; r < all.size(); ++r)
    raw.series.push_back({of, x, static_cast<int32_t>(r), std::move(all[r])});
}

std::vector<std::vector<double>> gather_to_first(comm::World& world, comm::Communicator& comm,
                                                 device::Device& device, std::span<const double> mine) {
  constexpr int64_t chunk = 1 << 20;  // numbers
  GALV_ASSERT(comm.size() == world.size(), comm.size(), world.size());
  const auto counts = world.all_gather(static_cast<int64_t>(mine.size()));
  const auto stream = device.make_stream();
  device::HostWindow window(device, *stream);
  const device::Buffer buffer(device, chunk * static_cast<int64_t>(sizeof(double)));
  const auto bytes_of = [](int64_t numbers) { return numbers * static_cast<int64_t>(sizeof(double)); };
  const auto view = [&](int64_t numbers) {
    return device::vector(buffer.data(), core::DType::u8, bytes_of(numbers));
  };
  if (world.rank() != 0) {
    for (int64_t at = 0; at < counts[static_cast<size_t>(world.rank())]; at += chunk) {
      const auto part = std::min(chunk, static_cast<int64_t>(mine.size()) - at);
      std::memcpy(window.edit(buffer.data(), bytes_of(part)).data(), mine.data() + at,
                  static_cast<size_t>(bytes_of(part)));
      window.put_back();
      comm.send(view(part), 0).wait();
    }
    return {};
  }
  std::vector<std::vector<double>> out = {{mine.begin(), mine.end()}};
  for (int from = 1; from < world.size(); ++from) {
    auto& numbers = out.emplace_back(static_cast<size_t>(counts[static_cast<size_t>(from)]));
    for (int64_t at = 0; at < static_cast<int64_t>(numbers.size()); at += chunk) {
      const auto part = std::min(chunk, static_cast<int64_t>(numbers.size()) - at);
      comm.receive(view(part), from).wait();
      std::memcpy(numbers.data() + at, window.look(buffer.data(), bytes_of(part)).data(),
                  static_cast<size_t>(bytes_of(part)));
    }
  }
  return out;
}

}  // namespace galvatron::measure
