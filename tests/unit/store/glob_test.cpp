// What a glob means, on a small tree.
#include <gtest/gtest.h>

#include "store/text_dataset.hpp"
#include "support/folder.hpp"

namespace galvatron::store {
namespace {

class Glob : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a.md", "b.md", "c.txt", ".hidden.md", "d/e.md", "d/f/g.md", "d/f/h.txt",
                             ".git/x.md", "d-x.md", "odd [name].md"})
      folder.write(name, name);
    std::filesystem::create_directory_symlink(folder.path() / "d", folder.path() / "link");
  }

  /// Matches, relative to the folder.
  std::vector<std::string> match(const std::string& glob) const {
    std::vector<std::string> names;
    for (const auto& path : match_files((folder.path() / glob).string()))
      names.push_back(path.string().substr(folder.path().string().size() + 1));
    return names;
  }

  test::Folder folder;
};

using Names = std::vector<std::string>;

TEST_F(Glob, StarsStayWithinAName) {
  EXPECT_EQ(match("*.md"), (Names{"a.md", "b.md", "d-x.md", "odd [name].md"}));
  EXPECT_EQ(match("?.md"), (Names{"a.md", "b.md"}));
  EXPECT_EQ(match("[b-z].*"), (Names{"b.md", "c.txt"}));
  EXPECT_EQ(match("*/e.md"), (Names{"d/e.md", "link/e.md"}));
}

TEST_F(Glob, TwoStarsStandForAnyFolders) {
  EXPECT_EQ(match("**/*.md"), (Names{"a.md", "b.md", "d-x.md", "d/e.md", "d/f/g.md", "odd [name].md"}));
  EXPECT_EQ(match("d/**/*.txt"), (Names{"d/f/h.txt"}));
  EXPECT_EQ(match("d/**"), (Names{"d/e.md", "d/f/g.md", "d/f/h.txt"}));
  EXPECT_EQ(match("**/**/g.md"), (Names{"d/f/g.md"}));
}

TEST_F(Glob, HiddenNamesAreAskedForByName) {
  EXPECT_EQ(match(".*.md"), (Names{".hidden.md"}));
  EXPECT_EQ(match(".git/*"), (Names{".git/x.md"}));
}

TEST_F(Glob, PlainNamesAndAbsentOnes) {
  EXPECT_EQ(match("d/e.md"), (Names{"d/e.md"}));
  EXPECT_EQ(match("d/./../a.md"), (Names{"a.md"}));
  EXPECT_EQ(match("d"), Names{});
  EXPECT_EQ(match("none/**/*.md"), Names{});
  EXPECT_EQ(match("a.md/*"), Names{});
}

}  // namespace
}  // namespace galvatron::store
