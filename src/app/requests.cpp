// Signals are asked about every time, files and clocks a few times a second.
#include "app/requests.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/training_state.hpp"

namespace galvatron::app {
namespace {

constexpr double look_every = 0.2;  // seconds
/// What ending a phase and writing its file may take.
constexpr double last_seconds = 3;

}  // namespace

runtime::Request Requests::look() {
  const bool stop = job_.context().ranks->signals().stop_requested();
  const double now = runtime::wall_clock();
  if (!stop && std::abs(now - looked_) < look_every) return strongest_;
  looked_ = now;
  auto request = job_.take_requests();
  if (job_.seconds_left() < last_seconds) request = runtime::Request::stop_requeue;
  if (request == runtime::Request::save) save_ = true;
  strongest_ = std::max(strongest_, request == runtime::Request::save ? runtime::Request::none : request);
  return strongest_;
}

bool Requests::take_save() {
  return std::exchange(save_, false);
}

runtime::Request Requests::agreed() {
  auto value = static_cast<int64_t>(strongest_);
  job_.world().all_reduce(std::span(&value, 1), core::ReduceOp::max);
  return static_cast<runtime::Request>(value);
}

}  // namespace galvatron::app
