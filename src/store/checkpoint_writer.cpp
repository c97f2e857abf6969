// What the writing thread uses is shared with its task, so that nothing goes while it may still run.
#include "store/checkpoint_writer.hpp"

#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "device/host_window.hpp"

namespace galvatron::store {

/// One save: everything that the thread reads.
struct CheckpointWriter::Flight {
  std::shared_ptr<comm::World> world;
  std::shared_ptr<device::HostBuffer> copies;
  std::filesystem::path path;
  CheckpointState state;
  std::vector<TensorInfo> tensors;
  std::vector<Piece> pieces;
  CheckpointOptions options;
  SaveReport report;

  void run() {
    try {
      report = save_checkpoint(*world, path, state, tensors, pieces, options);
    } catch (...) {
      options.progress("");
      throw;
    }
    options.progress("");
  }
};

CheckpointWriter::CheckpointWriter(comm::World& world, device::Device& device)
    : world_(world), device_(device), twin_(world.twin()), thread_(1) {}

void CheckpointWriter::begin(const std::filesystem::path& path, const CheckpointState& state,
                             const std::vector<TensorInfo>& tensors, std::span<const Piece> pieces,
                             const CheckpointOptions& options) {
  GALV_ASSERT(!in_flight(), state.step);
  auto flight = std::make_shared<Flight>(
      Flight{twin_, nullptr, path, state, tensors, {pieces.begin(), pieces.end()}, options, {}});
  flight->options.window = nullptr;
  const auto size_of = [&](const Piece& piece) {
    return core::size_of(tensors[static_cast<size_t>(piece.tensor)].dtype);
  };
  int64_t total = 0;
  for (const auto& piece : pieces) total += piece.elements() * size_of(piece);
  world_.agree("make room for the copies of a checkpoint", [&] {
    if (!copies_ || copies_->bytes() < total) copies_ = std::make_shared<device::HostBuffer>(device_, total);
  });
  flight->copies = copies_;
  auto* at = copies_->data();
  for (auto& piece : flight->pieces) {
    const auto bytes = piece.count * size_of(piece);
    const auto times = bytes > 0 ? piece.times : 0;
    // All stretches at once, and what lies between them.
    const auto extent = (piece.times - 1) * piece.data_stride + bytes;
    const auto* source =
        times > 0 && options.window ? options.window->look(piece.data, extent).data() : piece.data;
    for (int64_t time = 0; time < times; ++time)
      std::memcpy(at + time * bytes, source + time * piece.data_stride, static_cast<size_t>(bytes));
    piece.data = at;
    piece.data_stride = bytes;
    at += times * bytes;
  }
  flight_ = flight;
  ticket_ = thread_.submit([flight] { flight->run(); });
}

std::optional<SaveReport> CheckpointWriter::poll() {
  if (!in_flight() || !thread_.finished(ticket_)) return std::nullopt;
  return wait();
}

std::optional<SaveReport> CheckpointWriter::wait() {
  if (!in_flight()) return std::nullopt;
  const auto flight = std::exchange(flight_, nullptr);
  thread_.wait(ticket_);
  return flight->report;
}

}  // namespace galvatron::store
