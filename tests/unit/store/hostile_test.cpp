// Files made to mislead: right magic and right hashes, but contents that this program never writes. Each must
// be refused with exit code 6, whatever HDF5 thinks of it.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <functional>
#include <random>

#include "core/errors.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_schema.hpp"
#include "store/hdf5.hpp"
#include "store/sealed_file.hpp"
#include "support/folder.hpp"

namespace galvatron::store {
namespace {

class Hostile : public testing::Test {
 protected:
  /// An honest little checkpoint whose HDF5 part `change` may spoil before it is sealed.
  std::filesystem::path make(const std::function<void(hid_t)>& change) {
    const auto path = folder.path() / ("file" + std::to_string(files++) + ".h5");
    CheckpointState state;
    state.deck = "deck";
    create_layout(path, state, {{"model/a", {4}, core::DType::f32}}, 0);
    {
      h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
      change(file.get());
      file.close();
    }
    const File file(path, File::Mode::update);
    seal(file, SealedKind::checkpoint, 0, 0);
    return path;
  }

  /// The text of the refusal of `path`.
  static std::string refused(const std::filesystem::path& path) {
    try {
      read_state(path);
      read_tensors(path);
    } catch (const core::UserError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::checkpoint);
      EXPECT_EQ(std::string(error.what()).rfind(path.string(), 0), 0U) << error.what();
      return error.what();
    }
    return "accepted";
  }

  /// Replaces /model/a by a dataset made with these properties.
  static void replace(hid_t file, const std::function<void(hid_t)>& properties) {
    H5Ldelete(file, "model/a", H5P_DEFAULT);
    const hsize_t extent = 4;
    const h5::Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
    const h5::Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    properties(creation.get());
    const h5::Handle dataset(
        H5Dcreate2(file, "model/a", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    ASSERT_GE(dataset.get(), 0);
  }

  test::Folder folder;
  int files = 0;
};

TEST_F(Hostile, TheHonestFilePasses) {
  EXPECT_EQ(refused(make([](hid_t) {})), "accepted");
}

TEST_F(Hostile, LinksAreNotFollowed) {
  EXPECT_NE(refused(make([](hid_t file) {
              H5Lcreate_external("/etc/passwd", "/", file, "model/b", H5P_DEFAULT, H5P_DEFAULT);
            })).find("'b' is a link"),
            std::string::npos);
  EXPECT_NE(refused(make([](hid_t file) {
              H5Lcreate_soft("/model", file, "model/b", H5P_DEFAULT, H5P_DEFAULT);
            })).find("'b' is a link"),
            std::string::npos);
}

TEST_F(Hostile, GroupsInACircleEnd) {
  EXPECT_NE(refused(make([](hid_t file) {
              H5Lcreate_hard(file, "model", file, "model/again", H5P_DEFAULT, H5P_DEFAULT);
            })).find("nest deeper"),
            std::string::npos);
}

TEST_F(Hostile, OnlyPlainDatasetsAreRead) {
  const auto text_of = [&](const std::function<void(hid_t)>& properties) {
    return refused(make([&](hid_t file) { replace(file, properties); }));
  };
  const hsize_t chunk = 2;
  EXPECT_NE(text_of([](hid_t p) { H5Pset_external(p, "/etc/passwd", 0, 16); }).find("another file"),
            std::string::npos);
  EXPECT_NE(text_of([&](hid_t p) { H5Pset_chunk(p, 1, &chunk); }).find("not contiguous"), std::string::npos);
  EXPECT_NE(text_of([&](hid_t p) {
              H5Pset_chunk(p, 1, &chunk);
              H5Pset_deflate(p, 1);
            }).find("not contiguous"),
            std::string::npos);
  EXPECT_NE(text_of([](hid_t p) {
              const hsize_t extent = 4;
              const h5::Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
              H5Pset_virtual(p, space.get(), "/etc/passwd", "/a", space.get());
            }).find("not contiguous"),
            std::string::npos);
}

TEST_F(Hostile, TextsAndNumbersMustBeWhatTheyShould) {
  EXPECT_NE(refused(make([](hid_t file) { H5Ldelete(file, "state/deck", H5P_DEFAULT); })), "accepted");
  EXPECT_NE(refused(make([](hid_t file) { H5Adelete_by_name(file, "state", "step", H5P_DEFAULT); })),
            "accepted");
  EXPECT_NE(refused(make([](hid_t file) {
              H5Ldelete(file, "state/plan", H5P_DEFAULT);
              h5::create_group(file, "state/plan");
            })),
            "accepted");
  EXPECT_NE(refused(make([](hid_t file) {
              const h5::Handle group(H5Oopen(file, "model/a", H5P_DEFAULT), H5Oclose);
              H5Adelete(group.get(), "dtype");
              h5::write_attribute(group.get(), "dtype", std::string("f33"));
            })).find("unknown element type 'f33'"),
            std::string::npos);
  EXPECT_NE(refused(make([](hid_t file) {
              h5::Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
              H5Tset_size(type.get(), H5T_VARIABLE);
              H5Adelete_by_name(file, "state", "run", H5P_DEFAULT);
              const h5::Handle group(H5Oopen(file, "state", H5P_DEFAULT), H5Oclose);
              const h5::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
              const h5::Handle attribute(
                  H5Acreate2(group.get(), "run", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                  H5Aclose);
              const char* text = "x";
              H5Awrite(attribute.get(), type.get(), &text);
            })).find("not a text of fixed length"),
            std::string::npos);
}

TEST_F(Hostile, RandomHeadersAreRefused) {
  const auto honest = make([](hid_t) {});
  std::mt19937_64 generator(20);
  for (int i = 0; i < 300; ++i) {
    const File file(honest, File::Mode::update);
    std::array<std::byte, 64> header{};
    file.read(0, header);
    const auto kept = header;
    // Up to eight bytes anywhere behind the magic become anything.
    for (uint64_t n = generator() % 8 + 1; n > 0; --n)
      header[8 + generator() % 56] ^= static_cast<std::byte>(generator() % 255 + 1);
    file.write(0, header);
    const auto outcome = header == kept ? "same header" : refused(honest);
    EXPECT_NE(outcome, "accepted") << "round " << i;
    file.write(0, kept);
  }
}

}  // namespace
}  // namespace galvatron::store
