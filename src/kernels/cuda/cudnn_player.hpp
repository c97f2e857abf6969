#pragma once
// Plays attention by cuDNN where that was found to be faster than the program's own kernel. Plans are made at
// a call's first time and kept; which of them is used, or none, is AlgorithmChooser's to say.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/algorithm_chooser.hpp"
#include "kernels/cuda/cudnn_attention.hpp"

namespace galvatron::kernels::cuda {

class FusedAttention {
 public:
  /// Queues something on a stream, and what that took there: seconds.
  using Queue = std::function<void()>;
  using Stopwatch = std::function<double(void* stream, const Queue&)>;

  /// On the current device, which is of the kind `device`. Null where the library is missing, too old or
  /// does not take the device; `library` as in cudnn::Library::open.
  static std::unique_ptr<FusedAttention> open(const std::string& device, Stopwatch seconds_of,
                                              const std::string& library = "libcudnn.so.9");
  /// Of an open library; throws cudnn::Refusal.
  FusedAttention(cudnn::Library library, const std::string& device, Stopwatch seconds_of,
                 int64_t portion_bytes = fused_portion_bytes);

  FusedAttention(const FusedAttention&) = delete;

  /// False: the call is the own kernel's, and nothing was queued. `own` queues that one, to be measured: the
  /// first call of a key may then run several times.
  bool run(void* stream, const AttentionArgs& args, const Queue& own);
  bool run(void* stream, const AttentionBackwardArgs& args, const Queue& own);

  /// What a call with these shapes needs here: 0 where it is the own kernel's.
  int64_t workspace_bytes(const AttentionArgs& args) const;
  int64_t workspace_bytes(const AttentionBackwardArgs& args) const;

  AlgorithmChooser& chooser() { return chooser_; }

 private:
  /// One call that a plan can make.
  struct Call {
    FusedAttentionKey key;
    void* stream;
    std::byte *row_sums, *workspace;
  };
  struct Choice {
    std::optional<cudnn::ForwardGraph> forward;
    std::optional<cudnn::BackwardGraph> backward;
    std::vector<cudnn::Plan> plans;
    std::optional<size_t> plan;  ///< none: the own kernel
  };
  using Launch = std::function<void(const Choice&, const cudnn::Plan&)>;

  struct CloseHandle {
    const cudnn::Functions* functions;
    void operator()(cudnn::Handle handle) const { functions->destroy(handle); }
  };

  int64_t workspace_bytes(const std::optional<FusedAttentionKey>& key) const;
  Choice& choice_of(void* stream, const FusedAttentionKey& key, const Queue& own, const Launch& launch);
  Choice choose(void* stream, const FusedAttentionKey& key, const Queue& own, const Launch& launch);
  void make_plans(Choice& choice, const FusedAttentionKey& key, int64_t most);
  double seconds_of(void* stream, const Choice& choice, const cudnn::Plan& plan, const Launch& launch);
  void launch_forward(const Call& call, const AttentionArgs& args, const Choice& choice,
                      const cudnn::Plan& plan);
  void launch_backward(const Call& call, const AttentionBackwardArgs& args, const Choice& choice,
                       const cudnn::Plan& plan);
  /// Plays one of the plans, unless the choice is the own kernel.
  bool play(void* stream, const FusedAttentionKey& key, const Queue& own, const Launch& launch);

  cudnn::Library library_;
  std::unique_ptr<cudnn::OpaqueHandle, CloseHandle> handle_{nullptr, CloseHandle{}};
  Stopwatch stopwatch_;
  int64_t portion_bytes_;
  AlgorithmChooser chooser_;
  float lowest_, one_ = 1.0F;
  std::map<FusedAttentionKey, Choice> choices_;
};

}  // namespace galvatron::kernels::cuda
