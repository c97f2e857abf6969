// What the program wrote in HDF5, explained: profiles and checkpoints.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "app/shown.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/profile_report.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_pieces.hpp"
#include "store/checkpoint_reader.hpp"
#include "store/profile_file.hpp"

namespace galvatron::app {
namespace {

/// Sum of the squares of elements of either floating type.
double squares_of(std::span<const std::byte> data, core::DType dtype) {
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
  return sum;
}

int64_t bytes_of(const store::TensorInfo& tensor) {
  return tensor.elements() * core::size_of(tensor.dtype);
}

/// The 2-norm of tensor number `number`, or why there is none.
std::string norm_text(store::CheckpointReader& reader, int64_t number) {
  const auto& tensor = reader.tensors()[static_cast<size_t>(number)];
  if (tensor.dtype != core::DType::f32 && tensor.dtype != core::DType::f64) return "-";
  // A block at a time: no tensor is held, and hardly a block is read twice.
  std::vector<std::byte> data(static_cast<size_t>(std::min(store::block_bytes, bytes_of(tensor))));
  const auto room = static_cast<int64_t>(data.size()) / core::size_of(tensor.dtype);
  double sum = 0;
  try {
    for (int64_t at = 0; at < tensor.elements(); at += room) {
      const auto count = std::min(room, tensor.elements() - at);
      reader.read(number, at, count, data.data());
      sum += squares_of(std::span(data).first(static_cast<size_t>(count * core::size_of(tensor.dtype))),
                        tensor.dtype);
    }
  } catch (const core::UserError& error) {
    if (error.code() != core::ExitCode::checkpoint) throw;
    return "damaged";
  }
  return core::format("{:.6g}", std::sqrt(sum));
}

/// Names stand at the beginning of the line, so that scripts can find them.
std::string tensor_table(const std::string& file) {
  store::CheckpointReader reader(file);
  std::string out =
      core::format("{:<60} {:>5} {:>16} {:>9} {:>12}\n", "tensor", "type", "shape", "size", "2-norm");
  const auto& tensors = reader.tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& tensor = tensors[i];
    std::vector<std::string> dims;
    for (const auto extent : tensor.shape) dims.push_back(std::to_string(extent));
    out += core::format("{:<60} {:>5} {:>16} {:>9} {:>12}\n", tensor.name, core::name(tensor.dtype),
                        core::join(dims, " × "), core::format_bytes(bytes_of(tensor)),
                        norm_text(reader, static_cast<int64_t>(i)));
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
  shown.text += "\n" + tensor_table(file);
  return shown;
}

}  // namespace galvatron::app
