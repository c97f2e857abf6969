// oneDNN's matmul primitives with a cache. The only file that knows which major version of oneDNN is there:
// version 3 took away the operation descriptors between a primitive's attributes and its own descriptor.

#include "kernels/cpu/onednn.hpp"

#include <omp.h>

#include <array>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::kernels {
namespace {

using dnnl::memory;
using Key = std::array<int64_t, 8>;

/// oneDNN plans for and runs on as many threads as OpenMP would give the caller.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

int64_t inner(const GemmArgs& args) {
  return args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
}

/// A single row may come with any stride, even 0; the library wants a sound one.
int64_t stride_of(const TensorView& view) {
  return view.rows <= 1 ? view.cols : view.row_stride;
}

Key key_of(const GemmArgs& args) {
  const auto flags = (args.transpose_a == Transpose::yes ? 1 : 0) |
                     (args.transpose_b == Transpose::yes ? 2 : 0) |
                     (args.write == Write::accumulate ? 4 : 0) | (args.bias.present() ? 8 : 0);
  const auto types = static_cast<int64_t>(args.a.dtype) << 8 | static_cast<int64_t>(args.c.dtype);
  return {args.c.rows,       args.c.cols,       inner(args), stride_of(args.a),
          stride_of(args.b), stride_of(args.c), flags,       types};
}

memory::data_type type_of(const TensorView& view) {
  return view.dtype == core::DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc operand(int64_t rows, int64_t cols, const TensorView& view, Transpose transpose) {
  const auto stride = stride_of(view);
  const auto strides = transpose == Transpose::yes ? memory::dims{1, stride} : memory::dims{stride, 1};
  return {memory::dims{rows, cols}, type_of(view), strides};
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const GemmArgs& args) {
  const auto m = args.c.rows;
  const auto n = args.c.cols;
  const auto a = operand(m, inner(args), args.a, args.transpose_a);
  const auto b = operand(inner(args), n, args.b, args.transpose_b);
  const auto c = operand(m, n, args.c, Transpose::no);
  const auto bias =
      args.bias.present() ? memory::desc({1, n}, type_of(args.bias), memory::dims{n, 1}) : memory::desc();
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (args.write == Write::accumulate) {
    dnnl::post_ops ops;
    ops.append_sum(1.0F);
    attributes.set_post_ops(ops);
  }
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, bias, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, bias, c), attributes, engine};
#endif
}

/// A primitive and the memory objects that it is called with; only their addresses change from call to call.
struct Product {
  Product(const dnnl::engine& engine, const GemmArgs& args) : Product(engine, describe(engine, args), args) {}

  Product(const dnnl::engine& engine, const dnnl::matmul::primitive_desc& desc, const GemmArgs& args)
      : primitive(desc), scratch_bytes(static_cast<int64_t>(desc.scratchpad_desc().get_size())) {
    const auto add = [&](int name, const memory::desc& layout) {
      memories.emplace_back(layout, engine, nullptr);
      operands.push_back({name, memories.back().get()});
    };
    add(DNNL_ARG_SRC, desc.src_desc());
    add(DNNL_ARG_WEIGHTS, desc.weights_desc());
    add(DNNL_ARG_DST, desc.dst_desc());
    if (args.bias.present()) add(DNNL_ARG_BIAS, desc.bias_desc());
    if (scratch_bytes > 0) add(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
  }

  /// The library's C call: its C++ one makes a list of operands on the heap every time.
  void execute(const dnnl::stream& stream) const {
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), stream.get(),
                                                   static_cast<int>(operands.size()), operands.data()),
                            "could not execute a primitive");
  }

  void point(int name, const TensorView& view) const {
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i].arg == name) memories[i].set_data_handle(view.data);
  }

  dnnl::matmul primitive;
  int64_t scratch_bytes;
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> operands;  ///< the same, as the library is told of them
};

}  // namespace

struct OneDnnGemm::Impl {
  /// The library would keep every primitive that was ever made for itself, beyond the life of this one.
  explicit Impl(int count) : threads(count) { dnnl::set_primitive_cache_capacity(0); }

  Product& product(const GemmArgs& args) {
    const auto key = key_of(args);
    auto found = products.find(key);
    if (found == products.end()) found = products.try_emplace(key, engine, args).first;
    return found->second;
  }

  int threads;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Key, Product> products;
};

OneDnnGemm::OneDnnGemm(int threads) : impl_(std::make_unique<Impl>(threads)) {}
OneDnnGemm::~OneDnnGemm() = default;

namespace {

template <class Body>
auto translated(const GemmArgs& args, Body body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    throw core::InternalError(
        core::format("oneDNN: gemm {} x {} x {}: {}", args.c.rows, args.c.cols, inner(args), error.what()));
  }
}

}  // namespace

bool OneDnnGemm::takes(core::DType type) const {
  if (type == core::DType::f32) return true;
  // The levels are sets of bits: a level holds all that it builds on.
  const auto has = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return type == core::DType::bf16 && (has & wanted) == wanted;
}

void OneDnnGemm::run(const GemmArgs& args) {
  const ThreadScope scope(impl_->threads);
  translated(args, [&] {
    auto& product = impl_->product(args);
    product.point(DNNL_ARG_SRC, args.a);
    product.point(DNNL_ARG_WEIGHTS, args.b);
    product.point(DNNL_ARG_DST, args.c);
    if (args.bias.present()) product.point(DNNL_ARG_BIAS, args.bias);
    if (product.scratch_bytes > 0) {
      GALV_ASSERT(args.workspace.bytes() >= product.scratch_bytes, args.workspace.bytes(),
                  product.scratch_bytes);
      product.point(DNNL_ARG_SCRATCHPAD, args.workspace);
    }
    product.execute(impl_->stream);
  });
}

int64_t OneDnnGemm::workspace_bytes(const GemmArgs& args) {
  if (args.c.elements() == 0 || inner(args) == 0) return 0;
  const ThreadScope scope(impl_->threads);
  return translated(args, [&] { return impl_->product(args).scratch_bytes; });
}

}  // namespace galvatron::kernels
