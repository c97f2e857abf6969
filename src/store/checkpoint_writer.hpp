#pragma once
// Checkpoints written behind the next steps: the pieces are copied to host memory while nothing changes them,
// and a thread of its own plays the whole save protocol with the copies, on messages of its own.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/background.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"
#include "store/checkpoint.hpp"

namespace galvatron::store {

/// At most one save is in flight. While one is, no other thread of this process calls HDF5.
class CheckpointWriter {
 public:
  /// Collective. World and device outlive it.
  CheckpointWriter(comm::World& world, device::Device& device);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Waits for the save in flight. While unwinding only for a moment: its peers may never come.
  ~CheckpointWriter() = default;

  /// Collective, none in flight: as save_checkpoint(), but returns when the pieces are copied; their memory
  /// may change then. The copies stay allocated for the next save. `options.progress` is called by the
  /// writing thread, an empty text at the end. Throws AgreedError (out of memory) where there is no room for
  /// the copies.
  void begin(const std::filesystem::path& path, const CheckpointState& state,
             const std::vector<TensorInfo>& tensors, std::span<const Piece> pieces,
             const CheckpointOptions& options);

  /// Memory of the copies.
  int64_t copy_bytes() const { return copies_ ? copies_->bytes() : 0; }
  /// A save was begun whose report nobody has taken yet.
  bool in_flight() const { return flight_ != nullptr; }
  /// Local: the report once this rank's part of the save is over; nothing before, or when none is in flight.
  std::optional<SaveReport> poll();
  /// Waits for it. Throws what the save threw.
  std::optional<SaveReport> wait();

 private:
  struct Flight;

  comm::World& world_;
  device::Device& device_;
  std::shared_ptr<comm::World> twin_;  // shared with a task that is left behind at the end of a failed job
  std::shared_ptr<device::HostBuffer> copies_;
  std::shared_ptr<Flight> flight_;
  comm::Background::Ticket ticket_ = 0;
  comm::Background thread_;  // last: ends before what it uses goes
};

}  // namespace galvatron::store
