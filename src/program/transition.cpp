// Both directions are written by the same function: backward moves gradients from the new layout to the old
// one, the transpose of forward.

#include "program/transition.hpp"

#include "program/memory.hpp"
#include "spec/reshard.hpp"

namespace galvatron::program {
namespace {

using spec::Axis;
using spec::AxisSet;

/// Writes one move into one phase.
class MoveWriter {
 public:
  MoveWriter(Program& program, Phase phase, ValueId source, ValueId target)
      : program_(program), steps_(program.steps(phase)), source_(source), target_(target) {}

  void write(const spec::Move& move) {
    for (const auto& kept : move.kept)
      copy(rows(source_, kept.from, kept.count), rows(target_, kept.to, kept.count));
    Step exchange{StepKind::collective, {}, {}, {}, {}};
    CollectiveAttributes attributes;
    attributes.kind = core::CollectiveKind::exchange;
    attributes.axes = AxisSet(Axis::tp) | Axis::sp | Axis::cp | Axis::dp;
    attributes.ranks = static_cast<int32_t>(program_.strategy.ranks());
    const auto packed = buffer("rows to send", move.sends), arrived = buffer("rows received", move.receives);
    int64_t at = 0;
    for (const auto& send : move.sends) {
      attributes.to.push_back(send.peer);
      exchange.reads.push_back(pack(send, packed, at));
    }
    at = 0;
    std::vector<std::pair<Operand, Operand>> unpack;
    for (const auto& receive : move.receives) {
      attributes.from.push_back(receive.peer);
      exchange.writes.push_back(place(receive, arrived, at, unpack));
    }
    exchange.attributes = std::move(attributes);
    steps_.push_back(std::move(exchange));
    for (const auto& [from, to] : unpack) copy(from, to);
  }

 private:
  static bool direct(const spec::PeerRows& rows) { return rows.runs.size() == 1; }

  Operand rows(ValueId value, int64_t row, int64_t count) const {
    return {value, row, count, 0, program_.value(value).cols};
  }

  void copy(Operand from, Operand to) { steps_.push_back({StepKind::copy, {from}, {to}, {}, {}}); }

  /// Room for all messages that are not one run; no value when there is none.
  ValueId buffer(const char* name, const std::vector<spec::PeerRows>& messages) {
    int64_t count = 0;
    for (const auto& message : messages)
      if (!direct(message)) count += message.rows();
    if (count == 0) return no_value;
    program_.values.push_back({name, count, program_.value(source_).cols, program_.dtype, Storage::work});
    return static_cast<ValueId>(program_.values.size()) - 1;
  }

  Operand pack(const spec::PeerRows& send, ValueId packed, int64_t& at) {
    if (direct(send)) return rows(source_, send.runs.front().row, send.runs.front().count);
    const auto begin = at;
    for (const auto& run : send.runs) {
      copy(rows(source_, run.row, run.count), rows(packed, at, run.count));
      at += run.count;
    }
    return rows(packed, begin, at - begin);
  }

  Operand place(const spec::PeerRows& receive, ValueId arrived, int64_t& at,
                std::vector<std::pair<Operand, Operand>>& unpack) const {
    if (direct(receive)) return rows(target_, receive.runs.front().row, receive.runs.front().count);
    const auto begin = at;
    for (const auto& run : receive.runs) {
      unpack.emplace_back(rows(arrived, at, run.count), rows(target_, run.row, run.count));
      at += run.count;
    }
    return rows(arrived, begin, at - begin);
  }

  Program& program_;
  std::vector<Step>& steps_;
  ValueId source_, target_;
};

}  // namespace

Program transition(const TransitionContext& context) {
  Program program;
  program.layer.kind = transition_kind;
  program.layer.dims.hidden = context.cols;
  program.layer.dims.seq = context.to.positions;
  program.strategy = context.to.strategy;
  program.coordinate = spec::MeshShape(program.strategy, 0).coordinate_of(context.rank);
  program.samples = context.to.samples_of(program.coordinate.dp).size();
  program.dtype = context.dtype;
  const auto before =
                 context.from.rows_of(spec::MeshShape(context.from.strategy, 0).coordinate_of(context.rank)),
             after = context.to.rows_of(program.coordinate);
  const auto value = [&](const char* name, int64_t rows, Storage storage) {
    program.values.push_back({name, rows, context.cols, context.dtype, storage});
    return static_cast<ValueId>(program.values.size()) - 1;
  };
  program.input = value("input", before, Storage::input);
  program.output = value("output", after, Storage::output);
  program.output_gradient = value("output gradient", after, Storage::output_gradient);
  program.input_gradient = value("input gradient", before, Storage::input_gradient);
  const auto there = spec::move_of(context.from, context.to, context.rank);
  for (const auto phase : {Phase::forward, Phase::evaluate})
    MoveWriter(program, phase, program.input, program.output).write(there);
  MoveWriter(program, Phase::backward, program.output_gradient, program.input_gradient)
      .write(spec::move_of(context.to, context.from, context.rank));
  plan_memory(program);
  return program;
}

}  // namespace galvatron::program
