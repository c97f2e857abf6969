#pragma once
// A training run that can be left and taken up again through a checkpoint file: what resume tests play with.

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "runtime/session.hpp"
#include "runtime/snapshot.hpp"
#include "store/checkpoint.hpp"
#include "store/dataset.hpp"
#include "support/parity_check.hpp"

namespace galvatron::testing {

/// A session with its data. Sample n is the n-th of the seeded order, for ever: epoch after epoch.
class TrainingRun {
 public:
  TrainingRun(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
              int64_t tokens = 100000)
      : world_(world),
        plan_(plan),
        model_(model),
        device_(device::make_device(device::DeviceKind::cpu)),
        kernels_(kernels::make_kernels(*device_, 1)),
        data_(store::make_synthetic_dataset(11, "resume", tokens, model.vocab)),
        order_(11, data_->tokens(), model.seq, "resume data"),
        tensors_(runtime::tensors_of(model, core::DType::f32)),
        session_(world, *device_, *kernels_, plan, model, {}),
        loader_(
            *data_, [this](int64_t sample) { return order_.offset_of(sample); }, plan_, model_,
            world.rank()) {}

  /// Plays steps until `end` of them are done in all; their losses and gradient norms are appended.
  void train_to(int64_t end) {
    for (; step_ < end; ++step_) {
      loader_.seek(step_ * plan_.batch);
      const auto done = session_.step(loader_, adamw_run().train, step_);
      losses.push_back(done.loss);
      gradient_norms.push_back(done.gradient_norm);
    }
  }

  store::SaveReport save(const std::filesystem::path& file) {
    store::CheckpointState state;
    state.step = step_;
    state.samples = step_ * plan_.batch;
    state.seed = 11;
    state.run = "resume test";
    const auto pieces = runtime::pieces_of(session_.stage(), model_, tensors_, runtime::SnapshotUse::saving);
    return store::save_checkpoint(world_, file, state, tensors_, pieces, {});
  }

  void load(const std::filesystem::path& file) {
    step_ = store::read_state(file).step;
    const auto pieces = runtime::pieces_of(session_.stage(), model_, tensors_, runtime::SnapshotUse::loading);
    store::load_checkpoint(world_, file, tensors_, pieces);
  }

  /// Weights and moments that this rank holds, as bytes, tensor after tensor.
  std::vector<std::byte> held() {
    std::vector<std::byte> bytes;
    for (const auto& piece :
         runtime::pieces_of(session_.stage(), model_, tensors_, runtime::SnapshotUse::loading)) {
      const auto size = piece.count * core::size_of(tensors_[static_cast<size_t>(piece.tensor)].dtype);
      for (int64_t time = 0; time < piece.times; ++time) {
        const auto* data = piece.stretch(time).data;
        bytes.insert(bytes.end(), data, data + size);
      }
    }
    return bytes;
  }

  int64_t windows() const { return order_.windows(); }
  int64_t step() const { return step_; }

  std::vector<double> losses, gradient_norms;

 private:
  comm::World& world_;
  plan::Plan plan_;
  spec::ModelSpec model_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<kernels::Kernels> kernels_;
  std::unique_ptr<store::Dataset> data_;
  store::SampleOrder order_;
  std::vector<store::TensorInfo> tensors_;
  runtime::Session session_;
  runtime::Loader loader_;
  int64_t step_ = 0;
};

/// A folder that all ranks know, fresh, removed at the end.
class SharedFolder {
 public:
  explicit SharedFolder(comm::World& world) : world_(world) {
    auto name = (std::filesystem::temp_directory_path() / "galvatron-runtime-XXXXXX").string();
    if (world.rank() == 0 && ::mkdtemp(name.data()) == nullptr) name.clear();
    path_ = world.broadcast(name, 0);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() {
    world_.barrier();
    std::error_code ignored;
    if (world_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path file(const std::string& name) const { return path_ / (name + ".h5"); }

 private:
  comm::World& world_;
  std::filesystem::path path_;
};

}  // namespace galvatron::testing
