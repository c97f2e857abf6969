// Token files of each format read back to the ids that were put into them, and wrong ones are refused with
// the file, the byte, what was expected there and what was found.
#include "store/token_file.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <numeric>
#include <random>

#include "core/errors.hpp"
#include "store/hdf5.hpp"
#include "support/folder.hpp"
#include "unit/store/token_bytes.hpp"

namespace galvatron::store {
namespace {

using test::append;
using test::bytes_of_ids;

std::vector<int64_t> some_ids(int64_t count, int64_t vocabulary) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * 7919 + i / 3) % vocabulary;
  return ids;
}

/// How an HDF5 file of tokens may differ from the usual.
struct Hdf5Form {
  hid_t type = H5T_STD_U16LE;
  std::vector<hsize_t> shape = {};
  int64_t chunk = 0, deflate = 0, vocabulary = 0;
  const char* name = "tokens";
};

void write_hdf5(const std::filesystem::path& path, const std::vector<int64_t>& ids, Hdf5Form form = {}) {
  auto file = h5::create_file(path, 0);
  auto shape = form.shape;
  if (shape.empty()) shape = {ids.size()};
  const h5::Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
  const h5::Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const auto chunk = static_cast<hsize_t>(form.chunk);
  if (chunk > 0) H5Pset_chunk(creation.get(), 1, &chunk);
  if (form.deflate > 0) H5Pset_deflate(creation.get(), 1);
  {
    const h5::Handle dataset(
        H5Dcreate2(file.get(), form.name, form.type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, ids.data());
    if (form.vocabulary != 0) h5::write_attribute(dataset.get(), "vocabulary", form.vocabulary);
  }
  file.close();
}

class TokenFiles : public testing::Test {
 protected:
  std::filesystem::path at(const std::string& name) const { return folder.path() / name; }

  void write_megatron(const std::string& name, const std::string& ids, const std::string& index) const {
    test::write_bytes(at(name + ".bin"), ids);
    test::write_bytes(at(name + ".idx"), index);
  }

  static void expect_ids(const TokenFile& file, const std::vector<int64_t>& ids) {
    const auto data = open_token_file(file, 1 << 20);
    ASSERT_EQ(data->tokens(), static_cast<int64_t>(ids.size())) << file.path;
    std::vector<int32_t> read(ids.size());
    data->read(0, read);
    for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(read[i], ids[i]) << file.path << ", token " << i;
    std::vector<int32_t> part(3);
    data->read(5, part);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(part[i], ids[5 + i]) << file.path << ", token " << 5 + i;
  }

  /// The refusal's text, without the folder's name.
  std::string refused(const std::function<void()>& body) const {
    try {
      body();
    } catch (const core::UserError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::data) << error.what();
      std::string text = error.what();
      for (size_t p; (p = text.find(folder.path().string() + "/")) != std::string::npos;)
        text.erase(p, folder.path().string().size() + 1);
      return text;
    }
    return "accepted";
  }
  std::string refused(TokenFormat format, const std::string& name) const {
    return refused([&] { read_token_file(format, at(name)); });
  }

  test::Folder folder;
};

TEST_F(TokenFiles, MegatronOfEveryIntegerType) {
  const auto ids = some_ids(60, 100);
  const std::vector<int32_t> lengths = {10, 0, 49, 1};
  write_megatron("a1", bytes_of_ids<uint8_t>(ids), test::megatron_index(1, 1, lengths));
  write_megatron("a2", bytes_of_ids<int8_t>(ids), test::megatron_index(2, 1, lengths));
  write_megatron("a3", bytes_of_ids<int16_t>(ids), test::megatron_index(3, 2, lengths));
  write_megatron("a4", bytes_of_ids<int32_t>(ids), test::megatron_index(4, 4, lengths));
  write_megatron("a5", bytes_of_ids<int64_t>(ids), test::megatron_index(5, 8, lengths));
  write_megatron("a8", bytes_of_ids<uint16_t>(ids), test::megatron_index(8, 2, lengths));
  for (const int code : {1, 2, 3, 4, 5, 8}) {
    const auto name = "a" + std::to_string(code);
    expect_ids(read_token_file(TokenFormat::megatron, at(name)), ids);
    expect_ids(read_token_file(TokenFormat::megatron, at(name + ".bin")), ids);
    const MegatronDocuments documents(at(name + ".bin"));
    ASSERT_EQ(documents.count(), 4);
    for (int d = 0; d < 4; ++d) EXPECT_EQ(documents.tokens_of(d), lengths[static_cast<size_t>(d)]);
  }
  // Indices of several modalities end with a byte per sequence.
  write_megatron("modes", bytes_of_ids<uint16_t>(ids),
                 test::megatron_index(8, 2, lengths) + std::string(4, '\1'));
  expect_ids(read_token_file(TokenFormat::megatron, at("modes")), ids);
}

TEST_F(TokenFiles, LlmcOfBothKinds) {
  const auto ids = some_ids(100, 50257);
  test::write_bytes(at("gpt2.bin"), test::llmc_header(20240520, 1, 100) + bytes_of_ids<uint16_t>(ids));
  test::write_bytes(at("llama3.bin"), test::llmc_header(20240801, 7, 100) + bytes_of_ids<uint32_t>(ids));
  expect_ids(read_token_file(TokenFormat::llmc, at("gpt2.bin")), ids);
  expect_ids(read_token_file(TokenFormat::llmc, at("llama3.bin")), ids);
  EXPECT_EQ(detect_token_format(at("gpt2.bin")), TokenFormat::llmc);
}

TEST_F(TokenFiles, Hdf5OfEveryIntegerType) {
  const auto ids = some_ids(50, 120);
  int n = 0;
  for (const hid_t type : {H5T_STD_U8LE, H5T_STD_I8LE, H5T_STD_U16LE, H5T_STD_I16LE, H5T_STD_U32LE,
                           H5T_STD_I32LE, H5T_STD_I64LE}) {
    const auto path = at("t" + std::to_string(n++) + ".h5");
    write_hdf5(path, ids, {.type = type, .vocabulary = 120});
    const auto file = read_token_file(TokenFormat::tokens, path);
    EXPECT_EQ(file.vocabulary, 120);
    expect_ids(file, ids);
    EXPECT_EQ(detect_token_format(path), TokenFormat::tokens);
  }
}

TEST_F(TokenFiles, WrongMegatronFilesAreRefused) {
  const auto ids = bytes_of_ids<uint16_t>(some_ids(60, 100));
  const auto good = test::megatron_index(8, 2, {10, 50});
  const auto with = [&](const std::string& data, std::string index) {
    write_megatron("m", data, index);
    return refused(TokenFormat::megatron, "m");
  };
  const auto changed = [&](size_t place, auto value) {
    auto index = good;
    std::memcpy(index.data() + place, &value, sizeof(value));
    return with(ids, index);
  };
  EXPECT_EQ(with(ids, good), "accepted");
  EXPECT_EQ(with(ids.substr(0, 118), good),
            "m.bin: byte 118: expected 2 more bytes, as m.idx says, found the end of the file");
  EXPECT_EQ(with(ids.substr(0, 119), good),
            "m.bin: byte 119: expected 1 more bytes, as m.idx says, found the end of the file");
  EXPECT_EQ(with(ids + "xx", good),
            "m.idx: byte 50: expected a last sequence that ends with the data file, at 122, found one that "
            "ends at 120");
  EXPECT_EQ(with(ids, good.substr(0, 20)),
            "m.idx: byte 20: expected a header of 34 bytes, found the end of the file");
  EXPECT_EQ(with(ids, good.substr(0, 50)),
            "m.idx: byte 18: expected a count of sequences that fits into a file of 50 bytes, found 2");
  EXPECT_EQ(with(ids, good + "x"), "m.idx: byte 82: expected the end of the file, found 1 more bytes");
  EXPECT_EQ(changed(0, 'X'),
            "m.idx: byte 0: expected the magic MMIDIDX of a Megatron index, found something else");
  EXPECT_EQ(changed(9, uint64_t{2}), "m.idx: byte 9: expected version 1, found 2");
  EXPECT_EQ(changed(17, uint8_t{7}),
            "m.idx: byte 17: expected a code of an integer type: 1 to 5, or 8, found 7");
  EXPECT_EQ(changed(18, ~uint64_t{0}),
            "m.idx: byte 18: expected a count of sequences that fits into a file of 82 bytes, found "
            "18446744073709551615");
  EXPECT_EQ(
      changed(26, uint64_t{1} << 61),
      "m.idx: byte 26: expected a count of document boundaries that fits into a file of 82 bytes, found "
      "2305843009213693952");
  EXPECT_EQ(changed(34, int32_t{-1}), "m.idx: byte 34: expected a count of tokens, found -1");
  EXPECT_EQ(changed(34, int32_t{9}), "m.idx: byte 50: expected 18, the end of the sequence before, found 20");
  EXPECT_EQ(changed(66, int64_t{3}), "m.idx: byte 66: expected a sequence from 0 to 2, found 3");
  std::filesystem::remove(at("m.idx"));
  EXPECT_NE(refused(TokenFormat::megatron, "m").find("cannot open m.idx: "), std::string::npos);
}

TEST_F(TokenFiles, WrongLlmcFilesAreRefused) {
  const auto ids = bytes_of_ids<uint16_t>(some_ids(10, 100));
  const auto with = [&](const std::string& bytes) {
    test::write_bytes(at("l.bin"), bytes);
    return refused(TokenFormat::llmc, "l.bin");
  };
  EXPECT_EQ(with("short"), "l.bin: byte 5: expected a header of 1024 bytes, found the end of the file");
  EXPECT_EQ(with(test::llmc_header(20240522, 1, 10) + ids),
            "l.bin: byte 0: expected the magic of llm.c's tokens, 20240520 or 20240801, found 20240522");
  EXPECT_EQ(with(test::llmc_header(20240801, 1, 10) + ids), "l.bin: byte 4: expected version 7, found 1");
  EXPECT_EQ(with(test::llmc_header(20240520, 1, -5) + ids),
            "l.bin: byte 8: expected a count of tokens, found -5");
  EXPECT_EQ(
      with(test::llmc_header(20240520, 1, 11) + ids),
      "l.bin: byte 1044: expected 11 tokens of 2 bytes, a file of 1046 bytes, found a file of 1044 bytes");
  EXPECT_EQ(
      with(test::llmc_header(20240520, 1, 9) + ids),
      "l.bin: byte 1042: expected 9 tokens of 2 bytes, a file of 1042 bytes, found a file of 1044 bytes");
}

TEST_F(TokenFiles, WrongHdf5FilesAreRefused) {
  const auto ids = some_ids(48, 100);
  const auto with = [&](const Hdf5Form& form) {
    write_hdf5(at("h.h5"), ids, form);
    return refused(TokenFormat::tokens, "h.h5");
  };
  EXPECT_EQ(with({}), "accepted");
  const std::string fix =
      "; write it again contiguous: h5repack -l tokens:CONTI -f tokens:NONE OLD NEW, or galvatron convert "
      "tokens";
  EXPECT_EQ(with({.chunk = 16}), "h.h5: /tokens is chunked" + fix);
  EXPECT_EQ(with({.chunk = 16, .deflate = 1}), "h.h5: /tokens is compressed" + fix);
  EXPECT_EQ(with({.shape = {6, 8}}), "h.h5: /tokens has 2 dims, not one");
  EXPECT_EQ(with({.type = H5T_IEEE_F32LE}), "h.h5: /tokens is not of an integer type");
  EXPECT_EQ(with({.type = H5T_STD_U16BE}),
            "h.h5: /tokens is big-endian; write it little-endian, as numpy's '<u2' or '<i4'");
  EXPECT_EQ(with({.name = "ids"}), "h.h5: /tokens is missing");
  EXPECT_EQ(with({.vocabulary = -3}),
            "h.h5: /tokens has an attribute 'vocabulary' of -3; expected 1 to 2147483648");
  write_hdf5(at("h.h5"), ids);
  std::filesystem::resize_file(at("h.h5"), std::filesystem::file_size(at("h.h5")) - 8);
  EXPECT_NE(refused(TokenFormat::tokens, "h.h5"), "accepted");
  test::write_bytes(at("h.h5"), "not HDF5 at all");
  EXPECT_NE(refused(TokenFormat::tokens, "h.h5").find("h.h5: H5Fopen failed"), std::string::npos);
}

TEST_F(TokenFiles, IdsOutsideTheVocabularyAreRefusedWhereTheyLie) {
  auto ids = some_ids(100, 100);
  ids[70] = 333;
  ids[71] = 444;
  test::write_bytes(at("v.bin"), test::llmc_header(20240520, 1, 100) + bytes_of_ids<uint16_t>(ids));
  const auto data = open_token_file(read_token_file(TokenFormat::llmc, at("v.bin")), 100);
  std::vector<int32_t> out(70);
  EXPECT_EQ(refused([&] { data->read(0, out); }), "accepted");
  const std::string text =
      "v.bin: byte 1164: expected a token id below the vocabulary of 100, found 333 (token number 70)";
  EXPECT_EQ(refused([&] { data->read(1, out); }), text);
  EXPECT_EQ(refused([&] { look_at_tokens(*data, {}, 1 << 20); }), text);
  EXPECT_EQ(refused([&] { look_at_tokens(*data, {0, 2}, 1 << 20); }), "accepted") << "the other rank's share";
  EXPECT_EQ(refused([&] { look_at_tokens(*data, {1, 2}, 1 << 20); }), text);

  ids[70] = -2;
  write_megatron("w", bytes_of_ids<int64_t>(ids), test::megatron_index(5, 8, {100}));
  const auto other = open_token_file(read_token_file(TokenFormat::megatron, at("w")), 445);
  EXPECT_EQ(refused([&] { other->read(60, out = std::vector<int32_t>(20)); }),
            "w.bin: byte 560: expected a token id below the vocabulary of 445, found -2 (token number 70)");
}

TEST_F(TokenFiles, AnyChangedTokenChangesTheFingerprint) {
  const auto ids = some_ids(100, 100);
  const auto fingerprint = [&](const std::vector<int64_t>& of) {
    test::write_bytes(at("f.bin"), test::llmc_header(20240520, 1, 100) + bytes_of_ids<uint16_t>(of));
    return open_token_file(read_token_file(TokenFormat::llmc, at("f.bin")), 100)->fingerprint();
  };
  const auto before = fingerprint(ids);
  EXPECT_EQ(fingerprint(ids), before);
  for (const size_t i : {size_t{0}, size_t{50}, size_t{99}}) {
    auto changed = ids;
    changed[i] = (changed[i] + 1) % 100;
    EXPECT_NE(fingerprint(changed), before) << "token " << i;
  }
}

/// Damages honest files at random: whatever comes of it, it is read within its bounds or refused.
TEST_F(TokenFiles, DamagedHeadersAreReadOrRefused) {
  std::mt19937_64 generator(7);
  const auto ids = some_ids(40, 100);
  write_hdf5(at("z.h5"), ids, {.vocabulary = 100});
  const std::string hdf5 = folder.read("z.h5");
  const std::string data = bytes_of_ids<uint16_t>(ids);
  const std::string index = test::megatron_index(8, 2, {10, 5, 25});
  const std::string llmc = test::llmc_header(20240520, 1, 40) + data;
  int64_t refusals = 0;
  const auto damaged = [&](std::string bytes, size_t within) {
    for (uint64_t n = generator() % 4 + 1; n > 0; --n)
      bytes[generator() % std::min(within, bytes.size())] = static_cast<char>(generator() % 256);
    if (generator() % 4 == 0) bytes.resize(generator() % bytes.size());
    return bytes;
  };
  const auto read = [&](TokenFormat format, const std::string& name) {
    const auto outcome = refused([&] {
      const auto data = open_token_file(read_token_file(format, at(name)), 1 << 16);
      look_at_tokens(*data, {}, 1 << 16);
    });
    refusals += outcome == "accepted" ? 0 : 1;
  };
  for (int round = 0; round < 130; ++round) {
    SCOPED_TRACE(round);
    write_megatron("z", data, damaged(index, index.size()));
    read(TokenFormat::megatron, "z");
    test::write_bytes(at("zl.bin"), damaged(llmc, 16));
    read(TokenFormat::llmc, "zl.bin");
    test::write_bytes(at("z.h5"), damaged(hdf5, hdf5.size()));
    read(TokenFormat::tokens, "z.h5");
  }
  EXPECT_GT(refusals, 150) << "the damage must be real";
}

}  // namespace
}  // namespace galvatron::store
