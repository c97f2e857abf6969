// The texts that a user with a wrong deck sees. Each case is a deck of its own kind of wrong, and every line
// of its message is in the golden file.
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "deck/deck.hpp"
#include "support/golden.hpp"

namespace galvatron::deck {
namespace {

struct Case {
  const char* name;
  const char* deck;
  std::vector<std::string> overrides;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"unknown keys and sections",
       "[train]\nstepz = 5\ncolour = 1\n\n[trian]\nsteps = 3\n\n[colours]\nred = 1\nblue = 2\n",
       {}},
      {"misplaced keys",
       "steps = 5\n[model]\nlr = 0.1\nfile = \"x\"\nbudgett = 3\n[run]\nsearch.x = 1\n",
       {}},
      {"wrong types",
       "[run]\nout = 7\n[model]\nlayers = 2.0\nbias = \"yes\"\nheads = \"4\"\n[data]\ntrain = [1, 2]\n"
       "[train]\nlr = \"fast\"\nbetas = {a = 1}\nsteps = 2026-01-01\n",
       {}},
      {"out of range",
       "[model]\nlayers = 0\nvocab = 1\n[data]\nsplit = 0.7\n[search]\nbatch = []\nzero = [0, 4]\n"
       "[train]\nlr = 0\nbetas = [0.9, 1.0]\nsteps = -3\neps = inf\n",
       {}},
      {"lists of the wrong length", "[train]\nbetas = [0.9]\n[data]\ntrain = []\n", {}},
      {"not one of the choices",
       "[train]\ndecay = \"cosin\"\nprecision = \"fp8\"\n[search]\naxes = [\"tp\", \"xp\"]\n"
       "schedule = [\"1F1B\"]\n",
       {}},
      {"checkpoints", "[checkpoint]\nio = \"parallel\"\nkeep = 0\nkeep_every = -1\nasynchronous = 1\n", {}},
      {"duplicates",
       "[train]\nsteps = 5\nlr = 0.1\nsteps = 6\n[model]\nheads = 2\n[train]\nwarmup = 1\n[data]\nspilt = "
       "0\n",
       {}},
      {"contradictions",
       "[model]\nhidden = 100\nheads = 6\nkv_heads = 4\nvocab = 100\n[cluster]\nnodes = 2\n[search]\n"
       "enabled = false\n[train]\nsteps = 10\nwarmup = 20\nmin_lr = 1.0\nstop_after = 11\n",
       {}},
      {"a contradictory plan",
       "[plan]\npp = 3\nmicrobatches = 5\nstage_layers = [2, 3]\nfile = \"plan.toml\"\n",
       {}},
      {"sizes and times", "[cluster]\nmemory = \"much\"\n[train]\nwalltime = \"tomorrow\"\n", {}},
      {"not TOML",
       "[train]\nsteps 5\nlr = 0.1.2\nresume = \"never\nwarmup = 3\n[model\nheads = 4\nlayers = 0\n",
       {}},
      {"file and command line together",
       "[train]\nstepz = 5\nwarmup = 50\n",
       {"train.steps=20", "train.lr=fast", "model.head=4", "cluster.memory=1 potato", "foo"}},
  };
  return all;
}

TEST(DeckManual, IsThePageInTheDocs) {
  test::expect_golden("docs/deck.md", manual());
}

TEST(DeckMessages, AreTheGoldenOnes) {
  std::string text;
  for (const Case& c : cases()) {
    text += std::string("== ") + c.name + "\n";
    try {
      parse_deck(c.deck, "wrong.toml", c.overrides);
      ADD_FAILURE() << "accepted: " << c.name;
    } catch (const core::UserError& error) {
      text += std::string(error.what()) + "\n";
    }
  }
  test::expect_golden("tests/golden/deck/messages.txt", text);
}

}  // namespace
}  // namespace galvatron::deck
