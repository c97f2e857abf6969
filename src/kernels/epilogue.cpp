// A product and what follows it, for back ends that have no kernel for the two.

#include "kernels/kernels.hpp"

namespace galvatron::kernels {

void Kernels::gemm_with(Stream& stream, const GemmArgs& args, const Epilogue& epilogue) {
  gemm(stream, args);
  switch (epilogue.kind) {
    case core::EpilogueKind::gelu:
      return activation(stream, ActivationKind::gelu, args.c, epilogue.out);
    case core::EpilogueKind::gelu_backward:
      return activation_backward(stream, ActivationKind::gelu, epilogue.x, args.c, epilogue.out);
    case core::EpilogueKind::column_sum:
      return column_sum(stream, args.a, epilogue.out);
  }
}

}  // namespace galvatron::kernels
