#pragma once
// Every failure has a class, facts and an exit code. Rooms throw these types and never print; the app room
// catches them in one place, prints one message and returns the code. GALV_ASSERT guards what must hold by
// construction, and is always on.

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace galvatron::core {

/// What the process returns. The launcher adds its own codes for killed ranks and lost nodes.
enum class ExitCode : int {
  finished = 0,
  internal = 1,
  usage = 2,        ///< bad deck or command line
  environment = 3,  ///< MPI, binding, devices, build
  no_plan = 4,      ///< no plan fits
  data = 5,         ///< the dataset cannot be used
  checkpoint = 6,   ///< a checkpoint cannot be loaded
  numerical = 7,    ///< a non-finite loss or gradient
  out_of_memory = 8,
  hang = 9,      ///< no progress within run.watchdog
  requeue = 75,  ///< saved, please requeue
};

/// Base of all errors of this program.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Something that the user can put right: a deck, a command line, a file, the environment.
class UserError : public Error {
 public:
  explicit UserError(const std::string& text) : Error(ExitCode::usage, text) {}
  UserError(ExitCode code, const std::string& text) : Error(code, text) {}
};

/// The machine gave less than was asked for: memory, disk, a device, a file handle.
class ResourceError : public Error {
 public:
  explicit ResourceError(const std::string& text) : Error(ExitCode::out_of_memory, text) {}
  ResourceError(ExitCode code, const std::string& text) : Error(code, text) {}
};

/// A defect of this program, with the place that noticed it.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& text,
                         const std::source_location& where = std::source_location::current());
};

/// One failure that all ranks know of: the first failing rank's text, thrown on every rank alike.
class AgreedError : public Error {
 public:
  /// `others`: how many further ranks failed too.
  AgreedError(ExitCode code, int64_t rank, std::string host, std::string text, int64_t others);
  int64_t rank() const { return rank_; }
  const std::string& host() const { return host_; }
  const std::string& text() const { return text_; }
  int64_t others() const { return others_; }

 private:
  int64_t rank_;
  std::string host_;
  std::string text_;
  int64_t others_;
};

namespace detail {

std::string number_text(double value);

/// An assertion's operand as text; types of this project print through their own to_string().
template <typename T>
std::string operand_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return number_text(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return "\"" + std::string(std::string_view(value)) + "\"";
  } else {
    return value.to_string();
  }
}

[[noreturn]] void assertion_failed(const char* condition, const char* names,
                                   const std::vector<std::string>& values, const std::source_location& where);

}  // namespace detail
}  // namespace galvatron::core

/// Throws InternalError with the condition and the values of the operands: GALV_ASSERT(a < b, a, b).
#define GALV_ASSERT(condition, ...)                   \
  ((condition)                                        \
       ? static_cast<void>(0)                         \
       : ::galvatron::core::detail::assertion_failed( \
             #condition, "" #__VA_ARGS__, GALV_OPERANDS(__VA_ARGS__), std::source_location::current()))

/// As GALV_ASSERT, for inner loops: checked in debug builds only.
#define GALV_ASSERT_HOT(condition, ...)                  \
  do {                                                   \
    if constexpr (GALVATRON_HOT_CHECKS) {                \
      GALV_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__); \
    }                                                    \
  } while (false)

#define GALV_OPERANDS(...)                                                                   \
  [&] {                                                                                      \
    return [](const auto&... operands) {                                                     \
      return std::vector<std::string>{::galvatron::core::detail::operand_text(operands)...}; \
    }(__VA_ARGS__);                                                                          \
  }()
