#pragma once
// What a user or the batch system asks of a phase that looks often: signals, touch files and the time limit,
// without a look at the file system each time.

#include "app/job.hpp"

namespace galvatron::app {

class Requests {
 public:
  explicit Requests(Job& job) : job_(job) {}

  /// The strongest request so far of this rank; a stop stays asked. Local.
  runtime::Request look();
  /// Whether a save was asked for since the last call. Local.
  bool take_save();
  /// The strongest request of all ranks. Collective.
  runtime::Request agreed();

 private:
  Job& job_;
  runtime::Request strongest_ = runtime::Request::none;
  bool save_ = false;
  double looked_ = 0;  ///< seconds, of the wall clock
};

}  // namespace galvatron::app
