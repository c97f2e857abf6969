// The one file that knows the command line library.
#include "app/cli.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "deck/raw.hpp"

namespace galvatron::app {
namespace {

/// The positional words: VERB, then DECK or FILE, then overrides.
void sort_words(const std::vector<std::string>& words, CommandLine& line) {
  for (size_t i = 0; i < words.size(); ++i) {
    const bool is_override = words[i].find('=') != std::string::npos;
    if (i == 0) {
      line.verb = words[i];
    } else if (i > 1 && line.verb == "convert") {
      line.inputs.push_back(words[i]);
    } else if (is_override) {
      line.overrides.push_back(words[i]);
    } else if (line.file.empty()) {
      line.file = words[i];
    } else {
      line.problems.push_back("command line: '" + words[i] + "' is neither an option nor section.key=VALUE");
    }
  }
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words) {
  CommandLine line;
  std::vector<std::string> positional;
  std::string resume;
  bool version = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;

  CLI::App parser;
  parser.set_help_flag();
  parser.allow_extras();
  parser.add_option("words", positional);
  // The last word counts, so that a script can add its own to those of its user.
  auto* out_option = parser.add_option("--out", line.out)->take_last();
  auto* resume_option = parser.add_option("--resume", resume)->take_last();
  parser.add_flag("--overwrite", line.overwrite);
  parser.add_flag("--log", line.log);
  const std::vector<CLI::Option*> of_some_verbs = {
      parser.add_flag("--space", line.space),     parser.add_option("--html", line.html),
      parser.add_option("--to", line.to),         parser.add_option("--checkpoint", line.checkpoint),
      parser.add_option("--prompt", line.prompt), parser.add_option("--prompt-ids", line.prompt_ids),
      parser.add_option("--tokens", line.tokens), parser.add_option("--temperature", line.temperature),
      parser.add_option("--top-k", line.top_k),   parser.add_option("--seed", line.seed)};
  parser.add_flag("-h,--help", line.help);
  parser.add_flag("--version", version);
  parser.add_flag("--json", json);
  auto* quiet_flag = parser.add_flag("-q,--quiet", quiet);
  parser.add_flag("-v,--verbose", verbose)->excludes(quiet_flag);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order that the library wants
    parser.parse(reversed);
    for (const auto& extra : parser.remaining()) {
      line.problems.push_back("command line: unknown option '" + extra + "'; see galvatron --help");
    }
  } catch (const CLI::ParseError& error) {
    line.problems.push_back(std::string("command line: ") + error.what());
    // The verb and the file are still worth having: their problems are reported together with this one.
    positional.clear();
    for (const auto& word : words) {
      if (word.substr(0, 1) != "-" && positional.size() < 2) positional.push_back(word);
    }
  }
  sort_words(positional, line);
  for (const auto* option : of_some_verbs)
    if (option->count() > 0) line.used.push_back(option->get_name());
  if (out_option->count() > 0) line.overrides.push_back("run.out=" + deck::quoted(line.out));
  if (resume_option->count() > 0) line.overrides.push_back("train.resume=" + deck::quoted(resume));
  if (version) line.version = json ? VersionForm::json : VersionForm::text;
  if (json && !version) line.problems.emplace_back("command line: --json goes with --version");
  if (quiet) line.verbosity = Verbosity::quiet;
  if (verbose) line.verbosity = Verbosity::verbose;
  return line;
}

}  // namespace galvatron::app
