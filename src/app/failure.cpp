// The texts of failures. Those of wrong decks and command lines stand as they are, so that editors find
// file:line in them; others say first who speaks.
#include "app/failure.hpp"

#include <new>

namespace galvatron::app {
namespace {

std::string introduced(core::ExitCode code, const std::string& text) {
  if (code == core::ExitCode::usage) return text;
  if (code == core::ExitCode::internal) return "galvatron: internal error: " + text;
  return "galvatron: " + text;
}

}  // namespace

Failure describe(const std::exception_ptr& error, int world_size) {
  const Reach reach = world_size == 1 ? Reach::agreed : Reach::local;
  try {
    std::rethrow_exception(error);
  } catch (const core::AgreedError& e) {
    const bool everywhere = e.others() + 1 == world_size;  // then it matters to nobody which rank said it
    return {e.code(), introduced(e.code(), everywhere ? e.text() : std::string(e.what())), Reach::agreed};
  } catch (const core::Error& e) {
    return {e.code(), introduced(e.code(), e.what()), reach};
  } catch (const std::bad_alloc&) {
    const auto code = core::ExitCode::out_of_memory;
    return {code, introduced(code, "out of memory"), reach};
  } catch (const std::exception& e) {
    return {core::ExitCode::internal, introduced(core::ExitCode::internal, e.what()), reach};
  } catch (...) {
    return {core::ExitCode::internal, introduced(core::ExitCode::internal, "an exception of unknown type"),
            reach};
  }
}

}  // namespace galvatron::app
