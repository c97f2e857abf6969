// Flattens nested objects of numbers; what the keys mean is known to the cost room.
#include "store/galvatron3/numbers_file.hpp"

#include <cmath>

#include "store/galvatron3/json.hpp"

namespace galvatron::store::galvatron3 {
namespace {

void flatten(const nlohmann::ordered_json& object, const std::string& stem, cost::galvatron3::Numbers& out) {
  for (const auto& [key, value] : object.items()) {
    const auto path = stem.empty() ? key : stem + "/" + key;
    if (value.is_object()) {
      flatten(value, path, out);
    } else if (!value.is_number()) {
      refuse_value(out.file, path, value, "is no number");
    } else if (!std::isfinite(value.get<double>())) {
      refuse_value(out.file, path, value, "is not finite");
    } else {
      out.values.emplace_back(path, value.get<double>());
    }
  }
}

}  // namespace

cost::galvatron3::Numbers parse_numbers(std::string_view text, const std::string& file) {
  cost::galvatron3::Numbers out;
  out.file = file;
  flatten(parse_object(text, file), "", out);
  return out;
}

cost::galvatron3::Numbers read_numbers(const std::filesystem::path& file) {
  return parse_numbers(read_json_text(file), file.string());
}

}  // namespace galvatron::store::galvatron3
