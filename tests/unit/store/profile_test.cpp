// A profile comes back as it was, and a damaged one is refused like any bad input.
#include "store/profile_file.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "store/file.hpp"
#include "support/folder.hpp"

namespace galvatron::store {
namespace {

std::vector<cost::Link> some_links() {
  std::vector<cost::Link> links(3);  // the last one was seen in no pass
  links[0] = {0, 1, 1e-6, 1e9, 5e8, "host MPI", {}, {}};
  links[0].isolated.points = {{8, 1e-6, 9e-7, 2e-6, 3e-6, 0.1, 11}, {64, 2e-6, 1e-6, 3e-6, 4e-6, 0.2, 12}};
  links[0].isolated.fit = {{{8, 1e-6, 1e-9}}, {0.01, -0.02}, 0.016};
  links[0].loaded = links[0].isolated;
  links[0].loaded.fit = {{{8, 1e-6, 1e-9}, {64, 3e-6, 1e-10}}, {0, 0.5}, 0.35};
  links[1] = {1, 0, 2e-6, 2e9, 6e8, "a way", {}, {}};
  links[1].loaded = links[0].isolated;
  links[2].to = 2;
  return links;
}

cost::Profile some_profile() {
  cost::Profile profile;
  profile.fingerprint = "abc";
  auto& hardware = profile.hardware;
  hardware.ranks = 4;
  hardware.nodes = 2;
  hardware.ranks_per_node = 2;
  hardware.threads = 3;
  hardware.hosts = {"node0", "a-longer-name"};
  hardware.rank_nodes = {0, 0, 0, 1};
  hardware.links = some_links();
  hardware.link_coverage = {6, 5, 4, 3, 2, 1, 7, 6, 1 << 26, 1 << 24, 1 << 20, 3e-8};
  hardware.compared_with = "2026-11-29";
  hardware.link_changes = {{0, 1, "host MPI", cost::LinkFigure::latency, 1e-6, 2e-6},
                           {1, 0, "a way", cost::LinkFigure::bandwidth, 1e9, 5e8}};
  hardware.transfer_same_node.points = {{8, 1e-6, 9e-7, 2e-6, 3e-6, 0.1, 11},
                                        {4096, 2e-6, 1e-6, 3e-6, 4e-6, 0.25, 12}};
  hardware.transfer_same_node.fit = {{{8, 1e-6, 1e-10}}, {0.1, -0.1}, 0.1};
  hardware.collectives[{core::CollectiveKind::all_gather, {4, 2, 2}}].points = {
      {1024, 1.0 / 3.0, 0.1, 0.5, 0.6, 0.2, 5}};
  hardware.collectives[{core::CollectiveKind::broadcast, {2, 1, 2}}] = {};
  hardware.forms = {{4, 2, 2, {core::CollectiveKind::all_gather, 0, core::Form::hierarchical}},
                    {2, 1, 2, {core::CollectiveKind::all_reduce, int64_t{1} << 33, core::Form::shared}}};
  hardware.gemm_flops = {1e11, 1.1e11};
  hardware.memory_bytes_per_second = {1e10};
  hardware.reserve_bytes = 1 << 20;
  hardware.reserve_parts = {{"library", 100}, {"process", 1 << 20}};
  hardware.reserve_units = {1, 2, 3};
  hardware.interference = {{core::CollectiveKind::all_reduce, {4, 2, 2}, 65536, 1.5, 2.25},
                           {core::CollectiveKind::shift, {2, 1, 2}, 1024, 1, 1.125}};
  hardware.lateness[{4, 2, 2}].points = {{1e-4, 1e-6, 0, 2e-6, 3e-6, 0.5, 5},
                                         {1e-2, 3e-4, 0, 1e-3, 1e-3, 0.5, 5}};
  hardware.gemm_peaks = {{core::DType::f32, {1e11, 1.1e11}}, {core::DType::bf16, {2e10, 2e10}}};
  hardware.fingerprint = "machine";
  hardware.nominal = true;
  hardware.conditions = {{"date", "2026-11-30"}, {"empty", ""}};
  profile.model.steps["gemm f32 n=1024 k=256 nt"].points = {{1, 1e-5, 1e-5, 1e-5, 1e-5, 0, 3},
                                                            {256, 1e-3, 1e-3, 2e-3, 2e-3, 0.5, 3}};
  profile.model.steps["norm f32 n=256 a/b"] = {};
  profile.model.model_fingerprint = "m";
  profile.model.dtype = core::DType::bf16;
  profile.model.loader_seconds_per_token = 1e-8;
  profile.model.rank_seconds = {1, 1.5};
  profile.model.counters = {{"attention", "backward", "cycles", 1e6, 17}};
  profile.model.counters_missing = "energy (no such event)";
  profile.model.products = {"a library 1.2", "a device", {{"nt bf16>bf16 4x4x4", "00ff"}, {"tn", ""}}};
  profile.model.attention = {"cuDNN 91900", "a device", {{"forward bf16 2x128", "own"}}};
  profile.model.fingerprint = "steps";
  profile.complete = false;
  profile.coverage = {{"links", 10, 9.5, 6, 6, "pairs"}, {"layers", 20, 0, 7, 100, "step shapes", 7}};
  return profile;
}

TEST(ProfileFile, ComesBackAsItWas) {
  const test::Folder folder;
  const auto path = folder.path() / "profile.h5";
  const RawTables raw = {
      {"links", {"B", "one message", {{"0 to 1", 8, 1, {1e-6, 2e-6}}, {"1 to 0", 8, 0, {}}}}},
      {"peaks", {"1", "nothing was timed", {}}}};
  for (const auto& profile : {some_profile(), cost::Profile{}}) {  // the second write replaces the first
    write_profile(path, profile, raw);
    EXPECT_TRUE(read_profile(path) == profile);
    EXPECT_TRUE(read_raw_samples(path) == raw);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "profile.h5.tmp"));
  }
}

TEST(ProfileFile, DamageIsRefusedWithTheFilesName) {
  const test::Folder folder;
  const auto path = folder.path() / "profile.h5";
  write_profile(path, some_profile(), {});
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  const File file(path, File::Mode::update);
  for (int64_t at = 0; at < size; at += at < 64 ? 1 : 101) {
    std::byte byte{};
    file.read(at, std::span(&byte, 1));
    const std::byte flipped = byte ^ std::byte{0x80};
    file.write(at, std::span(&flipped, 1));
    try {
      read_profile(path);
      ADD_FAILURE() << "byte " << at << " of " << size << " may be anything";
    } catch (const core::UserError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::usage);
      EXPECT_EQ(std::string(error.what()).rfind(path.string(), 0), 0U) << error.what();
    }
    file.write(at, std::span(&byte, 1));
  }
  EXPECT_TRUE(read_profile(path) == some_profile());
  EXPECT_THROW(read_profile(folder.write("deck.toml", "[run]\n")), core::UserError);
  EXPECT_THROW(read_profile(folder.path() / "absent.h5"), core::UserError);
}

}  // namespace
}  // namespace galvatron::store
