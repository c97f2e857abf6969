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
  const auto bytes_of = [&](const Piece& piece) {
    return piece.count * core::size_of(tensors[static_cast<size_t>(piece.tensor)].dtype);
  };
  int64_t total = 0;
  for (const auto& piece : pieces) total += bytes_of(piece);
  world_.agree("make room for the copies of a checkpoint", [&] {
    if (!copies_ || copies_->bytes() < total) copies_ = std::make_shared<device::HostBuffer>(device_, total);
  });
  flight->copies = copies_;
  auto* at = copies_->data();
  for (auto& piece : flight->pieces) {
    const auto bytes = bytes_of(piece);
    const auto* source =
        bytes > 0 && options.window ? options.window->look(piece.data, bytes).data() : piece.data;
    if (bytes > 0) std::memcpy(at, source, static_cast<size_t>(bytes));
    piece.data = at;
    at += bytes;
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
