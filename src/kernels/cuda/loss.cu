// The head's loss over a slice of the vocabulary: a block per row. A row comes from memory once, for its
// maximum and sum together; what follows finds it in the caches. The rows' losses lie in a scratch memory,
// one fp64 each, and are added in their order.

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/formulas.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int64_t loss_threads = 512;

template <class T>
struct LossOperands {
  Matrix<T> logits;
  const int32_t* labels;
  Matrix<float> stats;  ///< data may be null in the whole phase
  double* losses;       ///< one per row
  int64_t rows, cols, real;
  int64_t vocab_begin;
  float scale;
  CrossEntropyPhase phase;
};

struct RowLoss {
  float maximum, sum, label_logit;
};

/// body(logit, column) for every real column of a row, dealt over the block. Packs end before the last
/// columns.
template <int N, class T, class Body>
__device__ void each_logit(const T* logits, int64_t real, Body body) {
  const auto in_packs = real / N * N;
  for (int64_t j = static_cast<int64_t>(threadIdx.x) * N; j < in_packs;
       j += static_cast<int64_t>(blockDim.x) * N) {
    const auto pack = load<N>(logits + j);
    for (int e = 0; e < N; ++e) body(to_f32(pack.at[e]), j + e);
  }
  for (int64_t j = in_packs + threadIdx.x; j < real; j += blockDim.x) body(to_f32(logits[j]), j);
}

template <int N, class T>
__device__ float row_maximum(const LossOperands<T>& a, const T* logits) {
  float maximum = -INFINITY;
  each_logit<N>(logits, a.real, [&](float x, int64_t) { maximum = fmaxf(maximum, x); });
  return block_maximum(maximum);
}

template <int N, class T>
__device__ float row_exponentials(const LossOperands<T>& a, const T* logits, float maximum) {
  float sum = 0;
  each_logit<N>(logits, a.real, [&](float x, int64_t) { sum += expf(x - maximum); });
  return block_sum(sum);
}

template <class T>
__device__ float label_logit(const LossOperands<T>& a, const T* logits, int64_t label, float maximum) {
  return label >= 0 && label < a.real ? to_f32(logits[label]) - maximum : 0.0F;
}

/// Maximum and sum in one look.
template <int N, class T>
__device__ RowLoss row_softmax(const LossOperands<T>& a, const T* logits, int64_t label) {
  float mine = -INFINITY;
  float sum = 0;
  each_logit<N>(logits, a.real, [&](float x, int64_t) { join_softmax(x, mine, sum); });
  const float maximum = block_maximum(mine);
  if (mine != maximum) sum *= expf(mine - maximum);
  return {maximum, block_sum(sum), label_logit(a, logits, label, maximum)};
}

template <int N, class T>
__device__ void store_gradient(const LossOperands<T>& a, T* logits, int64_t label, bool ignored,
                               const RowLoss& loss) {
  const float factor = a.scale / loss.sum;
  const auto value = [&](float x, int64_t j) {
    if (ignored || j >= a.real) return from_f32<T>(0.0F);
    const float weight = expf(x - loss.maximum) * factor;
    return from_f32<T>(j == label ? weight - a.scale : weight);
  };
  const auto in_packs = a.cols / N * N;
  for (int64_t j = static_cast<int64_t>(threadIdx.x) * N; j < in_packs;
       j += static_cast<int64_t>(blockDim.x) * N) {
    auto pack = load<N>(logits + j);
    for (int e = 0; e < N; ++e) pack.at[e] = value(to_f32(pack.at[e]), j + e);
    store<N>(logits + j, pack);
  }
  for (int64_t j = in_packs + threadIdx.x; j < a.cols; j += blockDim.x)
    logits[j] = value(to_f32(logits[j]), j);
}

template <class T, int N>
__global__ void loss_kernel(LossOperands<T> a) {
  for (int64_t i = blockIdx.x; i < a.rows; i += gridDim.x) {
    T* logits = a.logits.row(i);
    const int32_t id = a.labels[i];
    const auto label = id - a.vocab_begin;
    const bool leads = threadIdx.x == 0;
    const auto statistic = [&](int which) -> float& { return a.stats.row(which)[i]; };
    if (a.phase == CrossEntropyPhase::maximum) {
      const float maximum = row_maximum<N>(a, logits);
      if (leads) statistic(0) = maximum;
      continue;
    }
    if (a.phase == CrossEntropyPhase::exponentials) {
      const float maximum = statistic(0);
      const float sum = row_exponentials<N>(a, logits, maximum);
      if (leads) {
        statistic(1) = sum;
        statistic(2) = label_logit(a, logits, label, maximum);
      }
      continue;
    }
    RowLoss loss{};
    if (a.phase == CrossEntropyPhase::gradient) {
      loss = {statistic(0), statistic(1), statistic(2)};
    } else {
      loss = row_softmax<N>(a, logits, label);
      if (leads && a.stats.data != nullptr) {
        statistic(0) = loss.maximum;
        statistic(1) = loss.sum;
        statistic(2) = loss.label_logit;
      }
      __syncthreads();  // every thread has read the label's logit
    }
    const bool ignored = id < 0;
    if (leads) {
      const auto value = log(static_cast<double>(loss.sum)) - static_cast<double>(loss.label_logit);
      a.losses[i] = ignored ? 0.0 : value;
    }
    if (a.scale != 0.0F) store_gradient<N>(a, logits, label, ignored, loss);
  }
}

__global__ void add_losses_kernel(const double* losses, int64_t rows, double weight, double* out) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows; i += blockDim.x) sum += losses[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out += sum * weight;
}

template <class T>
void play_rows(cudaStream_t stream, const CrossEntropyArgs& args, double* losses) {
  LossOperands<T> a{};
  a.logits = matrix_of<T>(args.logits);
  a.labels = args.labels.as<int32_t>();
  if (args.stats.present()) a.stats = matrix_of<float>(args.stats);
  a.losses = losses;
  a.rows = args.logits.rows;
  a.cols = args.logits.cols;
  a.real = std::clamp<int64_t>(args.vocab - args.vocab_begin, 0, a.cols);
  a.vocab_begin = args.vocab_begin;
  a.scale = static_cast<float>(args.scale);
  a.phase = args.phase;
  constexpr int n = wide<T>;
  // Rows begin on packs; what is left at their ends is walked one by one.
  const auto packs = packable(n, 0, {args.logits});
  launch(stream, row_grid(a.rows), loss_threads, 0, packs ? loss_kernel<T, n> : loss_kernel<T, 1>, a);
}

}  // namespace

void cross_entropy(cudaStream_t stream, const CrossEntropyArgs& args, const Scratch& scratch) {
  auto* losses = reinterpret_cast<double*>(scratch.data);
  const auto stretch = scratch.bytes / static_cast<int64_t>(sizeof(double));
  const auto sums = args.phase == CrossEntropyPhase::whole || args.phase == CrossEntropyPhase::gradient;
  for (int64_t begin = 0; begin < args.logits.rows; begin += stretch) {
    const auto count = std::min(stretch, args.logits.rows - begin);
    auto part = args;
    part.logits = args.logits.row_range(begin, count);
    part.labels.data += begin * static_cast<int64_t>(sizeof(int32_t));
    if (args.stats.present()) part.stats.data += begin * static_cast<int64_t>(sizeof(float));
    by_element(args.logits.dtype, [&]<class T>() { play_rows<T>(stream, part, losses); });
    // A rank with weight 0 must not turn another's infinity into NaN.
    if (sums && args.loss_weight != 0.0) {
      launch(stream, dim3(1), loss_threads, 0, add_losses_kernel, static_cast<const double*>(losses), count,
             args.loss_weight, args.loss.as<double>());
    }
  }
}

}  // namespace galvatron::kernels::cuda
