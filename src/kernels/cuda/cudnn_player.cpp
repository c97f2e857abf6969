// A call is cut into portions of one shape, so that one plan makes them all.

#include "kernels/cuda/cudnn_player.hpp"

#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int64_t oldest_version = 91000;  // before, masks and sums needed other care
const std::string own_kernel = "own";

std::string name_of_plan(size_t plan) {
  return core::format("cuDNN {}", plan);
}

std::byte* aligned(std::byte* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return data + (fused_alignment - static_cast<int64_t>(address % fused_alignment)) % fused_alignment;
}

/// The first element of a portion: `heads` columns of head_dim elements further, `samples` samples down.
void* place(const TensorView& view, const FusedAttentionKey& key, int64_t sample, int64_t head,
            int64_t columns) {
  const auto elements = sample * key.positions * view.row_stride + head * columns;
  return view.data + elements * core::size_of(view.dtype);
}

bool whole_addresses(std::initializer_list<const TensorView*> views) {
  for (const auto* view : views)
    if (reinterpret_cast<uintptr_t>(view->data) % 16 != 0) return false;
  return true;
}

}  // namespace

std::unique_ptr<FusedAttention> FusedAttention::open(const std::string& device, Stopwatch seconds_of,
                                                     const std::string& name) {
  auto library = cudnn::Library::open(name);
  if (!library || library->version() < oldest_version) return nullptr;
  try {
    return std::make_unique<FusedAttention>(std::move(*library), device, std::move(seconds_of));
  } catch (const cudnn::Refusal&) {
    return nullptr;
  }
}

FusedAttention::FusedAttention(cudnn::Library library, const std::string& device, Stopwatch seconds_of,
                               int64_t portion_bytes)
    : library_(std::move(library)),
      stopwatch_(std::move(seconds_of)),
      portion_bytes_(portion_bytes),
      chooser_(core::format("cuDNN {}", library_.version()), device),
      lowest_(-std::numeric_limits<float>::infinity()) {
  cudnn::Handle handle = nullptr;
  cudnn::check(library_.functions(), library_.functions().create(&handle), "cudnnCreate");
  handle_ = {handle, CloseHandle{&library_.functions()}};
}

int64_t FusedAttention::workspace_bytes(const AttentionArgs& args) const {
  return workspace_bytes(fused_key_of(args));
}

int64_t FusedAttention::workspace_bytes(const AttentionBackwardArgs& args) const {
  return workspace_bytes(fused_key_of(args, portion_bytes_));
}

int64_t FusedAttention::workspace_bytes(const std::optional<FusedAttentionKey>& key) const {
  if (!key) return 0;
  const bool may_be_measured = chooser_.wanted() > 1;
  const auto kept = chooser_.kept(text_of(*key));
  return (kept ? *kept != own_kernel : may_be_measured) ? fused_workspace_bytes(*key) : 0;
}

void FusedAttention::make_plans(Choice& choice, const FusedAttentionKey& key, int64_t most) {
  const cudnn::Target target{handle_.get(), nullptr};
  const auto limit = fused_library_bytes(key);
  try {
    if (key.direction == Direction::forward) {
      choice.forward.emplace(library_.functions(), key);
      choice.plans = choice.forward->graph.plans(target, most, limit);
    } else {
      choice.backward.emplace(library_.functions(), key);
      choice.plans = choice.backward->graph.plans(target, most, limit);
    }
  } catch (const cudnn::Refusal&) {
    choice.plans.clear();
  }
}

double FusedAttention::seconds_of(void* stream, const Choice& choice, const cudnn::Plan& plan,
                                  const Launch& launch) {
  try {
    return stopwatch_(stream, [&] { launch(choice, plan); });
  } catch (const cudnn::Refusal&) {
    return std::numeric_limits<double>::infinity();
  }
}

FusedAttention::Choice FusedAttention::choose(void* stream, const FusedAttentionKey& key, const Queue& own,
                                              const Launch& launch) {
  Choice choice;
  const auto name = text_of(key);
  const auto kept = chooser_.kept(name);
  if (kept ? *kept == own_kernel : chooser_.wanted() == 1) return choice;
  make_plans(choice, key, AlgorithmChooser::most_candidates - 1);
  std::vector<std::string> candidates = {own_kernel};
  for (size_t i = 0; i < choice.plans.size(); ++i) candidates.push_back(name_of_plan(i));
  size_t best = 0;
  if (kept) {
    for (size_t i = 1; i < candidates.size(); ++i)
      if (candidates[i] == *kept) best = i;
  } else {
    best = chooser_.choose(name, candidates, [&](size_t i) {
      return i == 0 ? stopwatch_(stream, own) : seconds_of(stream, choice, choice.plans[i - 1], launch);
    });
  }
  if (best > 0) choice.plan = best - 1;
  return choice;
}

FusedAttention::Choice& FusedAttention::choice_of(void* stream, const FusedAttentionKey& key,
                                                  const Queue& own, const Launch& launch) {
  auto found = choices_.find(key);
  if (found == choices_.end()) found = choices_.emplace(key, choose(stream, key, own, launch)).first;
  return found->second;
}

bool FusedAttention::play(void* stream, const FusedAttentionKey& key, const Queue& own,
                          const Launch& launch) {
  try {
    cudnn::check(library_.functions(), library_.functions().set_stream(handle_.get(), stream),
                 "cudnnSetStream");
    const auto& choice = choice_of(stream, key, own, launch);
    if (!choice.plan) return false;
    launch(choice, choice.plans[*choice.plan]);
    return true;
  } catch (const cudnn::Refusal& refusal) {
    throw core::InternalError("kernels: attention by cuDNN: " + refusal.text);
  }
}

bool FusedAttention::run(void* stream, const AttentionArgs& args, const Queue& own) {
  const auto key = fused_key_of(args);
  if (!key || args.workspace.bytes() < fused_workspace_bytes(*key) ||
      !whole_addresses({&args.q, &args.k, &args.v, &args.out}))
    return false;
  const Call call{*key, stream, nullptr, aligned(args.workspace.data)};
  return play(stream, *key, own, [&](const Choice& choice, const cudnn::Plan& plan) {
    launch_forward(call, args, choice, plan);
  });
}

bool FusedAttention::run(void* stream, const AttentionBackwardArgs& args, const Queue& own) {
  const auto key = fused_key_of(args, portion_bytes_);
  if (!key || args.workspace.bytes() < fused_workspace_bytes(*key) ||
      !whole_addresses({&args.q, &args.k, &args.v, &args.out, &args.dout, &args.dq, &args.dk, &args.dv}))
    return false;
  auto* const begin = aligned(args.workspace.data);
  const Call call{*key, stream, begin, begin + fused_row_sum_bytes(*key)};
  return play(stream, *key, own, [&](const Choice& choice, const cudnn::Plan& plan) {
    launch_backward(call, args, choice, plan);
  });
}

void FusedAttention::launch_forward(const Call& call, const AttentionArgs& args, const Choice& choice,
                                    const cudnn::Plan& plan) {
  const auto& graph = *choice.forward;
  auto scale = static_cast<float>(args.scale);
  cudnn::execute(library_.functions(), handle_.get(), plan,
                 {{graph.q, args.q.data},
                  {graph.k, args.k.data},
                  {graph.v, args.v.data},
                  {graph.scale, &scale},
                  {graph.lowest, &lowest_},
                  {graph.out, args.out.data},
                  {graph.lse, args.lse.data}},
                 call.workspace);
}

void FusedAttention::launch_backward(const Call& call, const AttentionBackwardArgs& args,
                                     const Choice& choice, const cudnn::Plan& plan) {
  const auto& graph = *choice.backward;
  const auto& key = call.key;
  const auto group = key.group();
  auto scale = static_cast<float>(args.scale);
  for (int64_t sample = 0; sample < key.samples; sample += key.portion_samples) {
    for (int64_t head = 0; head < key.kv_heads; head += key.portion_kv_heads) {
      const auto queries = [&](const TensorView& view) {
        return place(view, key, sample, group * head, key.head_dim);
      };
      const auto keys = [&](const TensorView& view) { return place(view, key, sample, head, key.head_dim); };
      cudnn::execute(library_.functions(), handle_.get(), plan,
                     {{graph.q, queries(args.q)},
                      {graph.k, keys(args.k)},
                      {graph.v, keys(args.v)},
                      {graph.out, queries(args.out)},
                      {graph.lse, place(args.lse, key, sample, group * head, 1)},
                      {graph.dout, queries(args.dout)},
                      {graph.scale, &scale},
                      {graph.lowest, &lowest_},
                      {graph.one, &one_},
                      {graph.row_sums, call.row_sums},
                      {graph.dq, queries(args.dq)},
                      {graph.dk, keys(args.dk)},
                      {graph.dv, keys(args.dv)}},
                     call.workspace);
    }
  }
}

}  // namespace galvatron::kernels::cuda
