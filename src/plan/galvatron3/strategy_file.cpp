// What both directions between plans and strategy files know.
#include "plan/galvatron3/strategy_file.hpp"

namespace galvatron::plan::galvatron3 {

std::string no_blocks(const spec::ModelSpec& model) {
  const bool blocks = model.size() >= 4 && model.size() % 2 == 0 &&
                      model.layers.front().kind == "embedding" && model.layers.back().kind == "head";
  return blocks ? "" : "the model is not embedding, blocks of attention and mlp, head";
}

bool is_alone(const spec::LayerStrategy& s) {
  return int64_t{s.dp} * s.cp * s.sp == 1;
}

std::vector<int64_t> even_stages(int64_t blocks, int64_t stages) {
  std::vector<int64_t> out(static_cast<size_t>(stages), blocks / stages);
  out.back() += blocks % stages;
  return out;
}

}  // namespace galvatron::plan::galvatron3
