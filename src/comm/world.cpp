// How ranks agree on a failure. It needs nothing but the other calls of World, so it is the same for every
// backend.
#include "comm/world.hpp"

#include <exception>
#include <new>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm {
namespace {

struct Failure {
  core::ExitCode code;
  std::string text;
};

/// What `body` threw, if it threw.
std::optional<Failure> outcome_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const core::Error& error) {
    return Failure{error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{core::ExitCode::out_of_memory, "out of memory"};
  } catch (const std::exception& error) {
    return Failure{core::ExitCode::internal, error.what()};
  } catch (...) {
    return Failure{core::ExitCode::internal, "an exception of unknown type"};
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(TrafficClass traffic) {
  switch (traffic) {
    case TrafficClass::layer:
      return "layer";
    case TrafficClass::gradient:
      return "gradient";
    case TrafficClass::pipeline:
      return "pipeline";
  }
  return "unknown";
}

void World::agree(std::string_view what, const std::function<void()>& body) {
  const auto failure = outcome_of(body);
  int64_t failures = failure ? 1 : 0;
  all_reduce(std::span(&failures, 1), ReduceOp::sum);
  if (failures == 0) return;

  // The first failing rank has the greatest distance to the end.
  int64_t distance = failure ? size() - rank() : 0;
  all_reduce(std::span(&distance, 1), ReduceOp::max);
  const int first = size() - static_cast<int>(distance);
  int64_t code = failure && rank() == first ? static_cast<int64_t>(failure->code) : 0;
  all_reduce(std::span(&code, 1), ReduceOp::max);
  const auto text = broadcast(failure && rank() == first ? failure->text : std::string(), first);
  throw core::AgreedError(static_cast<core::ExitCode>(code), first, host_of(node_of(first)),
                          what.empty() ? text : core::format("{}: {}", what, text), failures - 1);
}

}  // namespace galvatron::comm
