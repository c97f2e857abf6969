#pragma once
// Numbered jobs over the workers of a queue: each takes every n-th, or those it is named for; all get all
// answers.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/work_queue.hpp"

namespace galvatron::search {

/// answers[i] = job(i), on every worker. Job i goes to worker number(i) modulo their count, its own number
/// where nothing else is said. An answer is one line without its newline. When jobs throw, every worker
/// throws the error of the first of them.
std::vector<std::string> deal(core::WorkQueue& queue, size_t count,
                              const std::function<std::string(size_t)>& job,
                              const std::function<size_t(size_t)>& number = {});

/// The whole numbers of an answer, separated by blanks.
std::vector<int64_t> numbers_of(const std::string& answer);

}  // namespace galvatron::search
