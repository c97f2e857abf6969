// The texts of the error types: kept out of the header so that throwing stays cheap to compile.
#include "core/errors.hpp"

#include <cstdio>

namespace galvatron::core {
namespace {

std::string agreed_text(int64_t rank, const std::string& host, const std::string& text, int64_t others) {
  std::string out = "rank " + std::to_string(rank) + " on " + host + ": " + text;
  if (others > 0) out += " (and " + std::to_string(others) + " more)";
  return out;
}

/// The path from src/ or tests/ on, so that messages do not depend on where the program was built.
std::string short_path(std::string_view path) {
  for (const std::string_view folder : {"/src/", "/tests/"}) {
    if (const auto at = path.rfind(folder); at != std::string_view::npos)
      return std::string(path.substr(at + 1));
  }
  return std::string(path);
}

std::string located(const std::string& text, const std::source_location& where) {
  return text + " [" + short_path(where.file_name()) + ":" + std::to_string(where.line()) + "]";
}

}  // namespace

InternalError::InternalError(const std::string& text, const std::source_location& where)
    : Error(ExitCode::internal, located(text, where)) {}

AgreedError::AgreedError(ExitCode code, int64_t rank, std::string host, std::string text, int64_t others)
    : Error(code, agreed_text(rank, host, text, others)),
      rank_(rank),
      host_(std::move(host)),
      text_(std::move(text)),
      others_(others) {}

namespace detail {

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void assertion_failed(const char* condition, const char* names, const std::vector<std::string>& values,
                      const std::source_location& where) {
  std::string text = std::string("does not hold: ") + condition;
  if (!values.empty()) {
    text += std::string(" with (") + names + ") = (";
    for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + values[i];
    text += ")";
  }
  throw InternalError(text, where);
}

}  // namespace detail
}  // namespace galvatron::core
