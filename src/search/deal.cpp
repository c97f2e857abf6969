// Answers travel as text, "number answer", one per line. Errors travel the same way, because a worker that
// left early would leave the others waiting for it.
#include "search/deal.hpp"

#include <algorithm>
#include <charconv>

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

/// One line per job, without its number; what is not known yet is empty.
using Lines = std::vector<std::string>;

constexpr std::string_view stop_line = "stop\n";

/// Puts "number answer" lines where they belong; whether some worker was asked to stop.
bool take(const std::string& text, Lines& lines) {
  bool stop = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    GALV_ASSERT(end != std::string::npos, begin, text.size());
    if (text.compare(begin, stop_line.size(), stop_line) == 0) {
      stop = true;
    } else {
      const size_t space = text.find(' ', begin);
      const auto index = static_cast<size_t>(number(std::string_view(text).substr(begin)));
      GALV_ASSERT(space < end && index < lines.size(), begin, index, lines.size());
      lines[index] = text.substr(space + 1, end - space - 1);
    }
    begin = end + 1;
  }
  return stop;
}

/// The lines that are known, as take() reads them.
std::string text_of(const Lines& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty()) text += core::format("{} {}\n", i, lines[i]);
  return text;
}

/// This worker's part of the unknown lines, as far as it comes.
std::string work_on(core::WorkQueue& queue, const Lines& lines, const std::function<std::string(size_t)>& job,
                    const std::function<size_t(size_t)>& number_of) {
  const auto workers = static_cast<size_t>(queue.workers()), own_number = static_cast<size_t>(queue.worker());
  std::string own;
  size_t turn = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].empty() || (number_of ? number_of(i) : turn++) % workers != own_number) continue;
    if (queue.stop_asked()) return own + std::string(stop_line);
    own += line_of(i, job);
  }
  return own;
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
  Lines lines(count);
  take(queue.recalled(), lines);
  const auto unknown = [](const std::string& line) { return line.empty(); };
  bool stopped = false;
  if (std::any_of(lines.begin(), lines.end(), unknown))
    for (const std::string& text : queue.all_gather(work_on(queue, lines, job, number_of)))
      stopped |= take(text, lines);
  for (const std::string& line : lines)
    if (!line.empty() && line.front() == error_mark)
      throw core::UserError(static_cast<core::ExitCode>(number(std::string_view(line).substr(1))),
                            line.substr(line.find(' ') + 1));
  queue.keep(text_of(lines));
  if (stopped) throw Stopped();
  std::vector<std::string> answers;
  for (const std::string& line : lines) {
    GALV_ASSERT(!line.empty(), answers.size());
    answers.push_back(line.substr(1));
  }
  return answers;
}

}  // namespace galvatron::search
