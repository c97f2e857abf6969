#pragma once
// trace.json: what all ranks did in the last steps, in the Trace Event Format that Perfetto and
// chrome://tracing open. A process is a rank, its threads are compute and the communication beside it.

#include <filesystem>
#include <string>

#include "comm/world.hpp"
#include "core/log.hpp"
#include "plan/plan.hpp"
#include "runtime/clock.hpp"
#include "runtime/trace.hpp"
#include "spec/model.hpp"

namespace galvatron::runtime {

/// Which slices of a rank go into the file.
struct TraceWindow {
  enum class Detail { all, actions };

  int32_t first_step = 1;  ///< and everything after its beginning
  double zero = 0;         ///< of the file's time, on rank 0's clock
  Detail detail = Detail::all;
};

/// What a rank is called in the file.
struct TraceRank {
  int rank = 0;
  std::string host;
  const spec::ModelSpec& model;
};

/// The first step that every lane holds whole; one more than the last when there is none.
int32_t first_whole_step(const Trace& trace);

/// The rank's events, one JSON object a line, each with a comma before it. Slices of one thread are disjoint
/// or nested; times are in whole nanoseconds. A message's send and receive are joined by a flow event.
std::string trace_events(const Trace& trace, const TraceRank& who, const ClockLine& clock,
                         const TraceWindow& window);

/// Collective over the world, on CPU ranks. At most `steps` steps; less detail where many ranks would make
/// the file too large to open. Rank 0 writes; a disk that fails costs the trace and a warning. Without a
/// whole step there is no file.
class TraceWriter {
 public:
  explicit TraceWriter(comm::World& world);

  void write(const std::filesystem::path& file, const Trace& trace, int64_t steps,
             const spec::ModelSpec& model, core::Log& log);

 private:
  TraceWindow window_of(const Trace& trace, const ClockLine& clock, int64_t steps);

  comm::World& world_;
  std::unique_ptr<comm::Communicator> all_;
  ClockReading start_;
};

}  // namespace galvatron::runtime
