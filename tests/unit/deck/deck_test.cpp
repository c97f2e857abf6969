// A deck fills the structs, the command line wins over it, and the effective deck is the same deck again.
#include "deck/deck.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace galvatron::deck {
namespace {

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_deck(text, "d.toml", overrides);
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::usage);
    return error.what();
  }
  return "(no error)";
}

TEST(Deck, SilentDeckGivesTheDefaults) {
  EXPECT_EQ(parse_deck("", "d.toml"), DeckValues{});
  EXPECT_EQ(parse_deck("# only a comment\n[train]\n", "d.toml"), DeckValues{});
}

TEST(Deck, FillsEveryTypeOfKey) {
  const DeckValues v = parse_deck(
      "[run]\nout = 'a b'\nwatchdog = 5\n[model]\nbias = false\n[cluster]\nmemory = \"1.5 GiB\"\n"
      "[search]\nbatch = [8, 16]\naxes = [\"tp\"]\n[train]\nsteps = 1_000\nlr = 1e-3\nbetas = [0, 0.5]\n"
      "walltime = \"01:00:00\"\n",
      "d.toml");
  EXPECT_EQ(v.run.out, "a b");
  EXPECT_EQ(v.run.watchdog, 5.0);
  EXPECT_FALSE(v.model.bias);
  EXPECT_EQ(v.cluster.memory, int64_t{3} << 29);
  EXPECT_EQ(v.search.batch, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(v.search.axes, std::vector<std::string>{"tp"});
  EXPECT_EQ(v.train.steps, 1000);
  EXPECT_EQ(v.train.lr, 1e-3);
  EXPECT_EQ(v.train.betas, (std::vector<double>{0.0, 0.5}));
  EXPECT_EQ(v.train.walltime, 3600.0);
}

TEST(Deck, AcceptsDottedKeysAndIndentation) {
  EXPECT_EQ(parse_deck("train.steps = 50\n", "d.toml").train.steps, 50);
  EXPECT_EQ(parse_deck("  [train]\n  steps = 50\n", "d.toml").train.steps, 50);
}

TEST(Deck, FillsInWhatFollowsFromOtherKeys) {
  const DeckValues v = parse_deck("[model]\nhidden = 96\nheads = 6\n", "d.toml");
  EXPECT_EQ(v.model.kv_heads, 6);
  EXPECT_EQ(v.model.ffn, 384);
  EXPECT_EQ(parse_deck("[model]\nheads = 8\nkv_heads = 2\nffn = 7\n", "d.toml").model.kv_heads, 2);
  EXPECT_EQ(parse_deck("[train]\nsteps = 5\nlr = 1e-4\n", "d.toml").train.warmup, 5);
  EXPECT_EQ(parse_deck("[train]\nlr = 0.5\n", "d.toml").train.min_lr, 0.05);
}

TEST(Overrides, WinOverTheFileAndTheLastOneWins) {
  const std::string text = "[train]\nsteps = 100\nlr = 0.5\n";
  const DeckValues v = parse_deck(text, "d.toml", {"train.steps=7", "train.warmup=1", "train.steps=9"});
  EXPECT_EQ(v.train.steps, 9);
  EXPECT_EQ(v.train.warmup, 1);
  EXPECT_EQ(v.train.lr, 0.5);
}

TEST(Overrides, ValuesAreTomlElseStrings) {
  const DeckValues v = parse_deck("", "d.toml",
                                  {"cluster.memory=1 MiB", "run.out=runs/x y", "data.train=[\"a\", \"b\"]",
                                   "train.lr=1", "search.batch=4", "run.seed = 5 ", "train.resume=\"never\"",
                                   "search.enabled=true", "data.valid=some/file.txt"});
  EXPECT_EQ(v.cluster.memory, 1 << 20);
  EXPECT_EQ(v.run.out, "runs/x y");
  EXPECT_EQ(v.data.train, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(v.train.lr, 1.0);
  EXPECT_EQ(v.search.batch, std::vector<int64_t>{4}) << "one value stands for a list of one";
  EXPECT_EQ(v.run.seed, 5);
  EXPECT_EQ(v.train.resume, "never");
  EXPECT_EQ(v.data.valid, std::vector<std::string>{"some/file.txt"});
  EXPECT_EQ(parse_deck("", "d.toml", {"run.out=2024"}).run.out, "2024") << "a string key takes any word";
  EXPECT_EQ(parse_deck("", "d.toml", {"run.out=a=b"}).run.out, "a=b");
}

TEST(Overrides, MayPutAWrongDeckRight) {
  EXPECT_EQ(parse_deck("[train]\nsteps = \"many\"\n", "d.toml", {"train.steps=30"}).train.steps, 30);
}

TEST(Overrides, CannotSmuggleInASecondKey) {
  EXPECT_EQ(parse_deck("", "d.toml", {"run.out=\"x\"\nseed = 3"}).run.seed, 1234);
}

TEST(Overrides, AreReportedLikeKeysOfTheFile) {
  EXPECT_EQ(error_of("", {"train.stepz=3"}),
            "command line: [train] unknown key 'stepz' (did you mean 'steps'?)");
  EXPECT_EQ(error_of("", {"trian.steps=3"}), "command line: unknown section [trian] (did you mean [train]?)");
  EXPECT_EQ(error_of("", {"steps=3"}), "command line: 'steps=3' is not of the form section.key=VALUE");
  EXPECT_EQ(error_of("", {"train"}), "command line: 'train' is not of the form section.key=VALUE");
  EXPECT_EQ(error_of("", {"run.out=\xff\xfe"}), "command line: [run] out: the value is not UTF-8 text");
}

TEST(EffectiveDeck, IsTheSameDeckAgain) {
  const DeckValues values =
      parse_deck("", "d.toml",
                 {"cluster.memory=1000001", "train.lr=0.1", "train.min_lr=1e-300", "train.walltime=90.5",
                  "run.watchdog=7", "model.heads=2", "plan.stage_layers=[4,6]", "plan.pp=2",
                  "run.out=\"a\\\"b\\\\c\\u0001 \xc3\xa9\""});
  const std::string text = to_toml(values);
  EXPECT_EQ(parse_deck(text, "effective.toml"), values) << text;
  EXPECT_EQ(to_toml(parse_deck(text, "effective.toml")), text);
  EXPECT_EQ(parse_deck(to_toml(DeckValues{}), "effective.toml"), DeckValues{});
}

TEST(GrowingBatch, IsAWordInPlaceOfTheList) {
  for (const char* written : {"search.batch=max", "search.batch=\"max\""}) {
    const DeckValues values = parse_deck("", "d.toml", {written});
    EXPECT_TRUE(values.search.grows_batch()) << written;
    EXPECT_NE(to_toml(values).find("batch = \"max\"\n"), std::string::npos) << to_toml(values);
    EXPECT_EQ(parse_deck(to_toml(values), "effective.toml"), values);
  }
  EXPECT_EQ(parse_deck("", "d.toml", {"search.batch=24"}).search.batch, (std::vector<int64_t>{24}));
  EXPECT_EQ(error_of("", {"search.batch=most"}),
            "command line: [search] batch = \"most\" must be numbers or \"max\"");
  EXPECT_EQ(error_of("", {"search.batch=[]"}),
            "command line: [search] batch must have at least 1 in its list, not 0");
  EXPECT_EQ(error_of("", {"search.batch=[\"max\"]"}),
            "command line: [search] batch must be an integer, not the string \"max\"");
  EXPECT_EQ(error_of("", {"search.schedule=max"}).find("or \"max\""), std::string::npos);
  EXPECT_NE(error_of("", {"search.batch=max", "plan.pp=2"}).find("give its batch"), std::string::npos);
  EXPECT_NE(error_of("", {"search.batch=max", "search.rules=galvatron-3.0"}).find("the batches named"),
            std::string::npos);
}

TEST(PlanByHand, IsAnyKeyButTheFile) {
  EXPECT_FALSE(parse_deck("", "d.toml").plan.by_hand());
  EXPECT_FALSE(parse_deck("", "d.toml", {"plan.file=p.toml"}).plan.by_hand());
  EXPECT_TRUE(parse_deck("", "d.toml", {"plan.pp=1"}).plan.by_hand());
  EXPECT_TRUE(parse_deck("", "d.toml", {"plan.zero=2"}).plan.by_hand());
  const DeckValues effective = parse_deck(to_toml(parse_deck("", "d.toml")), "effective.toml");
  EXPECT_FALSE(effective.plan.by_hand());
}

TEST(Manual, NamesEverySectionAndKeepsItsTables) {
  const std::string text = manual();
  for (const char* section :
       {"run", "model", "data", "cluster", "profile", "search", "plan", "train", "checkpoint"}) {
    EXPECT_NE(text.find("\n## [" + std::string(section) + "]\n"), std::string::npos) << section;
  }
  EXPECT_NE(text.find("| `warmup` | `20` | steps | ≥ 0 |"), std::string::npos) << text;
}

}  // namespace
}  // namespace galvatron::deck
