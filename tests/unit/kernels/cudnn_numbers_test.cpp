// The numbers by which this program speaks with cuDNN are those of its header, where there is one. Nothing to
// run: it compiles or not.
#include <cudnn_graph.h>

#include "kernels/cuda/cudnn.hpp"

namespace galvatron::kernels::cuda::cudnn {
namespace {

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}

static_assert(same(Kind::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(same(Kind::engine_configuration, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(same(Kind::heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(same(Kind::execution_plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(same(Kind::pointwise_operation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(same(Kind::operation_graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(same(Kind::variant_pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(same(Kind::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(same(Kind::matmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
static_assert(same(Kind::matmul_operation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
static_assert(same(Kind::reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
static_assert(same(Kind::reduction_operation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
static_assert(same(Kind::reshape_operation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
static_assert(same(Attribute::pointwise_mode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(same(Attribute::pointwise_precision, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(same(Attribute::pointwise_axis, CUDNN_ATTR_POINTWISE_AXIS));
static_assert(same(Attribute::heuristics_mode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(same(Attribute::heuristics_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(same(Attribute::heuristics_results, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(same(Attribute::plan_handle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
static_assert(same(Attribute::plan_configuration, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(same(Attribute::plan_workspace_bytes, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(same(Attribute::pointwise_descriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(same(Attribute::pointwise_x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(same(Attribute::pointwise_b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(same(Attribute::pointwise_y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(same(Attribute::pointwise_t, CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
static_assert(same(Attribute::graph_handle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
static_assert(same(Attribute::graph_operations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(same(Attribute::tensor_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(same(Attribute::tensor_type, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(same(Attribute::tensor_dims, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(same(Attribute::tensor_strides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(same(Attribute::tensor_id, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(same(Attribute::tensor_is_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(same(Attribute::tensor_is_by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
static_assert(same(Attribute::pack_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(same(Attribute::pack_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(same(Attribute::pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(same(Attribute::matmul_precision, CUDNN_ATTR_MATMUL_COMP_TYPE));
static_assert(same(Attribute::matmul_a, CUDNN_ATTR_OPERATION_MATMUL_ADESC));
static_assert(same(Attribute::matmul_b, CUDNN_ATTR_OPERATION_MATMUL_BDESC));
static_assert(same(Attribute::matmul_c, CUDNN_ATTR_OPERATION_MATMUL_CDESC));
static_assert(same(Attribute::matmul_descriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC));
static_assert(same(Attribute::reduction_operator, CUDNN_ATTR_REDUCTION_OPERATOR));
static_assert(same(Attribute::reduction_precision, CUDNN_ATTR_REDUCTION_COMP_TYPE));
static_assert(same(Attribute::reduction_x, CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
static_assert(same(Attribute::reduction_y, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
static_assert(same(Attribute::reduction_descriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC));
static_assert(same(Attribute::reshape_x, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
static_assert(same(Attribute::reshape_y, CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
static_assert(same(Form::handle, CUDNN_TYPE_HANDLE));
static_assert(same(Form::data_type, CUDNN_TYPE_DATA_TYPE));
static_assert(same(Form::boolean, CUDNN_TYPE_BOOLEAN));
static_assert(same(Form::int64, CUDNN_TYPE_INT64));
static_assert(same(Form::pointer, CUDNN_TYPE_VOID_PTR));
static_assert(same(Form::heuristics_mode, CUDNN_TYPE_HEUR_MODE));
static_assert(same(Form::pointwise_mode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(same(Form::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(same(Form::reduction_operator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
static_assert(same(Form::text, CUDNN_TYPE_CHAR));
static_assert(same(Type::f32, CUDNN_DATA_FLOAT));
static_assert(same(Type::f16, CUDNN_DATA_HALF));
static_assert(same(Type::i32, CUDNN_DATA_INT32));
static_assert(same(Type::bf16, CUDNN_DATA_BFLOAT16));
static_assert(same(Type::boolean, CUDNN_DATA_BOOLEAN));
static_assert(same(Pointwise::add, CUDNN_POINTWISE_ADD));
static_assert(same(Pointwise::multiply, CUDNN_POINTWISE_MUL));
static_assert(same(Pointwise::divide, CUDNN_POINTWISE_DIV));
static_assert(same(Pointwise::subtract, CUDNN_POINTWISE_SUB));
static_assert(same(Pointwise::exponential, CUDNN_POINTWISE_EXP));
static_assert(same(Pointwise::logarithm, CUDNN_POINTWISE_LOG));
static_assert(same(Pointwise::not_less, CUDNN_POINTWISE_CMP_GE));
static_assert(same(Pointwise::index, CUDNN_POINTWISE_GEN_INDEX));
static_assert(same(Pointwise::select, CUDNN_POINTWISE_BINARY_SELECT));
static_assert(same(Reduction::add, CUDNN_REDUCE_TENSOR_ADD));
static_assert(same(Reduction::maximum, CUDNN_REDUCE_TENSOR_MAX));
static_assert(same(fast_heuristics, CUDNN_HEUR_MODE_A) && same(success, CUDNN_STATUS_SUCCESS));

}  // namespace
}  // namespace galvatron::kernels::cuda::cudnn
