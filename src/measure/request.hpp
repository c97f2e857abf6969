#pragma once
// What is to be measured, for whom, and with what program: the inputs of a profile.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "measure/loader_bench.hpp"
#include "measure/worklist.hpp"

namespace galvatron::measure {

struct Request {
  int32_t threads = 1;       ///< per rank, of the kernels
  std::string talk_mark;     ///< changes with what talks: program, compiler, message library
  std::string compute_mark;  ///< changes with what computes: program, compiler, math library
  std::string model_fingerprint;
  core::DType dtype = core::DType::f32;
  std::vector<LayerCase> layers;                  ///< what plans may ask for
  ReadSample read_sample;                         ///< empty = there are no data to read
  std::map<std::string, std::string> conditions;  ///< of the caller: date, versions …
};

}  // namespace galvatron::measure
