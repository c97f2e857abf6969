// Answers travel as text, "number answer", one per line. Errors travel the same way, because a worker that
// left early would leave the others waiting for it.
#include "search/deal.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::search {
namespace {

constexpr char answer_mark = '=', error_mark = '!';

std::string line_of(size_t index, const std::function<std::string(size_t)>& job) {
  try {
    return core::format("{} {}{}\n", index, answer_mark, job(index));
  } catch (const core::Error& error) {
    std::string text = error.what();
    for (char& c : text)
      if (c == '\n') c = ' ';
    return core::format("{} {}{} {}\n", index, error_mark, static_cast<int>(error.code()), text);
  }
}

int64_t number(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::vector<int64_t> numbers_of(const std::string& answer) {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin < answer.size();) {
    const size_t end = std::min(answer.find(' ', begin), answer.size());
    if (end > begin) numbers.push_back(number(std::string_view(answer).substr(begin, end - begin)));
    begin = end + 1;
  }
  return numbers;
}

std::vector<std::string> deal(core::WorkQueue& queue, size_t count,
                              const std::function<std::string(size_t)>& job,
                              const std::function<size_t(size_t)>& number_of) {
  const auto workers = static_cast<size_t>(queue.workers()), own_number = static_cast<size_t>(queue.worker());
  std::string own;
  for (size_t i = 0; i < count; ++i)
    if ((number_of ? number_of(i) : i) % workers == own_number) own += line_of(i, job);
  std::vector<std::optional<std::string>> lines(count);
  for (const std::string& text : queue.all_gather(own))
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin), space = text.find(' ', begin);
      const auto index = static_cast<size_t>(number(std::string_view(text).substr(begin)));
      GALV_ASSERT(end != std::string::npos && space < end && index < count, begin, index, count);
      lines[index] = text.substr(space + 1, end - space - 1);
      begin = end + 1;
    }
  std::vector<std::string> answers;
  for (size_t i = 0; i < count; ++i) {
    GALV_ASSERT(lines[i].has_value() && !lines[i]->empty(), i);
    if (lines[i]->front() == error_mark) {
      const auto space = lines[i]->find(' ');
      throw core::UserError(static_cast<core::ExitCode>(number(std::string_view(*lines[i]).substr(1))),
                            lines[i]->substr(space + 1));
    }
    answers.push_back(lines[i]->substr(1));
  }
  return answers;
}

}  // namespace galvatron::search
