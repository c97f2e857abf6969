#pragma once
// Numbered jobs over the workers of a queue: each takes every n-th, all get all answers.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/work_queue.hpp"

namespace galvatron::search {

/// answers[i] = job(i), on every worker. An answer is one line without its newline. When jobs throw, every
/// worker throws the error of the first of them.
std::vector<std::string> deal(core::WorkQueue& queue, size_t count,
                              const std::function<std::string(size_t)>& job);

/// The whole numbers of an answer, separated by blanks.
std::vector<int64_t> numbers_of(const std::string& answer);

}  // namespace galvatron::search
