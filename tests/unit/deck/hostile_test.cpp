// Whatever bytes come in, a deck is read or refused with a UserError: broken files, and broken versions of a
// good one.
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "deck/deck.hpp"

namespace galvatron::deck {
namespace {

/// True when the deck was taken. Fails the test on any other exception than UserError.
bool taken(const std::string& bytes, const std::vector<std::string>& overrides = {}) {
  try {
    const DeckValues values = parse_deck(bytes, "d.toml", overrides);
    EXPECT_EQ(parse_deck(to_toml(values), "again.toml"), values) << bytes;
    return true;
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::usage) << bytes;
    EXPECT_NE(std::string(error.what()), "") << bytes;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a UserError: " << error.what() << "\nfor: " << bytes;
  }
  return false;
}

TEST(Hostile, BrokenDecksAreRefused) {
  const std::vector<std::string> corpus = {
      "[",
      "]",
      "[train",
      "[[train]]\nsteps = 1\n",
      "[train]\nsteps",
      "[train]\nsteps =",
      "[train]\nsteps = = 3",
      "[train]\nsteps = 1 2",
      "[train]\nsteps = 99999999999999999999999999",
      "[train]\nlr = nan\n",
      "[train]\nlr = -inf\n",
      "[train]\nsteps = 2026-11-30\n",
      "[train]\nsteps = 07:32:00\n",
      "[train]\nsteps = {a = 1}\n",
      "[train.steps]\nx = 1\n",
      "[train]\nbetas = [0.9, [0.95]]\n",
      "[train]\nbetas = [\n0.9,\n",
      "[train]\nresume = \"never\n",
      "[train]\nresume = \"\"\"never\n",
      "[train]\nresume = \"\\q\"\n",
      "[train]\nresume = \"\\uD800\"\n",
      "[train]\nsteps = 0x\n",
      "train = 3\n[train]\nsteps = 1\n",
      "[a.b.c.d]\n[a]\nb = 1\n",
      "\"\" = 1\n",
      "\"[train]\" = 1\n",
      "steps = 3\n",
      std::string("[train]\nsteps = \0 3", 18),
      "[train]\nresume = \"\xc3\x28\"\n",
      "\xff\xfe[\x00",
      std::string(3000, '['),
      "x = " + std::string(3000, '['),
      "x = " + std::string(400, '{'),
      std::string(100000, '\n') + "[",
      std::string(2 << 20, '#'),
      std::string(50000, 'a') + " = 1\n",
  };
  for (const auto& text : corpus) EXPECT_FALSE(taken(text)) << text.substr(0, 80);
}

TEST(Hostile, BrokenOverridesAreRefused) {
  for (const char* argument : {"", "=", ".", ".=", "train.=1", ".steps=1", "train.steps=", "train.steps=[[[[",
                               "train.steps=\"", "a.b.c=1", "train.steps.x=1"}) {
    EXPECT_FALSE(taken("", {argument})) << argument;
  }
}

TEST(Hostile, DamagedVersionsOfAGoodDeckNeverCrash) {
  const std::string good = to_toml(DeckValues{});
  const std::string alphabet = "[]{}\"'=#.,\n\\ 0-e\xff_";
  const uint64_t key = core::key_of(20, "damaged decks");
  int64_t refused = 0;
  for (int64_t round = 0; round < 300; ++round) {
    std::string text = good;
    const auto draw = [&](int64_t n, int64_t bound) {
      return core::uniform_below(key, 16 * round + n, bound);
    };
    const auto at = static_cast<size_t>(draw(0, static_cast<int64_t>(text.size())));
    switch (draw(1, 3)) {
      case 0:
        text.erase(at, static_cast<size_t>(draw(2, 40)));
        break;
      case 1:
        text[at] = alphabet[static_cast<size_t>(draw(2, static_cast<int64_t>(alphabet.size())))];
        break;
      default:
        text.resize(at);
        break;
    }
    refused += taken(text) ? 0 : 1;
  }
  EXPECT_GT(refused, 50) << "the damage must be real";
}

}  // namespace
}  // namespace galvatron::deck
