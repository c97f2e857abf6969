// The table of verbs and the help that is made from it.
#include "app/verbs.hpp"

#include <utility>

#include "core/format.hpp"

namespace galvatron::app {
namespace {

using core::format;

const char* const usage_options =
    "Options:\n"
    "  section.key=VALUE          set a key of the deck; VALUE is TOML, else a string\n"
    "  --out DIR                  the run folder (run.out)\n"
    "  --resume auto|never|PATH   where to go on from (train.resume)\n"
    "  --overwrite                allow another run's folder to be used\n"
    "  --log                      a log file of every rank, log/rank-N.log in the run folder\n"
    "  -q, --quiet                results, warnings and errors only\n"
    "  -v, --verbose              say more\n";

const char* const usage_codes =
    "Exit codes: 0 finished, 1 internal error, 2 bad deck or command line, 3 environment, 4 no plan fits, 5 "
    "data,\n"
    "6 checkpoint, 7 numerical, 8 out of memory, 9 hang, 75 saved, please requeue.\n";

/// The line of --help about an option that only some verbs have; empty for those that the usage explains.
std::string option_text(const std::string& option) {
  constexpr std::pair<const char*, const char*> texts[] = {
      {"--checkpoint", "  --checkpoint FILE          the weights; left out: the newest of the run folder\n"},
      {"--prompt", "  --prompt TEXT              what to go on with, as bytes\n"},
      {"--prompt-ids", "  --prompt-ids 1,2,3         the same as ids; then ids are printed\n"},
      {"--tokens", "  --tokens N                 how many ids to make (100)\n"},
      {"--temperature", "  --temperature T            logits are divided by it (1); 0: the most likely id\n"},
      {"--top-k", "  --top-k K                  draw from the K most likely ids only (0: all)\n"},
      {"--seed", "  --seed S                   of the draws (0)\n"}};
  for (const auto& [name, text] : texts)
    if (option == name) return text;
  return "";
}

std::string usage_line(const Verb& verb) {
  switch (verb.argument) {
    case Argument::none:
      return format("galvatron {}{}\n", verb.name,
                    verb.launch == Launch::ranks ? " [run.device=cpu|cuda] [--out DIR]" : "");
    case Argument::file:
      return format(
          "galvatron {} FILE [section.key=VALUE …] [--space] [--html OUT]\n\n"
          "FILE is a deck, a plan, a description of a cluster, a profile, a checkpoint or a run folder.\n"
          "  section.key=VALUE          set a key, where FILE is a deck\n"
          "  --space                    the decision tree of a deck, or of a plan and the deck.toml beside "
          "it\n"
          "  --html OUT                 where FILE is a run folder: write its report there, as report.html "
          "is\n",
          verb.name);
    case Argument::inputs:
      return format(
          "galvatron {0} tokens IN … --out FILE [--to tokens|megatron|llmc] [--overwrite]\n"
          "  galvatron {0} plan PLAN [DECK] --out FILE [--overwrite]\n\n"
          "IN are texts or files of tokens: Megatron's .bin, llm.c's .bin, HDF5.\n"
          "PLAN and FILE end in .toml, or in .json for a strategy file of Galvatron 3.0; DECK says what the "
          "layers\nare: left out, the deck.toml beside the plan.\n",
          verb.name);
    case Argument::test:
      return format(
          "galvatron {} parallel [run.device=cpu|cuda]\n"
          "  galvatron {} restart [run.device=cpu|cuda] [--out DIR]\n\n"
          "parallel trains a tiny model under every way to split it that these ranks have, and compares it "
          "with one rank.\n"
          "restart trains a tiny model in a folder of its own in DIR, leaves it and takes it up again.\n",
          verb.name, verb.name);
    case Argument::deck:
      return format("galvatron {} DECK [section.key=VALUE …] [options]\n", verb.name);
  }
  return "";
}

}  // namespace

std::vector<Verb> verbs() {
  using enum Launch;
  return {
      {"run", ranks, Argument::deck, Ending::result, run_verb, "profile, search a plan and train with it"},
      {"profile", ranks, Argument::deck, Ending::result, profile_verb,
       "measure links, collectives and layers"},
      {"search", ranks, Argument::deck, Ending::result, search_verb,
       "find the fastest plan that fits in memory"},
      {"train", ranks, Argument::deck, Ending::result, train_verb, "train with the deck's plan"},
      {"eval",
       ranks,
       Argument::deck,
       Ending::result,
       eval_verb,
       "loss and perplexity of the validation data, from a checkpoint",
       {"--checkpoint"}},
      {"generate",
       ranks,
       Argument::deck,
       Ending::result,
       generate_verb,
       "let a trained model go on with a text",
       {"--checkpoint", "--prompt", "--prompt-ids", "--tokens", "--temperature", "--top-k", "--seed"}},
      {"check", alone, Argument::deck, Ending::result, check_verb,
       "say without a launcher what is wrong with a deck, and plan for its cluster"},
      {"show",
       alone,
       Argument::file,
       Ending::document,
       show_verb,
       "explain a deck, plan, profile, checkpoint or run folder",
       {"--space", "--html"}},
      {"convert",
       alone,
       Argument::inputs,
       Ending::result,
       convert_verb,
       "make files of tokens from texts or other files of tokens, or a plan from another form",
       {"--to"}},
      {"doctor", ranks, Argument::none, Ending::result, doctor_verb,
       "say what is wrong with the machine and the way the job was started"},
      {"selftest", ranks, Argument::test, Ending::result, selftest_verb,
       "prove on these ranks and disks what the program promises"},
      {"manual", alone, Argument::none, Ending::document, manual_verb,
       "print the manual of the deck, in Markdown"},
  };
}

std::string help_text(const std::vector<Verb>& table) {
  std::string out =
      "galvatron: automatic hybrid-parallel training of transformers, on any number of ranks\n\n"
      "  galvatron VERB DECK [section.key=VALUE …] [options]\n"
      "  galvatron --version [--json]\n"
      "  galvatron VERB --help\n\nVerbs:\n";
  for (const Verb& verb : table) out += format("  {:<10} {}\n", verb.name, verb.summary);
  return out + "\n" + usage_options + "\n" + usage_codes;
}

std::string help_text(const Verb& verb) {
  std::string out = format("galvatron {}: {}\n\n  {}", verb.name, verb.summary, usage_line(verb));
  if (verb.launch == Launch::ranks) {
    out += "\nRuns on one rank as it is, and on several under mpirun or srun.\n";
  }
  if (verb.argument == Argument::deck) out += std::string("\n") + usage_options;
  for (const auto& option : verb.options) out += option_text(option);
  return out + "\n" + usage_codes;
}

}  // namespace galvatron::app
