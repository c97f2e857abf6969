#pragma once
// The few functions of cuDNN's graph interface that are used, and descriptors, which are all that they speak
// of. Declared here by their binary interface, which is fixed for all of cuDNN 9: the library is opened at
// run time, because most machines with GPUs lack it, its headers even more often, and it is 500 MB. Knows
// nothing of attention, and needs no CUDA to compile.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace galvatron::kernels::cuda::cudnn {

using Status = int;
inline constexpr Status success = 0;
using Handle = struct OpaqueHandle*;
using RawDescriptor = void*;

enum class Kind : int {
  pointwise = 0,
  engine_configuration = 3,
  heuristics = 4,
  execution_plan = 5,
  pointwise_operation = 13,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
  matmul = 18,
  matmul_operation = 19,
  reduction = 21,
  reduction_operation = 22,
  reshape_operation = 31,
  device_properties = 38,
};

enum class Attribute : int {
  pointwise_mode = 0,
  pointwise_precision = 1,
  pointwise_axis = 9,
  heuristics_mode = 200,
  heuristics_graph = 201,
  heuristics_results = 202,
  heuristics_device = 204,
  plan_handle = 400,
  plan_configuration = 401,
  plan_workspace_bytes = 402,
  plan_device = 407,
  pointwise_descriptor = 750,
  pointwise_x = 751,
  pointwise_b = 752,
  pointwise_y = 753,
  pointwise_t = 758,
  graph_handle = 800,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_dims = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_is_virtual = 907,
  tensor_is_by_value = 908,
  pack_ids = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  matmul_precision = 1500,
  matmul_a = 1520,
  matmul_b = 1521,
  matmul_c = 1522,
  matmul_descriptor = 1523,
  reduction_operator = 1600,
  reduction_precision = 1601,
  reduction_x = 1610,
  reduction_y = 1611,
  reduction_descriptor = 1612,
  reshape_x = 2200,
  reshape_y = 2201,
  device_json = 2702,
};

/// How the bytes of an attribute are to be read.
enum class Form : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  pointer = 6,
  heuristics_mode = 8,
  pointwise_mode = 14,
  descriptor = 15,
  reduction_operator = 18,
  text = 24,
};

enum class Type : int { f32 = 0, f16 = 2, i32 = 4, bf16 = 9, boolean = 11 };
enum class Pointwise : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  not_less = 303,
  index = 501,
  select = 601,
};
enum class Reduction : int { add = 0, maximum = 3 };
inline constexpr int fast_heuristics = 3;  ///< "mode A"

/// What the library gives.
struct Functions {
  Status (*create)(Handle*) = nullptr;
  Status (*destroy)(Handle) = nullptr;
  Status (*set_stream)(Handle, void* stream) = nullptr;
  size_t (*version)() = nullptr;
  const char* (*error_text)(Status) = nullptr;
  Status (*create_descriptor)(Kind, RawDescriptor*) = nullptr;
  Status (*destroy_descriptor)(RawDescriptor) = nullptr;
  Status (*set_attribute)(RawDescriptor, Attribute, Form, int64_t count, const void*) = nullptr;
  Status (*get_attribute)(RawDescriptor, Attribute, Form, int64_t wanted, int64_t* count, void*) = nullptr;
  Status (*finalize)(RawDescriptor) = nullptr;
  Status (*execute)(Handle, RawDescriptor plan, RawDescriptor pack) = nullptr;
};

/// An open library: closed on destruction, when all that came from it is gone.
class Library {
 public:
  /// Nothing where the library or a function of it is missing.
  static std::optional<Library> open(const std::string& name = "libcudnn.so.9");
  /// Functions that need no library.
  explicit Library(const Functions& functions) : functions_(functions) {}

  const Functions& functions() const { return functions_; }
  /// major · 10000 + minor · 100 + patch.
  int64_t version() const { return static_cast<int64_t>(functions_.version()); }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> opened_;
  Functions functions_;
};

/// The library refuses: a shape, a layout, a device that it has no kernel for. Not an error of the program.
struct Refusal {
  std::string text;
};

/// One descriptor. Setting and finalizing throw Refusal.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Functions& functions, Kind kind);

  RawDescriptor get() const { return raw_.get(); }
  void set(Attribute attribute, Form form, int64_t count, const void* values) const;
  void set(Attribute attribute, const Descriptor& other) const;
  void set(Attribute attribute, int64_t value) const;
  void set(Attribute attribute, std::span<const int64_t> values) const;
  void set(Attribute attribute, Type type) const;
  void set(Attribute attribute, bool value) const;
  void finalize() const;
  int64_t integer(Attribute attribute) const;

 private:
  struct Destroy {
    Status (*destroy)(RawDescriptor);
    void operator()(RawDescriptor raw) const { destroy(raw); }
  };
  const Functions* functions_ = nullptr;
  std::unique_ptr<void, Destroy> raw_{nullptr, Destroy{}};
};

/// What `call` returned, as an exception when it is not success.
void check(const Functions& functions, Status status, const char* call);

}  // namespace galvatron::kernels::cuda::cudnn
