// Files spoilt at random. With this program's seal broken HDF5 never sees them; with the seal forged it does,
// and a child process takes what comes of it: a refusal or the honest contents, no endless loop, no crash.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <random>

#include "core/errors.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_schema.hpp"
#include "store/hdf5.hpp"
#include "store/sealed_file.hpp"
#include "support/folder.hpp"

namespace galvatron::store {
namespace {

/// GALVATRON_TEST_ROUNDS, or few.
int rounds() {
  const char* text = std::getenv("GALVATRON_TEST_ROUNDS");
  return text == nullptr ? 200 : std::atoi(text);
}

class Fuzz : public testing::Test {
 protected:
  void SetUp() override {
    CheckpointState state;
    state.step = 7;
    state.deck = "[train]\n";
    state.more = {{"batch", "8"}};
    create_layout(path, state,
                  {{"model/a", {4}, core::DType::f32}, {"optimizer/a/exp_avg", {4}, core::DType::f64}}, 0);
    const File file(path, File::Mode::update);
    seal(file, SealedKind::checkpoint, 0, 0);
    honest.resize(static_cast<size_t>(file.size()));
    file.read(0, honest);
  }

  /// Writes the honest file with a few bytes of its HDF5 part changed, anywhere; mostly where structures
  /// begin.
  void write_spoilt(std::mt19937_64& generator) {
    auto bytes = honest;
    const auto begin = static_cast<size_t>(user_block_bytes);
    for (uint64_t n = generator() % 6 + 1; n > 0; --n) {
      const auto range =
          generator() % 2 == 0 ? std::min<size_t>(bytes.size() - begin, 2048) : bytes.size() - begin;
      constexpr std::array<unsigned char, 5> likely = {0x00, 0x01, 0x7f, 0x80, 0xff};
      const auto draw = generator();
      bytes[begin + generator() % range] =
          static_cast<std::byte>(draw % 3 == 0 ? likely[draw / 3 % likely.size()] : draw / 3 % 256);
    }
    const File file(path, File::Mode::update);
    file.write(0, bytes);
  }

  enum class Outcome { accepted = 0, refused = 10, other_error = 11 };

  Outcome read() const {
    try {
      read_state(path);
      read_tensors(path);
      verify_checkpoint(path);
      return Outcome::accepted;
    } catch (const core::UserError& error) {
      return error.code() == core::ExitCode::checkpoint ? Outcome::refused : Outcome::other_error;
    } catch (const std::exception&) {
      return Outcome::other_error;
    }
  }

  /// How a child process that reads the file ends.
  int ends_in_child() const {
    const auto child = ::fork();
    if (child == 0) {
      ::alarm(10);
      ::_exit(static_cast<int>(read()));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  test::Folder folder;
  std::filesystem::path path = folder.path() / "file.h5";
  std::vector<std::byte> honest;
};

TEST_F(Fuzz, WithoutTheSealNothingIsParsed) {
  EXPECT_EQ(read(), Outcome::accepted);
  std::mt19937_64 generator(31);
  for (int i = 0; i < rounds(); ++i) {
    write_spoilt(generator);
    std::vector<std::byte> now(honest.size());
    File(path, File::Mode::read).read(0, now);
    ASSERT_EQ(read(), now == honest ? Outcome::accepted : Outcome::refused) << "round " << i;
  }
}

TEST_F(Fuzz, WithAForgedSealTheChildEndsInOrder) {
  std::mt19937_64 generator(32);
  int refused = 0, accepted = 0;
  for (int i = 0; i < rounds() / 2; ++i) {
    write_spoilt(generator);
    {
      const File file(path, File::Mode::update);
      seal(file, SealedKind::checkpoint, 0, 0);
    }
    const auto status = ends_in_child();
    ASSERT_TRUE(WIFEXITED(status)) << "round " << i << ": signal " << WTERMSIG(status);
    const auto outcome = static_cast<Outcome>(WEXITSTATUS(status));
    ASSERT_NE(outcome, Outcome::other_error) << "round " << i;
    ++(outcome == Outcome::refused ? refused : accepted);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(accepted, 0) << "some bytes matter to nobody";
}

}  // namespace
}  // namespace galvatron::store
