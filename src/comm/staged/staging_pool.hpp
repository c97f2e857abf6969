#pragma once
// Page-locked memory that is used again and again, because locking pages costs more than most messages. After
// the first step of a run nothing is allocated any more.

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.hpp"

namespace galvatron::comm {

class StagingPool {
 public:
  explicit StagingPool(device::Device& device) : device_(device) {}

  /// Borrowed memory, given back on destruction. Move-only.
  class Place {
   public:
    Place() = default;
    Place(StagingPool& pool, device::HostBuffer buffer, int64_t bytes)
        : pool_(&pool), buffer_(std::move(buffer)), bytes_(bytes) {}
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept {
      give_back();
      buffer_ = std::move(other.buffer_);
      pool_ = other.pool_;
      bytes_ = other.bytes_;
      return *this;
    }
    ~Place() { give_back(); }

    std::byte* data() const { return buffer_.data(); }
    std::span<std::byte> span() const { return {buffer_.data(), static_cast<size_t>(bytes_)}; }

   private:
    void give_back() {
      if (buffer_.data() != nullptr) pool_->free_.push_back(std::move(buffer_));
    }

    StagingPool* pool_ = nullptr;
    device::HostBuffer buffer_;
    int64_t bytes_ = 0;
  };

  /// The smallest free buffer that holds `bytes`, else a new one. The pool outlives the place.
  Place take(int64_t bytes);

 private:
  device::Device& device_;
  std::vector<device::HostBuffer> free_;
};

}  // namespace galvatron::comm
