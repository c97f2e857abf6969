// Reading what a verb needs, and playing it where no ranks are needed.
#include "app/alone.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/format.hpp"
#include "deck/deck.hpp"

namespace galvatron::app {

std::string read_text(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw core::UserError(file + ": is a folder, not a file");
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) throw core::UserError(file + ": cannot be read");
  return bytes;
}

void write_text(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) throw core::UserError(core::ExitCode::environment, file + ": cannot be written");
}

deck::DeckValues deck_of(const Verb& verb, const CommandLine& line, const std::string& bytes) {
  std::vector<std::string> problems = line.problems;
  deck::DeckValues values;
  const bool has_deck = verb.argument == Argument::deck && !line.file.empty();
  const bool has_keys_only = verb.launch == Launch::ranks && verb.argument != Argument::deck;
  if (has_deck || has_keys_only) {
    try {
      values = deck::parse_deck(bytes, has_deck ? line.file : "command line", line.overrides);
    } catch (const core::UserError& error) {
      problems.emplace_back(error.what());
    }
  }
  if (!problems.empty()) throw core::UserError(core::join(problems, "\n"));
  return values;
}

core::ExitCode play_alone(const Verb& verb, const CommandLine& line, Console& console, Result& result) {
  const bool reads_deck = verb.argument == Argument::deck && !line.file.empty();
  Context context{line, deck_of(verb, line, reads_deck ? read_text(line.file) : ""), console, result};
  return verb.play(context);
}

}  // namespace galvatron::app
