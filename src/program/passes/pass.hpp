#pragma once
// Policies that change what a program costs and never what it computes. Each is one file and one line in the
// table; they run in the table's order.

#include <span>
#include <string_view>

#include "program/program.hpp"
#include "program/tape.hpp"

namespace galvatron::program {

struct Pass {
  std::string_view name;
  /// Before backward is derived: decides what is kept. May be null.
  void (*on_tape)(Tape&);
  /// On finished steps. May be null.
  void (*on_program)(Program&);
};

std::span<const Pass> passes();

extern const Pass recompute_pass, zero_pass, grad_sync_pass, update_pass;

/// What passes on parameter groups write their steps with.
struct GroupWriter {
  Program& program;
  int32_t group;

  const ParameterGroup& spec() const { return program.groups[static_cast<size_t>(group)]; }
  /// The group's whole buffer, this rank's slice of it, its moments (rows = 1).
  Operand whole(Storage storage) { return flat(storage, spec().padded); }
  Operand shard(Storage storage) { return flat(storage, spec().shard()); }
  /// This rank's slice inside a whole buffer of gradients: where an in-place reduce-scatter leaves its sum.
  Operand own_block(Operand whole) const {
    return {whole.value, 0, 1, spec().replica_index * spec().shard(), spec().shard()};
  }
  /// A collective over the group's replicas.
  Step collective(core::CollectiveKind kind, Operand in, Operand out) const;

 private:
  Operand flat(Storage storage, int64_t elements);
};

}  // namespace galvatron::program
