// Lists are strings of numbers with commas between them. The program that reads these files looks for
// vocab_sdp, the one that writes them writes embed_sdp; here both are written, and either is read.
#include "store/galvatron3/strategy_file.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/galvatron3/json.hpp"

namespace galvatron::store::galvatron3 {
namespace {

using Json = nlohmann::ordered_json;
using plan::galvatron3::StrategyFile;

constexpr int64_t largest = std::numeric_limits<int32_t>::max();

/// One object: hands out values by key and at the end knows which keys nobody asked for.
class Fields {
 public:
  Fields(Json json, const std::string& file) : json_(std::move(json)), file_(file) {}

  const Json* find(const char* key) {
    known_.emplace_back(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  const Json& need(const char* key) {
    const auto* value = find(key);
    if (value == nullptr) throw core::UserError(core::format("{}: key '{}' is missing", file_, key));
    return *value;
  }

  int64_t count(const char* key, const Json& value, int64_t low, int64_t high = largest) const {
    if (value.is_number_integer()) {
      const auto number = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(largest)
                              ? int64_t{-1}
                              : value.get<int64_t>();
      if (number >= low && number <= high) return number;
    }
    refuse_value(file_, key, value, core::format("is no number from {} to {}", low, high));
  }

  int64_t count_or(const char* key, int64_t standard, int64_t low, int64_t high = largest) {
    const auto* value = find(key);
    return value == nullptr ? standard : count(key, *value, low, high);
  }

  std::vector<int64_t> list(const char* key, const Json& value, int64_t low, int64_t high = largest) const {
    std::vector<int64_t> out;
    const auto fault = core::format("is no list like \"1,1\" of numbers from {} to {}", low, high);
    if (!value.is_string()) refuse_value(file_, key, value, fault);
    const auto& text = value.get_ref<const std::string&>();
    const char* at = text.data();
    const char* end = at + text.size();
    while (true) {
      while (at != end && *at == ' ') ++at;
      int64_t number = 0;
      const auto read = std::from_chars(at, end, number);
      if (read.ec != std::errc() || number < low || number > high) refuse_value(file_, key, value, fault);
      out.push_back(number);
      at = read.ptr;
      while (at != end && *at == ' ') ++at;
      if (at == end) return out;
      if (*at++ != ',') refuse_value(file_, key, value, fault);
    }
  }

  std::vector<int64_t> list_or(const char* key, size_t size, int64_t standard, int64_t low,
                               int64_t high = largest) {
    const auto* value = find(key);
    return value == nullptr ? std::vector<int64_t>(size, standard) : list(key, *value, low, high);
  }

  std::string choice(const char* key, const std::vector<std::string>& choices, const std::string& standard) {
    const auto* value = find(key);
    if (value == nullptr) return standard;
    if (value->is_string())
      for (const auto& choice : choices)
        if (value->get_ref<const std::string&>() == choice) return choice;
    refuse_value(file_, key, *value, "is not one of " + core::join(choices, ", "));
  }

  void refuse_unknown() const {
    for (const auto& [key, value] : json_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        refuse_value(file_, key, value, "is not known: such files have no key like this");
  }

 private:
  Json json_;
  const std::string& file_;
  std::vector<std::string> known_;
};

/// Expert parallelism is not played here.
void refuse_experts(Fields& fields, const char* key, size_t blocks, const std::string& file) {
  const auto degrees = fields.list_or(key, blocks, 1, 1);
  if (std::any_of(degrees.begin(), degrees.end(), [](int64_t degree) { return degree > 1; }))
    refuse_value(file, key, *fields.find(key), "splits experts, which is not supported");
}

int64_t vocab_sharding(Fields& fields, const std::string& file) {
  const auto* read = fields.find("vocab_sdp");
  const auto* written = fields.find("embed_sdp");
  if (read == nullptr) return written == nullptr ? 0 : fields.count("embed_sdp", *written, 0, 1);
  const auto value = fields.count("vocab_sdp", *read, 0, 1);
  if (written != nullptr && fields.count("embed_sdp", *written, 0, 1) != value)
    refuse_value(file, "vocab_sdp", *read, "contradicts embed_sdp");
  return value;
}

std::string list_text(const std::vector<int64_t>& list) {
  std::vector<std::string> parts;
  for (const auto number : list) parts.push_back(core::format("{}", number));
  return core::join(parts, ",");
}

}  // namespace

StrategyFile parse_strategy_file(std::string_view text, const std::string& file) {
  Fields fields(parse_object(text, file), file);
  StrategyFile out;
  out.pp_deg = fields.count("pp_deg", fields.need("pp_deg"), 1);
  out.tp_sizes_enc = fields.list("tp_sizes_enc", fields.need("tp_sizes_enc"), 1);
  const auto blocks = out.tp_sizes_enc.size();
  out.dp_types_enc = fields.list("dp_types_enc", fields.need("dp_types_enc"), 0, 1);
  out.global_bsz = fields.count("global_bsz", fields.need("global_bsz"), 1);
  out.chunks = fields.count("chunks", fields.need("chunks"), 1);
  out.cp_sizes_enc = fields.list_or("cp_sizes_enc", blocks, 1, 1);
  out.use_sp = fields.list_or("use_sp", blocks, 0, 0, 1);
  out.checkpoint = fields.list_or("checkpoint", blocks, 0, 0, 1);
  fields.list_or("tp_consecutive_flags", blocks, 1, 0, 1);  // groups of tp are neighbours whatever it says
  if (const auto* division = fields.find("pp_division"))
    out.pp_division = fields.list("pp_division", *division, 1);
  out.world_size = fields.count_or("world_size", 0, 1);
  out.pipeline_type = fields.choice("pipeline_type", {"pipedream_flush", "gpipe"}, out.pipeline_type);
  out.default_dp_type = fields.choice("default_dp_type", {"zero2", "ddp"}, out.default_dp_type);
  out.vtp = fields.count_or("vtp", 1, 1);
  out.vsp = fields.count_or("vsp", 0, 0, 1);
  out.vcp = fields.count_or("vcp", 1, 1);
  out.embed_sdp = vocab_sharding(fields, file);
  refuse_experts(fields, "ep_sizes_enc", blocks, file);
  refuse_experts(fields, "tp_of_ep_sizes_enc", blocks, file);
  fields.refuse_unknown();
  return out;
}

StrategyFile read_strategy_file(const std::filesystem::path& file) {
  return parse_strategy_file(read_json_text(file), file.string());
}

std::string to_json(const StrategyFile& f) {
  Json out;
  out["pp_deg"] = f.pp_deg;
  out["tp_sizes_enc"] = list_text(f.tp_sizes_enc);
  out["tp_consecutive_flags"] = list_text(std::vector<int64_t>(f.tp_sizes_enc.size(), 1));
  out["dp_types_enc"] = list_text(f.dp_types_enc);
  out["use_sp"] = list_text(f.use_sp);
  out["cp_sizes_enc"] = list_text(f.cp_sizes_enc);
  out["checkpoint"] = list_text(f.checkpoint);
  if (f.world_size > 0) out["world_size"] = f.world_size;
  out["global_bsz"] = f.global_bsz;
  out["chunks"] = f.chunks;
  if (!f.pp_division.empty()) out["pp_division"] = list_text(f.pp_division);
  out["pipeline_type"] = f.pipeline_type;
  out["default_dp_type"] = f.default_dp_type;
  out["vtp"] = f.vtp;
  out["vsp"] = f.vsp;
  out["vcp"] = f.vcp;
  out["embed_sdp"] = f.embed_sdp;
  out["vocab_sdp"] = f.embed_sdp;
  return out.dump(4) + "\n";
}

}  // namespace galvatron::store::galvatron3
