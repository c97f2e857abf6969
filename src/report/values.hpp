#pragma once
// Everything that a report shows, as plain values. Whoever reads the run folder fills it in as far as the
// folder knows; what is empty is left out of the page or said to be missing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/profile.hpp"
#include "plan/plan.hpp"
#include "spec/model.hpp"

namespace galvatron::report {

struct Fact {
  std::string name, value;
};

/// "4 ranks of a node", "8 ranks on 2 nodes".
std::string text_of(const cost::GroupShape& shape);

/// A measured collective with what turns its time into bus bandwidth.
struct Collective {
  std::string name;   ///< "all-reduce"
  std::string shape;  ///< "4 ranks on 2 nodes"
  double bus_factor = 1;
  cost::Curve curve;  ///< seconds over bytes of the whole tensor
};

/// A plan that the search weighed.
struct Candidate {
  std::string outline;
  double step_seconds = 0;        ///< predicted
  double samples_per_second = 0;  ///< predicted; 0: there is no such plan
  int64_t memory_bytes = 0;       ///< of the fullest rank
  double trial_seconds = 0;       ///< measured in a trial; 0 = not tried
  std::string remark;             ///< why it lost, or why there is none
};

/// Seconds of one section of the end table over the ranks, the whole attempt.
struct SectionRow {
  std::string name;
  double least = 0, mean = 0, most = 0;
};

/// What the end of an attempt tells.
struct Ending {
  int64_t steps = 0, resumed_from = 0;
  double step_seconds = 0;  ///< median
  double tokens_per_second = 0;
  int64_t peak_bytes = 0;                      ///< of the fullest process
  std::vector<int64_t> pipeline_rank_bytes{};  ///< of the fullest process of each pipeline rank
  std::vector<SectionRow> sections{};
};

/// One logged step.
struct Metric {
  int64_t step = 0;
  double loss = 0;
  std::optional<double> valid_loss;
  double step_seconds = 0;
};

struct Event {
  double time = 0;  ///< seconds since 1970
  int64_t step = 0;
  std::string kind;  ///< "attempt", "checkpoint", …
  std::string text;
};

enum class BarKind : uint8_t { forward, backward, once };

/// Something that a row of a timeline did.
struct Bar {
  BarKind kind = BarKind::once;
  int32_t micro = -1;
  double begin = 0, end = 0;  ///< seconds from the beginning of the step
};

struct TimelineRow {
  std::string name;
  std::vector<Bar> bars;
};

struct RunValues {
  std::string title;
  std::vector<Fact> head;
  std::string failure;  ///< why the run failed; empty otherwise
  std::optional<cost::HardwareProfile> hardware;
  std::vector<cost::Coverage> coverage;
  std::vector<Collective> collectives;
  std::vector<std::string> verdicts;
  std::vector<std::string> link_changes;  ///< since an earlier profile, a line each
  std::vector<std::vector<std::string>>
      counters;                  ///< per token, by layer and phase; the first row is the head
  std::string counters_missing;  ///< which and why; may be empty
  std::optional<spec::ModelSpec> model;
  std::optional<plan::Plan> plan;  ///< with `model`
  int64_t memory_limit = 0;        ///< bytes per rank; 0 = unknown
  std::vector<Candidate> candidates, restricted;
  std::string search_text;  ///< what the search said; may be empty
  std::optional<Ending> ending;
  std::vector<TimelineRow> measured_step;  ///< of the last traced step
  std::vector<Metric> metrics;
  int64_t metrics_left_out = 0;  ///< lines that were not read, spread evenly
  std::vector<Event> events;
  std::string deck_text;
};

}  // namespace galvatron::report
