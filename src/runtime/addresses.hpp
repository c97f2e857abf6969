#pragma once
// From an operand to memory: the base of every storage of one layer while a phase is played.

#include <array>
#include <cstdint>
#include <vector>

#include "device/tensor.hpp"
#include "program/program.hpp"
#include "runtime/high_water.hpp"

namespace galvatron::runtime {

/// Buffers of one parameter group. Null where a rank does not hold it.
struct GroupAddresses {
  std::byte* weights = nullptr;
  std::byte* weight_shard = nullptr;
  std::byte* gradients = nullptr;
  std::byte* gradient_shard = nullptr;
  std::byte* exp_avg = nullptr;
  std::byte* exp_avg_sq = nullptr;
  std::byte* master = nullptr;

  /// Takes the owner's buffers where a guest has none of its own (its scratch ones it has).
  void adopt(const GroupAddresses& owner);
  bool operator==(const GroupAddresses&) const = default;
};

/// What lies behind addresses: bytes, or nothing in a rehearsal. A pretended arena has places, so that what
/// is touched can be counted and a missing place is still an error, but views into it carry no data.
enum class Memory : uint8_t { real, pretended };

/// Bases during one phase of one layer.
struct LayerAddresses {
  const program::Program* program = nullptr;
  std::vector<GroupAddresses> groups;
  std::byte* saved = nullptr;  ///< of this layer in the current slot
  std::byte* work = nullptr;
  std::byte* input = nullptr;  ///< of a transition
  std::byte* output = nullptr;
  std::byte* output_gradient = nullptr;
  std::byte* input_gradient = nullptr;
  std::byte* loss = nullptr;
  std::byte* gradient_norm = nullptr;
  HighWater* water = nullptr;  ///< told of every operand inside the arena, when there is one
  std::byte* arena = nullptr;
  Memory memory = Memory::real;

  /// Throws core::InternalError when the storage has no base in this phase.
  device::TensorView view(const program::Operand& operand) const;
  bool operator==(const LayerAddresses&) const = default;

 private:
  std::byte* base_of(const program::Value& value) const;
};

/// The persistent buffers of a group at `persistent`, its scratch ones at `gathered` and `unreduced`. A
/// guest's persistent buffers are its owner's and stay null here.
GroupAddresses place(const program::GroupPlacement& at, std::byte* persistent, std::byte* gathered,
                     std::byte* unreduced);

}  // namespace galvatron::runtime
