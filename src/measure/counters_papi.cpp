// Hardware events through PAPI. Events that the machine lacks are left out one by one; when none is left the
// software counters stand in.
#include <papi.h>

#include <array>
#include <utility>

#include "core/format.hpp"
#include "measure/counters.hpp"

namespace galvatron::measure {
namespace {

struct Event {
  int code;
  const char* name;
};

constexpr std::array events = {Event{PAPI_TOT_CYC, "cycles"}, Event{PAPI_TOT_INS, "instructions"},
                               Event{PAPI_FP_OPS, "floating point operations"},
                               Event{PAPI_L3_TCM, "last-level cache misses"}};

/// One event set; what could be added to it, and what could not.
class EventSet {
 public:
  EventSet() {
    if (PAPI_create_eventset(&set_) != PAPI_OK) set_ = PAPI_NULL;
    for (const auto& event : events) {
      const int code = set_ == PAPI_NULL ? PAPI_ENOEVST : PAPI_add_event(set_, event.code);
      if (code == PAPI_OK)
        names_.emplace_back(event.name);
      else
        missing_.push_back(core::format("{} ({})", event.name, PAPI_strerror(code)));
    }
  }
  ~EventSet() {
    if (set_ == PAPI_NULL) return;
    PAPI_cleanup_eventset(set_);
    PAPI_destroy_eventset(&set_);
  }
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;

  int set() const { return set_; }
  const std::vector<std::string>& names() const { return names_; }
  std::string missing() const { return core::join(missing_, ", "); }

 private:
  int set_ = PAPI_NULL;
  std::vector<std::string> names_;
  std::vector<std::string> missing_;
};

class PapiCounters final : public Counters {
 public:
  explicit PapiCounters(std::unique_ptr<EventSet> events)
      : events_(std::move(events)), software_(make_software_counters("")) {}

  void start() override {
    software_->start();
    running_ = PAPI_start(events_->set()) == PAPI_OK;
  }
  std::vector<Reading> stop() override {
    std::vector<long long> values(events_->names().size(), 0);
    const bool valid = running_ && PAPI_stop(events_->set(), values.data()) == PAPI_OK;
    running_ = false;
    std::vector<Reading> readings;
    for (size_t i = 0; valid && i < values.size(); ++i)
      readings.push_back({events_->names()[i], static_cast<double>(values[i])});
    for (auto& reading : software_->stop()) readings.push_back(std::move(reading));
    return readings;
  }
  std::string missing() const override { return events_->missing(); }

 private:
  std::unique_ptr<EventSet> events_;
  std::unique_ptr<Counters> software_;
  bool running_ = false;
};

}  // namespace

std::unique_ptr<Counters> make_counters() {
  if (PAPI_is_initialized() == PAPI_NOT_INITED) {
    const int version = PAPI_library_init(PAPI_VER_CURRENT);
    if (version != PAPI_VER_CURRENT)
      return make_software_counters(
          core::format("no hardware events: PAPI does not start (code {})", version));
  }
  auto set = std::make_unique<EventSet>();
  if (set->names().empty())
    return make_software_counters("no hardware events on this machine: " + set->missing());
  return std::make_unique<PapiCounters>(std::move(set));
}

}  // namespace galvatron::measure
