// The facts about element types.
#include "core/dtype.hpp"

#include "core/errors.hpp"

namespace galvatron::core {

int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::u8:
      return 1;
  }
  throw InternalError("unknown element type");
}

DType accumulator_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return DType::f64;
    case DType::f32:
    case DType::bf16:
    case DType::f16:
      return DType::f32;
    case DType::i32:
    case DType::i64:
    case DType::u8:
      break;
  }
  throw InternalError("an element type that is not summed");
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  throw InternalError("unknown element type");
}

}  // namespace galvatron::core
