// What the program wrote in HDF5, explained: profiles and checkpoints.

#include <cmath>
#include <cstring>

#include "app/shown.hpp"
#include "comm/world.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/profile_report.hpp"
#include "store/checkpoint.hpp"
#include "store/profile_file.hpp"

namespace galvatron::app {
namespace {

/// 2-norm of elements of either floating type.
double norm_of(const std::vector<std::byte>& data, core::DType dtype) {
  double sum = 0;
  const auto size = static_cast<size_t>(core::size_of(dtype));
  for (size_t at = 0; at + size <= data.size(); at += size) {
    double value = 0;
    if (dtype == core::DType::f64) {
      std::memcpy(&value, data.data() + at, size);
    } else {
      float narrow = 0;
      std::memcpy(&narrow, data.data() + at, size);
      value = narrow;
    }
    sum += value * value;
  }
  return std::sqrt(sum);
}

int64_t bytes_of(const store::TensorInfo& tensor) {
  return tensor.elements() * core::size_of(tensor.dtype);
}

/// The tensor's 2-norm, or why there is none.
std::string norm_text(comm::World& alone, const std::string& file, const store::TensorInfo& tensor) {
  if (tensor.dtype != core::DType::f32 && tensor.dtype != core::DType::f64) return "-";
  std::vector<std::byte> data(static_cast<size_t>(bytes_of(tensor)));
  const std::vector<store::TensorInfo> wanted = {tensor};
  const std::vector<store::Piece> piece = {{0, 0, tensor.elements(), data.data()}};
  try {
    store::load_checkpoint(alone, file, wanted, piece);
  } catch (const core::Error& error) {
    if (error.code() != core::ExitCode::checkpoint) throw;
    return "damaged";
  }
  return core::format("{:.6g}", norm_of(data, tensor.dtype));
}

/// Names stand at the beginning of the line, so that scripts can find them.
std::string tensor_table(const std::string& file, const std::vector<store::TensorInfo>& tensors) {
  const auto alone = comm::make_dry_world(0, 1, 1);
  std::string out =
      core::format("{:<60} {:>5} {:>16} {:>9} {:>12}\n", "tensor", "type", "shape", "size", "2-norm");
  for (const auto& tensor : tensors) {
    std::vector<std::string> dims;
    for (const auto extent : tensor.shape) dims.push_back(std::to_string(extent));
    out += core::format("{:<60} {:>5} {:>16} {:>9} {:>12}\n", tensor.name, core::name(tensor.dtype),
                        core::join(dims, " × "), core::format_bytes(bytes_of(tensor)),
                        norm_text(*alone, file, tensor));
  }
  return out;
}

}  // namespace

std::string shown_profile(const std::string& file) {
  const auto profile = store::read_profile(file);
  return measure::profile_report(profile) +
         core::format("\nlayer steps: {} signatures, {}, model {}\n", profile.model.steps.size(),
                      core::name(profile.model.dtype), profile.model.model_fingerprint) +
         measure::step_table(profile.model);
}

ShownCheckpoint shown_checkpoint(const std::string& file) {
  const auto state = store::read_state(file);
  const auto tensors = store::read_tensors(file);
  ShownCheckpoint shown;
  try {
    store::verify_checkpoint(file);
  } catch (const core::UserError& error) {
    shown.damage = error.what();
  }
  int64_t elements = 0, bytes = 0;
  for (const auto& tensor : tensors) {
    bytes += bytes_of(tensor);
    if (tensor.name.starts_with("model/")) elements += tensor.elements();
  }
  shown.text = core::format("checkpoint of step {}, {} samples seen, seed {}, model {}\n", state.step,
                            state.samples, state.seed, state.model_fingerprint);
  shown.text +=
      core::format("{} tensors, {}; {} parameters\n", tensors.size(), core::format_bytes(bytes), elements);
  shown.text += shown.damage.empty() ? "every block verified\n" : "DAMAGED: " + shown.damage + "\n";
  for (const auto& [key, value] : state.more) shown.text += core::format("{} {}\n", key, value);
  shown.text += "\n" + tensor_table(file, tensors);
  return shown;
}

}  // namespace galvatron::app
