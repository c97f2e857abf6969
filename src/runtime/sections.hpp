#pragma once
// Where the seconds of a rank go: a fixed list of sections, added up while it works, shown at the end of a
// run.

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace galvatron::runtime {

enum class Section : uint8_t {
  profile,
  search,
  forward,
  backward,
  tensor_parallel,
  pipeline_wait,
  gradient_sync,
  optimizer,
  data_wait,
  evaluate,
  checkpoint,
};
inline constexpr size_t section_count = 11;

std::string_view name_of(Section section);

/// Seconds per section.
class SectionTimes {
 public:
  void add(Section section, double seconds) { seconds_[static_cast<size_t>(section)] += seconds; }
  double of(Section section) const { return seconds_[static_cast<size_t>(section)]; }

 private:
  std::array<double, section_count> seconds_{};
};

/// Seconds since some fixed moment.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Adds the life of this object to a section.
class Timed {
 public:
  Timed(SectionTimes& times, Section section) : times_(times), section_(section), begin_(now()) {}
  ~Timed() { times_.add(section_, now() - begin_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  SectionTimes& times_;
  Section section_;
  double begin_;
};

}  // namespace galvatron::runtime
