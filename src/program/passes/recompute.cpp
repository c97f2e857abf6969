// Full recomputation (Chen et al., arXiv 1604.06174): backward keeps the layer's input alone and derives
// everything else from it. The backward rules already derive what is not kept, so this policy only keeps
// less.

#include "program/passes/pass.hpp"

namespace galvatron::program {
namespace {

void on_tape(Tape& tape) {
  if (tape.program.strategy.recompute != spec::Recompute::full) return;
  for (size_t id = 0; id < tape.keep.size(); ++id)
    if (tape.program.values[id].storage != Storage::saved) tape.keep[id] = Keep::no;
}

}  // namespace

const Pass recompute_pass{"recompute", on_tape, nullptr};

}  // namespace galvatron::program
