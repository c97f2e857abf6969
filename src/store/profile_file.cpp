// The file around the groups of profile.h5: written aside, sealed, renamed; checked before HDF5 sees it.
#include "store/profile_file.hpp"

#include <functional>

#include "core/errors.hpp"
#include "store/file.hpp"
#include "store/hdf5.hpp"
#include "store/profile_parts.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

/// Opens a profile that is whole and hands it to `read`.
void read_file(const std::filesystem::path& path, const std::function<void(hid_t)>& read) {
  try {
    open_sealed(path, SealedKind::profile);
    name_file(path, [&] {
      const auto file = h5::open_file(path);
      read(file.get());
    });
  } catch (const core::UserError& error) {
    throw core::UserError(error.what());  // a profile is an input like the deck that names it
  }
}

}  // namespace

void write_profile(const std::filesystem::path& path, const cost::Profile& profile, const RawTables& raw) {
  auto temporary = path;
  temporary += ".tmp";
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  const ScratchFile scratch;
  {
    auto file = h5::create_file(scratch.path(), user_block_bytes);
    scratch.hide();
    const auto id = file.get();
    h5::write_attribute(id, "program", std::string("galvatron"));
    h5::write_attribute(id, "meaning", std::string("profile; see docs/files.md of the program"));
    h5::write_attribute(id, "fingerprint", profile.fingerprint);
    h5::write_attribute(id, "complete", int64_t{profile.complete ? 1 : 0});
    profile::write_hardware(id, profile.hardware);
    profile::write_model(id, profile.model);
    profile::write_coverage(id, profile.coverage);
    profile::write_raw(id, raw);
    file.close();
  }
  const File file(temporary, File::Mode::create);
  scratch.copy_to(file);
  seal(file, SealedKind::profile, 0, 0);
  file.sync();
  rename_file(temporary, path);
}

cost::Profile read_profile(const std::filesystem::path& path) {
  cost::Profile profile;
  read_file(path, [&](hid_t file) {
    profile.fingerprint = h5::read_text_attribute(file, "fingerprint");
    profile.complete = h5::read_integer_attribute(file, "complete") != 0;
    profile.hardware = profile::read_hardware(file);
    profile.model = profile::read_model(file);
    profile.coverage = profile::read_coverage(file);
  });
  return profile;
}

RawTables read_raw_samples(const std::filesystem::path& path) {
  RawTables tables;
  read_file(path, [&](hid_t file) { tables = profile::read_raw(file); });
  return tables;
}

}  // namespace galvatron::store
