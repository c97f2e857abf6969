// Reads recorded values, and makes weights and tokens by the recorder's formulas: a counter through the
// splitmix64 finaliser (Steele, Lea and Flood, OOPSLA 2014), keyed by the FNV-1a hash of a name.

#include "support/reference.hpp"

#include "store/hdf5.hpp"

namespace galvatron::testing {
namespace {

namespace h5 = store::h5;

uint64_t fnv1a64(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return value;
}

uint64_t splitmix64(uint64_t x) {
  uint64_t z = x + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

class Settings {
 public:
  explicit Settings(hid_t file) : group_(GALV_H5(H5Gopen2(file, "settings", H5P_DEFAULT)), H5Gclose) {}
  int64_t integer(const std::string& key) const { return h5::read_integer_attribute(group_.get(), key); }
  std::string text(const std::string& key) const { return h5::read_text_attribute(group_.get(), key); }
  double number(const std::string& key) const { return h5::read_numbers(group_.get(), key).at(0); }

 private:
  h5::Handle group_;
};

spec::ModelSpec model_of(const Settings& settings) {
  deck::ModelSection section;
  section.family = settings.text("family");
  section.layers = settings.integer("layers");
  section.hidden = settings.integer("hidden");
  section.heads = settings.integer("heads");
  section.kv_heads = settings.integer("kv_heads");
  section.ffn = settings.integer("ffn");
  section.vocab = settings.integer("vocab");
  section.seq = settings.integer("seq");
  section.norm = settings.text("norm");
  section.activation = settings.text("activation");
  section.position = settings.text("position");
  section.bias = settings.integer("bias") != 0;
  section.tie_embeddings = settings.integer("tie_embeddings") != 0;
  section.norm_eps = settings.number("norm_eps");
  if (section.position == "rope") section.rope_base = settings.number("rope_base");
  return spec::model_from_deck(section);
}

deck::TrainSection train_of(const Settings& settings) {
  deck::TrainSection train;
  train.steps = settings.integer("schedule_steps");
  train.warmup = settings.integer("warmup");
  train.lr = settings.number("lr");
  train.min_lr = settings.number("min_lr");
  train.decay = "cosine";
  train.weight_decay = settings.number("weight_decay");
  train.betas = {settings.number("beta1"), settings.number("beta2")};
  train.eps = settings.number("eps");
  train.clip = settings.number("clip");
  return train;
}

Tensors tensors_in(hid_t file, const char* name) {
  const h5::Handle group(GALV_H5(H5Gopen2(file, name, H5P_DEFAULT)), H5Gclose);
  Tensors tensors;
  for (const auto& tensor : h5::names_in(group.get()))
    tensors["model/" + tensor] = h5::read_numbers(group.get(), tensor);
  return tensors;
}

RecordedTraining training_in(hid_t file) {
  return {h5::read_numbers(file, "losses"), h5::read_numbers(file, "gradient_norms"),
          tensors_in(file, "gradients"), tensors_in(file, "weights")};
}

}  // namespace

Reference read_reference(const std::string& family) {
  const auto file = h5::open_file(GALVATRON_SOURCE_DIR "/tests/golden/reference/" + family + ".h5");
  const Settings settings(file.get());
  Reference reference;
  reference.versions = "PyTorch " + h5::read_text_attribute(file.get(), "torch") + ", transformers " +
                       h5::read_text_attribute(file.get(), "transformers");
  reference.model = model_of(settings);
  reference.train = train_of(settings);
  reference.batch = settings.integer("batch");
  reference.steps = settings.integer("steps");
  reference.token_losses = h5::read_numbers(file.get(), "token_losses");
  reference.logits = h5::read_numbers(file.get(), "logits");
  reference.fp64 = training_in(file.get());
  const h5::Handle fp16(GALV_H5(H5Gopen2(file.get(), "float16", H5P_DEFAULT)), H5Gclose);
  reference.fp16 = training_in(fp16.get());
  return reference;
}

double reference_weight(const store::TensorInfo& tensor, int64_t i) {
  const auto name = tensor.name.substr(std::string("model/").size());
  const auto bits = splitmix64(fnv1a64(name) + static_cast<uint64_t>(i)) >> 53;
  const auto u = static_cast<double>(bits) / 1024 - 1;
  if (tensor.shape.size() > 1) return u / 4;
  return u / 8 + (name.ends_with("norm.weight") ? 1 : 0);
}

void ReferenceTokens::read(int64_t offset, std::span<int32_t> out) const {
  for (auto& token : out)
    token = static_cast<int32_t>(splitmix64(fnv1a64("tokens") + static_cast<uint64_t>(offset++)) %
                                 static_cast<uint64_t>(vocabulary_));
}

}  // namespace galvatron::testing
