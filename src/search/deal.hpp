#pragma once
// Numbered jobs over the workers of a queue: each takes every n-th, or those it is named for; all get all
// answers.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/work_queue.hpp"

namespace galvatron::search {

/// A worker was asked to stop: thrown by all of them alike, after the queue was given what is known.
class Stopped : public core::Error {
 public:
  Stopped() : core::Error(core::ExitCode::requeue, "stopped in the search") {}
};

/// answers[i] = job(i), on every worker. Job i goes to worker number(i) modulo their count; where nothing is
/// said, those that are to be done go to the workers in turn. An answer is one line without its newline. When
/// jobs throw, every worker throws the error of the first of them. Answers that the queue recalls are not
/// computed again. Throws Stopped when a worker was asked to stop and answers are missing.
std::vector<std::string> deal(core::WorkQueue& queue, size_t count,
                              const std::function<std::string(size_t)>& job,
                              const std::function<size_t(size_t)>& number = {});

/// The whole numbers of an answer, separated by blanks.
std::vector<int64_t> numbers_of(const std::string& answer);

}  // namespace galvatron::search
