// Memory, time and pipeline formulas of Galvatron 3.0 (Wang et al., arXiv 2504.21411, and its public code of
// June 2026), kept as they are computed there.
#include "cost/galvatron3/rules.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"

namespace galvatron::cost::galvatron3 {
namespace {

constexpr double bytes_per_mb = 1048576;
constexpr double framework_mb = 1024;
constexpr double seconds_per_ms = 1e-3;

double bytes_of_element(Precision precision) {
  return precision == Precision::mixed ? 2 : 4;
}

/// Backward beside a message of `mb`: both run slower by `slowdown` while they overlap.
double overlapped_ms(double backward, double mb, double ms_per_mb, double slowdown) {
  const double message = mb * ms_per_mb * slowdown;
  const double compute = backward * slowdown;
  if (message > compute) return compute + (mb - compute / (ms_per_mb * slowdown)) * ms_per_mb;
  if (message < compute) return message + (backward - message / slowdown);
  return compute;
}

/// The same for embedding and head, where only compute slows down.
double vocab_overlapped_ms(double compute, double message, double slowdown) {
  const double slowed = compute * slowdown;
  return message >= slowed ? message : message + (slowed - message) / slowdown;
}

}  // namespace

Rules::Rules(Hardware hardware, ModelTables model, Settings settings)
    : hardware_(std::move(hardware)), model_(std::move(model)), settings_(settings) {}

double Rules::states_share(const Strategy& s, const Step& step) const {
  const bool mixed = settings_.precision == Precision::mixed;
  const double r = 1 / static_cast<double>(s.replicas()) + 0.003;
  // Parts of the state that stay whole on every rank: a 16-bit copy is an eighth, an fp32 one a quarter.
  const auto whole = [r](double part) { return (1 - part) * r + part; };
  if (s.type == DpType::ddp) return 1;
  const bool zero3 = s.type == DpType::zero3;
  if (step.chunks == 1) return zero3 ? r : whole(mixed ? 1.0 / 8 : 1.0 / 4);
  if (settings_.reduction == GradientReduction::asynchronous) {
    if (zero3) return whole(mixed ? 1.0 / 8 : 1.0 / 4);
    return whole(mixed ? 2.0 / 8 : 2.0 / 4);
  }
  if (zero3) return 5.0 / 4 * r;
  return mixed ? whole(1.0 / 8) * 5 / 4 : whole(1.0 / 4);
}

int64_t Rules::in_flight(const Strategy& s, const Step& step, int64_t stage) const {
  if (s.pp == 1) return 1;
  return settings_.pipeline == Pipeline::gpipe ? step.chunks : s.pp - stage;
}

double Rules::layer_mb(const Strategy& s, const Step& step, int64_t stage) const {
  const double samples = step.micro() / static_cast<double>(s.dp);
  const double states = 4 * model_.parameter_mb / static_cast<double>(s.tp) * states_share(s, step);
  double kept = model_.activation_mb.at(s.width());
  if (s.recomputes()) {
    kept = model_.kept_mb;
    if (s.sp > 1 || (s.tp > 1 && settings_.sequence == SequenceSplit::on))
      kept /= static_cast<double>(s.width());
  }
  return states + kept * static_cast<double>(in_flight(s, step, stage)) * samples;
}

double Rules::vocab_mb(const Strategy& s, const Step& step, int64_t stage) const {
  if (s.pp > 1 && stage > 0 && stage < s.pp - 1) return framework_mb;
  const auto& table = s.pp == 1 ? model_.off : stage == 0 ? model_.first : model_.last;
  const double samples = step.micro() / static_cast<double>(s.dp);
  return table.states_mb.at(s.tp) * states_share(s, step) +
         table.activation_mb.at(s.width()) * samples * static_cast<double>(in_flight(s, step, stage)) +
         framework_mb;
}

double Rules::buffer_mb(const Step& step, int64_t stages, int64_t width) const {
  const auto groups = static_cast<double>(settings_.world / stages / width);
  // Halved for every precision, fp32 too.
  return step.micro() / groups * static_cast<double>(model_.hidden * model_.seq) * 4 / bytes_per_mb / 2;
}

double Rules::reduce_coefficient(const Strategy& s) const {
  return (s.tp == 1 ? hardware_.consecutive : hardware_.strided).at(s.replicas());
}

double Rules::message_mb(const Strategy& s, const Step& step) const {
  return step.micro() / static_cast<double>(s.dp) * static_cast<double>(model_.seq * model_.hidden) *
         bytes_of_element(settings_.precision) / bytes_per_mb;
}

double Rules::collective_ms(const Strategy& s, const Step& step) const {
  if (s.width() == 1) return 0;
  const double mb = message_mb(s, step);
  if (s.tp > 1) return (s.recomputes() ? 9 : 6) * hardware_.gather_over(s.tp).at(mb);
  return (s.recomputes() ? 6 : 4) * hardware_.exchange_over(s.sp).at(mb);
}

double Rules::layer_ms(const Strategy& s, const Step& step, double synced_mb) const {
  const double samples = step.micro() / static_cast<double>(s.dp);
  const double forward = model_.layer_ms.at(samples / static_cast<double>(s.width()));
  const double backward = (s.recomputes() ? 3 : 2) * forward;
  const double reduced = overlapped_ms(backward, synced_mb, reduce_coefficient(s), hardware_.overlap);
  double ms = forward + (s.dp > 1 ? reduced : backward) + collective_ms(s, step);
  if (s.pp > 1) {
    const double boundary = static_cast<double>(s.pp) * 2 * message_mb(s, step);
    ms += boundary * hardware_.point_to_point.at(s.pp) / static_cast<double>(model_.layers);
  }
  return ms;
}

SyncSeconds Rules::layer_seconds(const Strategy& s, const Step& step) const {
  const auto replicas = static_cast<double>(s.replicas());
  const double fp32_mb = 2 * (replicas - 1) / replicas * model_.parameter_mb / static_cast<double>(s.tp);
  const double reduced_mb = fp32_mb * bytes_of_element(settings_.precision) / 4;
  const double gather_ms = s.type == DpType::zero3 ? reduced_mb / 2 * reduce_coefficient(s) : 0;
  return {(layer_ms(s, step, reduced_mb) + gather_ms) * seconds_per_ms,
          (layer_ms(s, step, 0) + gather_ms) * seconds_per_ms};
}

SyncSeconds Rules::vocab_seconds(const Strategy& s, const Step& step, int64_t stage) const {
  if (s.pp > 1 && stage > 0 && stage < s.pp - 1) return {};
  const double samples = step.micro() / static_cast<double>(s.dp);
  const auto& table = s.pp == 1 ? model_.off : stage == 0 ? model_.first : model_.last;
  const double forward =
      model_.vocab_ms.at(samples / static_cast<double>(s.width() * s.cp)) * (s.pp == 1 ? 1 : 0.5);
  const auto replicas = static_cast<double>(s.replicas());
  const double states = table.states_mb.at(s.tp) / 4 * bytes_of_element(settings_.precision) / 4;
  const double message = states * reduce_coefficient(s) * (replicas - 1) / replicas;
  const bool zero3 = s.type == DpType::zero3;
  double split = 0;
  if (s.tp > 1) split = hardware_.gather_over(s.tp).at(message_mb(s, step)) * (s.pp == 1 ? 2 : 1);
  const auto seconds = [&](double backward_share) {
    return (vocab_overlapped_ms(forward, message * (zero3 ? 0.5 : 0), hardware_.overlap) +
            vocab_overlapped_ms(2 * forward, message * backward_share, hardware_.overlap) + split) *
           seconds_per_ms;
  };
  return {seconds(zero3 ? 1.0 : 0.5), seconds(zero3 ? 0.5 : 0)};
}

double Rules::redistribution_seconds(const Strategy& from, const Strategy& to, const Step& step,
                                     double unit) const {
  if (settings_.sequence == SequenceSplit::off || from.width() == to.width()) return 0;
  const int64_t width = std::max(from.width(), to.width());
  const auto groups = static_cast<double>(settings_.world / to.pp / width);
  const double bytes = step.micro() / groups * static_cast<double>(model_.seq * model_.hidden) *
                       bytes_of_element(settings_.precision);
  const auto w = static_cast<double>(width);
  return (w - 1) / w * bytes * hardware_.consecutive.at(width) * unit;
}

double Rules::bias_seconds(const Strategy& from, const Strategy& to) {
  const bool from_zero3 = from.type == DpType::zero3;
  const bool to_zero3 = to.type == DpType::zero3;
  if (from_zero3 != to_zero3 || from.recompute != to.recompute) {
    if (to_zero3 && to.recomputes()) return 3e-9;
    if (to.recomputes() && !from.recomputes()) return from_zero3 ? 1e-9 : 2e-9;
    if (to_zero3 && !from_zero3) return 1e-9;
    return 0;
  }
  return from.tp > 1 && to.sp > 1 && from.tp == to.sp ? 1e-10 : 0;
}

double pipeline_seconds(const std::vector<StageSeconds>& stages, int64_t chunks) {
  const auto count = static_cast<int64_t>(stages.size());
  const double first = stages.front().micro;
  double sum = 0, exposed = 0;
  for (const auto& stage : stages) {
    sum += stage.micro;
    exposed = std::max(exposed, stage.last_layers - sum);
  }
  const double rest = sum - first;
  const double waiting = static_cast<double>(std::min(count - 1, chunks - 1)) * first;
  const double last_bound = sum + stages.back().micro * static_cast<double>(chunks - 1);
  const double first_bound = std::max(waiting / 3, rest / 3) + std::max(waiting * 2 / 3, rest * 2 / 3) +
                             first * static_cast<double>(std::max<int64_t>(0, chunks + 1 - count));
  return std::max(last_bound, first_bound) + exposed;
}

Budget budget_of(int64_t memory_mb) {
  if (memory_mb / 1024 <= 20) return {memory_mb, 0};
  const auto reserved = static_cast<int64_t>(0.2 * static_cast<double>(memory_mb));
  return {memory_mb - reserved, reserved};
}

}  // namespace galvatron::cost::galvatron3
