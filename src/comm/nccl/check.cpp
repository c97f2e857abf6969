// NCCL's error codes as the errors of this program.
#include "comm/nccl/check.hpp"

#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm::nccl {

void check(ncclResult_t code, std::string_view call, const std::source_location& where) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  auto text = core::format("{} failed: {}", call.substr(0, call.find('(')), ncclGetErrorString(code));
  if (const char* last = ncclGetLastError(nullptr); last != nullptr && *last != '\0')
    text += core::format(" (NCCL's last words: {})", last);
  if (code == ncclSystemError || code == ncclRemoteError)
    throw core::ResourceError(core::ExitCode::environment, text);
  throw core::InternalError(text, where);
}

}  // namespace galvatron::comm::nccl
