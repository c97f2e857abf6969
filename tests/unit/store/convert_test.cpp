// Ids and documents survive every way from format to format, and nothing appears under its name before it is
// whole.
#include "store/convert_tokens.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "store/token_writer.hpp"
#include "support/folder.hpp"
#include "unit/store/token_bytes.hpp"

namespace galvatron::store {
namespace {

namespace fs = std::filesystem;

std::vector<int32_t> ids_of(const fs::path& path) {
  const auto data = open_token_file(read_token_file(detect_token_format(path), path), int64_t{1} << 31);
  std::vector<int32_t> ids(static_cast<size_t>(data->tokens()));
  data->read(0, ids);
  return ids;
}

class Convert : public testing::Test {
 protected:
  fs::path at(const std::string& name) const { return folder.path() / name; }

  ConvertReport convert(const std::vector<std::string>& from, const std::string& to,
                        TokenFormat format) const {
    ConvertOptions options;
    for (const auto& name : from) options.inputs.push_back(at(name));
    options.out = at(to);
    options.to = format;
    return convert_tokens(options);
  }

  /// Random ids in documents of 100, as Megatron stores them.
  void write_megatron(const std::string& name, int64_t count, int64_t vocabulary) const {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < count; ++i)
      ids.push_back(core::uniform_below(1, static_cast<uint64_t>(i), vocabulary));
    ids.back() = vocabulary - 1;
    test::write_bytes(at(name + ".bin"), test::bytes_of_ids<int32_t>(ids));
    test::write_bytes(
        at(name + ".idx"),
        test::megatron_index(4, 4, std::vector<int32_t>(static_cast<size_t>(count / 100), 100)));
  }

  test::Folder folder;
};

TEST_F(Convert, EveryWayAroundGivesTheSameIds) {
  for (const int64_t vocabulary : {200, 50'257, 65'536, 70'000, 128'256}) {
    SCOPED_TRACE("vocabulary " + std::to_string(vocabulary));
    const auto tag = std::to_string(vocabulary);
    write_megatron("a" + tag, 200'000, vocabulary);  // several chunks
    const auto ids = ids_of(at("a" + tag + ".bin"));
    auto report = convert({"a" + tag + ".bin"}, "b" + tag + ".h5", TokenFormat::tokens);
    EXPECT_EQ(report.tokens, 200'000);
    EXPECT_EQ(report.documents, 2000);
    EXPECT_EQ(report.vocabulary, vocabulary);
    EXPECT_EQ(read_token_file(TokenFormat::tokens, at("b" + tag + ".h5")).vocabulary, vocabulary);
    EXPECT_EQ(ids_of(at("b" + tag + ".h5")), ids);
    convert({"b" + tag + ".h5"}, "c" + tag + ".bin", TokenFormat::llmc);
    EXPECT_EQ(ids_of(at("c" + tag + ".bin")), ids);
    convert({"c" + tag + ".bin"}, "d" + tag, TokenFormat::megatron);
    EXPECT_EQ(detect_token_format(at("d" + tag + ".bin")), TokenFormat::megatron);
    EXPECT_EQ(ids_of(at("d" + tag + ".bin")), ids);
  }
}

TEST_F(Convert, DocumentsOfMegatronStayDocuments) {
  write_megatron("a", 500, 300);
  const auto report = convert({"a.bin", "a.bin"}, "b", TokenFormat::megatron);
  EXPECT_EQ(report.documents, 10);
  EXPECT_EQ(report.files, (std::vector<fs::path>{at("b.bin"), at("b.idx")}));
  const MegatronDocuments documents(at("b.bin"));
  ASSERT_EQ(documents.count(), 10);
  for (int64_t d = 0; d < 10; ++d) EXPECT_EQ(documents.tokens_of(d), 100) << "document " << d;
  auto twice = ids_of(at("a.bin"));
  twice.insert(twice.end(), twice.begin(), twice.begin() + 500);
  EXPECT_EQ(ids_of(at("b.bin")), twice);
}

TEST_F(Convert, WritesWhatOtherProgramsRead) {
  folder.write("t.txt", "ab");
  convert({"t.txt"}, "m", TokenFormat::megatron);
  EXPECT_EQ(folder.read("m.bin"), std::string("a\0b\0\n\0", 6));
  EXPECT_EQ(folder.read("m.idx"), test::megatron_index(8, 2, {3}));
  convert({"t.txt"}, "l.bin", TokenFormat::llmc);
  EXPECT_EQ(folder.read("l.bin"), test::llmc_header(20240520, 1, 3) + std::string("a\0b\0\n\0", 6));
}

TEST_F(Convert, TextBecomesTheBytesThatTrainingReads) {
  folder.write("a.txt", "one\n");
  folder.write("b.txt", "two");
  const auto report = convert({"a.txt", "b.txt"}, "t.h5", TokenFormat::tokens);
  EXPECT_EQ(report.documents, 2);
  EXPECT_EQ(report.vocabulary, 256);
  EXPECT_EQ(report.type, TokenType::u8);
  const auto ids = ids_of(at("t.h5"));
  EXPECT_EQ(std::string(ids.begin(), ids.end()), "one\ntwo\n");
}

TEST_F(Convert, NothingIsOverwrittenOrLeftBehind) {
  folder.write("a.txt", "text\n");
  folder.write("there.h5", "precious");
  EXPECT_THROW(convert({"a.txt"}, "there.h5", TokenFormat::tokens), core::UserError);
  EXPECT_EQ(folder.read("there.h5"), "precious");
  ConvertOptions options;
  options.inputs = {at("a.txt")};
  options.out = at("a.txt");
  options.existing = ConvertOptions::Existing::replace;
  EXPECT_THROW(convert_tokens(options), core::UserError) << "read and written";
  options.out = at("there.h5");
  EXPECT_EQ(convert_tokens(options).tokens, 5);
  EXPECT_EQ(ids_of(at("there.h5")).size(), 5U);

  // A damaged input, found when the output has begun.
  test::write_bytes(at("bad.bin"), test::bytes_of_ids<int32_t>({1, -5}));
  test::write_bytes(at("bad.idx"), test::megatron_index(4, 4, {2}));
  EXPECT_THROW(convert({"a.txt", "bad.bin"}, "out.h5", TokenFormat::tokens), core::UserError);
  {
    const auto writer = make_token_writer(TokenFormat::megatron, {at("half"), 10, 100});
    writer->append(std::vector<int32_t>{1, 2, 3});
  }
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_TRUE(
        std::set<std::string>({"a.txt", "there.h5", "bad.bin", "bad.idx"}).contains(entry.path().filename()))
        << entry.path() << " was left behind";
}

}  // namespace
}  // namespace galvatron::store
