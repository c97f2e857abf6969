// galvatron show FILE: a deck, plan, profile or checkpoint in words and tables. What a file is follows from
// its content, not its name.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "app/alone.hpp"
#include "app/verbs.hpp"
#include "comm/world.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "deck/deck.hpp"
#include "measure/report.hpp"
#include "plan/plan.hpp"
#include "search/report.hpp"
#include "spec/model.hpp"
#include "store/checkpoint.hpp"
#include "store/profile_file.hpp"

namespace galvatron::app {
namespace {

namespace fs = std::filesystem;

/// plan.toml begins with its version; a deck has sections only.
bool is_plan(const std::string& text) {
  return text.find("\nworld = ") != std::string::npos || text.starts_with("world = ");
}

/// The model of the deck beside the plan: a plan speaks of layers, the deck says what they are.
std::string show_plan(const std::string& file, const std::string& text) {
  const auto deck_file = fs::path(file).parent_path() / "deck.toml";
  if (!fs::exists(deck_file))
    throw core::UserError(core::format("{}: a plan is shown with its model, from {}, which is not there",
                                       file, deck_file.string()));
  const auto deck = deck::parse_deck(read_text(deck_file.string()), deck_file.string(), {});
  const auto model = spec::model_from_deck(deck.model);
  std::string out = search::plan_table(plan::plan_from_toml(text, file, model), model);
  // What the search had to choose from, where one was made.
  const auto search_file = fs::path(file).parent_path() / "search.txt";
  if (fs::exists(search_file)) out += "\n" + read_text(search_file.string());
  return out;
}

std::string show_profile(const std::string& file) {
  const auto profile = store::read_profile(file);
  std::string out = measure::hardware_report(profile.hardware);
  out += core::format("\nlayer steps: {} signatures\n{:<56} {:>7} {:>22} {:>22}\n",
                      profile.model.steps.size(), "step", "points", "fewest rows", "most rows");
  for (const auto& [key, curve] : profile.model.steps) {
    if (curve.points.empty()) continue;
    auto end = [](const cost::Curve::Point& p) {
      return core::format("{:.0f}: {}", p.x, core::format_seconds(p.seconds));
    };
    out += core::format("{:<56} {:>7} {:>22} {:>22}\n", key, curve.points.size(), end(curve.points.front()),
                        end(curve.points.back()));
  }
  return out;
}

/// 2-norm of elements of either floating type.
double norm_of(const std::vector<std::byte>& data, core::DType dtype) {
  double sum = 0;
  const auto size = static_cast<size_t>(core::size_of(dtype));
  for (size_t at = 0; at + size <= data.size(); at += size) {
    double value = 0;
    if (dtype == core::DType::f64) {
      std::memcpy(&value, data.data() + at, size);
    } else {
      float narrow = 0;
      std::memcpy(&narrow, data.data() + at, size);
      value = narrow;
    }
    sum += value * value;
  }
  return std::sqrt(sum);
}

std::string show_checkpoint(const std::string& file) {
  const auto state = store::read_state(file);
  const auto tensors = store::read_tensors(file);
  store::verify_checkpoint(file);
  std::string out =
      core::format("checkpoint of step {}, {} samples seen, seed {}; every block verified\nmodel {}\n",
                   state.step, state.samples, state.seed, state.model_fingerprint);
  for (const auto& [key, value] : state.more) out += core::format("{} {}\n", key, value);
  out += core::format("\n{:<60} {:>5} {:>16} {:>12}\n", "tensor", "type", "shape", "2-norm");
  const auto alone = comm::make_dry_world(0, 1, 1);
  for (const auto& tensor : tensors) {
    std::vector<std::byte> data(static_cast<size_t>(tensor.elements() * core::size_of(tensor.dtype)));
    const std::vector<store::TensorInfo> wanted = {tensor};
    const std::vector<store::Piece> piece = {{0, 0, tensor.elements(), data.data()}};
    store::load_checkpoint(*alone, file, wanted, piece);
    std::vector<std::string> dims;
    for (const auto extent : tensor.shape) dims.push_back(std::to_string(extent));
    out += core::format("{:<60} {:>5} {:>16} {:>12.6g}\n", tensor.name, core::name(tensor.dtype),
                        core::join(dims, " × "), norm_of(data, tensor.dtype));
  }
  return out;
}

/// Both kinds of HDF5 file are ours; the reader of the right one does not complain.
std::string show_hdf5(const std::string& file) {
  try {
    return show_profile(file);
  } catch (const core::UserError&) {
    return show_checkpoint(file);
  }
}

}  // namespace

core::ExitCode show_verb(Context& context) {
  const auto& file = context.line.file;
  if (file.empty()) throw core::UserError("show needs a file: a deck, plan.toml, profile.h5 or a checkpoint");
  const auto text = read_text(file);
  if (file.ends_with(".h5"))
    context.console.print(show_hdf5(file));
  else if (is_plan(text))
    context.console.print(show_plan(file, text));
  else
    context.console.print(deck::to_toml(deck::parse_deck(text, file, context.line.overrides)));
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
