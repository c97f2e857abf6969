// The HDF5 side of checkpoints. Only the serial driver is used, and only one process has the file open
// through HDF5 at a time.
#include "store/checkpoint_schema.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstddef>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "store/file.hpp"
#include "store/hdf5.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {
namespace {

constexpr int64_t metadata_bytes_per_tensor = 2048;  // four attributes, object header, link: about 900 seen
constexpr int64_t deepest_group = 32;
constexpr int64_t most_objects = 10'000'000;  // hard links can make a few groups look like endlessly many

std::string meaning_of(const std::string& name) {
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (name.starts_with("model/")) return "parameter of the model, master value";
  if (ends("/exp_avg")) return "AdamW: exponential moving average of the gradient";
  if (ends("/exp_avg_sq")) return "AdamW: exponential moving average of the squared gradient";
  if (name.starts_with("optimizer/")) return "state of the optimizer";
  return "tensor of the run";
}

int64_t metadata_bytes(const CheckpointState& state, const std::vector<TensorInfo>& tensors) {
  auto texts = static_cast<int64_t>(state.deck.size() + state.plan.size() + state.build.size());
  for (const auto& [key, value] : state.more) texts += static_cast<int64_t>(key.size() + value.size()) + 1024;
  return texts + 64 * core::kib + static_cast<int64_t>(tensors.size()) * metadata_bytes_per_tensor;
}

/// Creates the file and makes a full disk or a size limit show before anything is written.
File reserve(const std::filesystem::path& path, int64_t bytes) {
  File file(path, File::Mode::create);
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) == 0) {
    const auto free = static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
    if (free < bytes)
      throw DiskError(core::format("no space for {}: it needs {}, {} are free", path.string(),
                                   core::format_bytes(bytes), core::format_bytes(free)));
  }
  file.resize(bytes);
  return file;
}

h5::Handle row_type() {
  h5::Handle type(GALV_H5(H5Tcreate(H5T_COMPOUND, sizeof(BlockRow))), H5Tclose);
  const auto insert = [&](const char* name, size_t offset, hid_t member) {
    GALV_H5(H5Tinsert(type.get(), name, offset, member));
  };
  insert("tensor", offsetof(BlockRow, tensor), H5T_STD_I64LE);
  insert("offset", offsetof(BlockRow, offset), H5T_STD_I64LE);
  insert("count", offsetof(BlockRow, count), H5T_STD_I64LE);
  insert("address", offsetof(BlockRow, address), H5T_STD_I64LE);
  insert("bytes", offsetof(BlockRow, bytes), H5T_STD_I64LE);
  insert("writer", offsetof(BlockRow, writer), H5T_STD_I64LE);
  insert("xxh3", offsetof(BlockRow, hash), H5T_STD_U64LE);
  return type;
}

void write_state(hid_t file, const CheckpointState& state) {
  const auto group = h5::create_group(file, "state");
  h5::write_attribute(group.get(), "meaning", "what a resume needs beside the tensors");
  h5::write_attribute(group.get(), "step", state.step);
  h5::write_attribute(group.get(), "samples", state.samples);
  h5::write_attribute(group.get(), "seed", state.seed);
  h5::write_attribute(group.get(), "run", state.run);
  h5::write_attribute(group.get(), "build", state.build);
  h5::write_attribute(group.get(), "model_fingerprint", state.model_fingerprint);
  h5::write_text(group.get(), "deck", state.deck, "the effective deck of the run, TOML");
  h5::write_text(group.get(), "plan", state.plan, "the plan of the writer, TOML; a resume may use another");
  const auto more = h5::create_group(group.get(), "more");
  for (const auto& [key, value] : state.more) h5::write_text(more.get(), key, value, "further state");
}

int64_t write_tensor(hid_t file, const TensorInfo& tensor, int64_t index) {
  const auto type = h5::file_type(tensor.dtype);
  const auto dataset = h5::create_dataset(file, tensor.name, type.get(), tensor.shape);
  h5::describe(dataset.get(), "1", meaning_of(tensor.name));
  h5::write_attribute(dataset.get(), "dtype", std::string(core::name(tensor.dtype)));
  h5::write_attribute(dataset.get(), "index", index);
  return h5::address_of(dataset);
}

struct Found {
  TensorInfo info;
  int64_t index = 0;
  int64_t address = -1;
};

void collect(hid_t file, const std::string& name, int64_t depth, int64_t& objects,
             std::vector<Found>& found) {
  if (depth > deepest_group || ++objects > most_objects)
    throw core::UserError(core::ExitCode::checkpoint, "groups nest deeper than this program writes them");
  if (h5::is_group(file, name)) {
    std::vector<std::string> names;
    {
      const h5::Handle group(GALV_H5(H5Gopen2(file, name.c_str(), H5P_DEFAULT)), H5Gclose);
      names = h5::names_in(group.get());
    }
    for (const auto& child : names) collect(file, name + "/" + child, depth + 1, objects, found);
    return;
  }
  const auto dataset = h5::open_dataset(file, name);
  h5::require_plain(dataset, name);
  Found tensor;
  tensor.info.name = name;
  tensor.info.shape = h5::shape_of(dataset);
  tensor.info.dtype = h5::dtype_named(h5::read_text_attribute(dataset.get(), "dtype"));
  tensor.index = h5::read_integer_attribute(dataset.get(), "index");
  tensor.address = h5::address_of(dataset);
  found.push_back(std::move(tensor));
}

std::vector<Found> all_tensors(const std::filesystem::path& path) {
  std::vector<Found> found;
  int64_t objects = 0;
  name_file(path, [&] {
    const auto file = h5::open_file(path);
    for (const auto& name : h5::names_in(file.get())) {
      if (name != "state" && name != "blocks") collect(file.get(), name, 0, objects, found);
    }
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.index < b.index; });
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].index != static_cast<int64_t>(i))
        throw core::UserError(core::ExitCode::checkpoint,
                              core::format("tensor number {} is missing or there twice", i));
    }
  });
  return found;
}

}  // namespace

Layout create_layout(const std::filesystem::path& path, const CheckpointState& state,
                     const std::vector<TensorInfo>& tensors, int64_t rows) {
  int64_t data = rows * static_cast<int64_t>(sizeof(BlockRow));
  for (const auto& tensor : tensors) data += tensor.elements() * core::size_of(tensor.dtype);
  const auto destination = reserve(path, metadata_bytes(state, tensors) + data);

  Layout layout;
  const ScratchFile scratch;
  auto file = h5::create_file(scratch.path(), user_block_bytes);
  scratch.hide();
  h5::write_attribute(file.get(), "program", std::string("galvatron"));
  h5::write_attribute(file.get(), "meaning", std::string("checkpoint; see docs/files.md of the program"));
  write_state(file.get(), state);
  for (size_t i = 0; i < tensors.size(); ++i)
    layout.tensors.push_back(write_tensor(file.get(), tensors[i], static_cast<int64_t>(i)));
  {
    const auto type = row_type();
    const auto table = h5::create_dataset(file.get(), "blocks", type.get(), {rows});
    h5::describe(
        table.get(), "elements (offset, count), bytes (address, bytes)",
        "which stretch of which tensor (its attribute index) lies where, who wrote it, and its XXH3");
    layout.table = h5::address_of(table);
  }
  file.close();
  scratch.copy_to(destination);
  return layout;
}

CheckpointState state_in(const std::filesystem::path& path) {
  CheckpointState state;
  name_file(path, [&] {
    const auto file = h5::open_file(path);
    const h5::Handle group(GALV_H5(H5Gopen2(file.get(), "state", H5P_DEFAULT)), H5Gclose);
    state.step = h5::read_integer_attribute(group.get(), "step");
    state.samples = h5::read_integer_attribute(group.get(), "samples");
    state.seed = h5::read_integer_attribute(group.get(), "seed");
    state.run = h5::read_text_attribute(group.get(), "run");
    state.build = h5::read_text_attribute(group.get(), "build");
    state.model_fingerprint = h5::read_text_attribute(group.get(), "model_fingerprint");
    state.deck = h5::read_text(group.get(), "deck");
    state.plan = h5::read_text(group.get(), "plan");
    const h5::Handle more(GALV_H5(H5Gopen2(group.get(), "more", H5P_DEFAULT)), H5Gclose);
    for (const auto& key : h5::names_in(more.get())) state.more[key] = h5::read_text(more.get(), key);
  });
  return state;
}

std::vector<TensorInfo> tensors_in(const std::filesystem::path& path) {
  std::vector<TensorInfo> tensors;
  for (auto& found : all_tensors(path)) tensors.push_back(std::move(found.info));
  return tensors;
}

std::vector<int64_t> addresses_in(const std::filesystem::path& path) {
  std::vector<int64_t> addresses;
  for (const auto& found : all_tensors(path)) addresses.push_back(found.address);
  return addresses;
}

}  // namespace galvatron::store
