#pragma once
// A group of ranks whose data is on devices that cannot reach each other: operands travel through page-locked
// host memory, and a communicator of the host does the rest. Slow and certain: the way across nodes, and for
// ranks that share one device. Sums have the bits that they have on the CPU.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/device_world.hpp"
#include "comm/staged/staging_pool.hpp"
#include "device/device.hpp"

namespace galvatron::comm {

class StagedCommunicator final : public Communicator {
 public:
  /// `host` talks between the same ranks in host memory. The device outlives this.
  /// With Reach::device it sends messages from the device's memory itself.
  StagedCommunicator(std::unique_ptr<Communicator> host, device::Device& device, Reach reach = Reach::host);

  void attach(device::Stream& compute) override { stream_ = &compute; }
  void expect_messages(int64_t count) override { host_->expect_messages(count); }
  int size() const override { return host_->size(); }
  int index() const override { return host_->index(); }
  const std::string& name() const override { return host_->name(); }
  const std::vector<int>& members() const override { return host_->members(); }

  // The host waits for the attached stream before each, and the outcome is on the device when they return
  // (when a Pending was waited for).
  void all_reduce(TensorView data, ReduceOp op) override;
  void all_gather(TensorView in, TensorView out) override;
  void reduce_scatter(TensorView in, TensorView out) override;
  void all_to_all(TensorView in, TensorView out) override;
  void broadcast(TensorView data, int root) override;
  Pending shift(TensorView in, TensorView out) override;
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override;
  Pending send(TensorView data, int to, int channel = 0) override;
  Pending receive(TensorView data, int from, int channel = 0) override;
  void barrier() override;

 private:
  class StagedPending;

  /// Host memory of the shape of `view`.
  StagingPool::Place place_for(const TensorView& view);
  StagingPool::Place down(const TensorView& view);
  void up(const StagingPool::Place& place, const TensorView& view);

  std::unique_ptr<Communicator> host_;
  device::Device& device_;
  Reach reach_;
  std::unique_ptr<device::Stream> own_stream_;
  device::Stream* stream_;
  StagingPool pool_;
};

}  // namespace galvatron::comm
