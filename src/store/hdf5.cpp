// The HDF5 calls behind the small interface of the header.
#include "store/hdf5.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"

namespace galvatron::store::h5 {
namespace {

constexpr int64_t most_text_bytes = int64_t{1} << 30;

herr_t innermost(unsigned, const H5E_error2_t* error, void* text) {
  auto& out = *static_cast<std::string*>(text);
  if (out.empty() && error->desc) out = error->desc;
  return 0;
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t* info, void* data) {
  auto& found = *static_cast<std::vector<std::pair<std::string, H5L_type_t>>*>(data);
  found.emplace_back(name, info->type);
  return 0;
}

/// Room for a text of fixed length that is about to be read.
std::string room_for(const Handle& type, const std::string& name) {
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0)
    throw core::UserError(core::ExitCode::checkpoint, "'" + name + "' is not a text of fixed length");
  const auto length = static_cast<int64_t>(H5Tget_size(type.get()));
  if (length > most_text_bytes)
    throw core::UserError(core::ExitCode::checkpoint,
                          core::format("'{}' claims a text of {} bytes", name, length));
  return std::string(static_cast<size_t>(length), '\0');
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

/// HDF5 prints its error stack by itself unless told not to; here every error is thrown.
void silence() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace

Handle text_type(size_t length) {
  Handle type(GALV_H5(H5Tcopy(H5T_C_S1)), H5Tclose);
  GALV_H5(H5Tset_size(type.get(), std::max<size_t>(length, 1)));
  GALV_H5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  GALV_H5(H5Tset_cset(type.get(), H5T_CSET_UTF8));
  return type;
}

int64_t check(int64_t outcome, const char* call) {
  if (outcome >= 0) return outcome;
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
  const std::string name(call, std::find(call, call + std::char_traits<char>::length(call), '('));
  throw DiskError(name + " failed: " + (text.empty() ? "no reason given" : text));
}

void Handle::close() {
  const hid_t id = std::exchange(id_, -1);
  if (id >= 0) GALV_H5(close_(id));
}

Handle create_file(const std::filesystem::path& path, int64_t user_block) {
  silence();
  const Handle creation(GALV_H5(H5Pcreate(H5P_FILE_CREATE)), H5Pclose);
  if (user_block > 0) GALV_H5(H5Pset_userblock(creation.get(), static_cast<hsize_t>(user_block)));
  const Handle access(GALV_H5(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
  GALV_H5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18));
  return Handle(GALV_H5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get())), H5Fclose);
}

Handle open_file(const std::filesystem::path& path) {
  silence();
  GALV_H5(H5PLset_loading_state(0));
  return Handle(GALV_H5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)), H5Fclose);
}

Handle file_type(core::DType dtype) {
  const auto copy = [](hid_t type) { return Handle(GALV_H5(H5Tcopy(type)), H5Tclose); };
  switch (dtype) {
    case core::DType::f32:
      return copy(H5T_IEEE_F32LE);
    case core::DType::f64:
      return copy(H5T_IEEE_F64LE);
    case core::DType::bf16:
      return copy(H5T_STD_U16LE);
    case core::DType::f16: {
      auto half = copy(H5T_IEEE_F32LE);  // IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits
      GALV_H5(H5Tset_fields(half.get(), 15, 10, 5, 0, 10));
      GALV_H5(H5Tset_size(half.get(), 2));
      GALV_H5(H5Tset_ebias(half.get(), 15));
      return half;
    }
    case core::DType::i32:
      return copy(H5T_STD_I32LE);
    case core::DType::i64:
      return copy(H5T_STD_I64LE);
    case core::DType::u8:
      return copy(H5T_STD_U8LE);
  }
  throw core::InternalError("no HDF5 type for this element type");
}

core::DType dtype_named(const std::string& text) {
  for (const auto dtype : {core::DType::f32, core::DType::f64, core::DType::bf16, core::DType::f16,
                           core::DType::i32, core::DType::i64, core::DType::u8}) {
    if (core::name(dtype) == text) return dtype;
  }
  throw core::UserError(core::ExitCode::checkpoint, "unknown element type '" + text + "'");
}

Handle create_dataset(hid_t parent, const std::string& name, hid_t type, const std::vector<int64_t>& shape) {
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  const Handle space(dims.empty()
                         ? GALV_H5(H5Screate(H5S_SCALAR))
                         : GALV_H5(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr)),
                     H5Sclose);
  const Handle links(GALV_H5(H5Pcreate(H5P_LINK_CREATE)), H5Pclose);
  GALV_H5(H5Pset_create_intermediate_group(links.get(), 1));
  const Handle creation(GALV_H5(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
  GALV_H5(H5Pset_layout(creation.get(), H5D_CONTIGUOUS));
  GALV_H5(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY));
  GALV_H5(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER));
  return Handle(
      GALV_H5(H5Dcreate2(parent, name.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT)),
      H5Dclose);
}

Handle open_dataset(hid_t parent, const std::string& name) {
  return Handle(GALV_H5(H5Dopen2(parent, name.c_str(), H5P_DEFAULT)), H5Dclose);
}

Handle create_group(hid_t parent, const std::string& name) {
  return Handle(GALV_H5(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), H5Gclose);
}

int64_t address_of(const Handle& dataset) {
  const haddr_t address = H5Dget_offset(dataset.get());
  return address == HADDR_UNDEF ? -1 : static_cast<int64_t>(address);
}

std::vector<int64_t> shape_of(const Handle& dataset) {
  const Handle space(GALV_H5(H5Dget_space(dataset.get())), H5Sclose);
  const auto rank = GALV_H5(H5Sget_simple_extent_ndims(space.get()));
  std::vector<hsize_t> dims(static_cast<size_t>(rank));
  GALV_H5(H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr));
  return {dims.begin(), dims.end()};
}

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::pair<std::string, H5L_type_t>> found;
  GALV_H5(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &found));
  std::vector<std::string> names;
  for (auto& [name, type] : found) {
    if (type != H5L_TYPE_HARD)
      throw core::UserError(core::ExitCode::checkpoint, "'" + name + "' is a link; links are not followed");
    names.push_back(std::move(name));
  }
  return names;
}

bool has(hid_t parent, const std::string& name) {
  return GALV_H5(H5Lexists(parent, name.c_str(), H5P_DEFAULT)) > 0;
}

bool is_group(hid_t parent, const std::string& name) {
  const Handle object(GALV_H5(H5Oopen(parent, name.c_str(), H5P_DEFAULT)), H5Oclose);
  return H5Iget_type(object.get()) == H5I_GROUP;
}

void require_plain(const Handle& dataset, const std::string& name) {
  const Handle creation(GALV_H5(H5Dget_create_plist(dataset.get())), H5Pclose);
  const auto refuse = [&](const std::string& why) {
    throw core::UserError(core::ExitCode::checkpoint, "dataset '" + name + "' " + why);
  };
  if (H5Pget_layout(creation.get()) != H5D_CONTIGUOUS) refuse("is not contiguous");
  if (GALV_H5(H5Pget_external_count(creation.get())) != 0) refuse("keeps its bytes in another file");
  if (GALV_H5(H5Pget_nfilters(creation.get())) != 0) refuse("has filters");
}

void write_attribute(hid_t object, const std::string& name, const std::string& text) {
  const auto type = text_type(text.size());
  const Handle space(GALV_H5(H5Screate(H5S_SCALAR)), H5Sclose);
  const Handle attribute(
      GALV_H5(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT)), H5Aclose);
  GALV_H5(H5Awrite(attribute.get(), type.get(), text.c_str()));
}

void write_attribute(hid_t object, const std::string& name, int64_t value) {
  const Handle space(GALV_H5(H5Screate(H5S_SCALAR)), H5Sclose);
  const Handle attribute(
      GALV_H5(H5Acreate2(object, name.c_str(), H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT)),
      H5Aclose);
  GALV_H5(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value));
}

std::string read_text_attribute(hid_t object, const std::string& name) {
  const Handle attribute(GALV_H5(H5Aopen(object, name.c_str(), H5P_DEFAULT)), H5Aclose);
  const Handle type(GALV_H5(H5Aget_type(attribute.get())), H5Tclose);
  auto text = room_for(type, name);
  if (static_cast<size_t>(H5Aget_storage_size(attribute.get())) != text.size())
    throw core::UserError(core::ExitCode::checkpoint, "attribute '" + name + "' is not one text");
  GALV_H5(H5Aread(attribute.get(), type.get(), text.data()));
  return trimmed(std::move(text));
}

int64_t read_integer_attribute(hid_t object, const std::string& name) {
  const Handle attribute(GALV_H5(H5Aopen(object, name.c_str(), H5P_DEFAULT)), H5Aclose);
  if (H5Aget_storage_size(attribute.get()) != sizeof(int64_t))
    throw core::UserError(core::ExitCode::checkpoint, "attribute '" + name + "' is not one 64-bit integer");
  int64_t value = 0;
  GALV_H5(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value));
  return value;
}

void describe(hid_t object, const std::string& unit, const std::string& meaning) {
  write_attribute(object, "unit", unit);
  write_attribute(object, "meaning", meaning);
}

void write_text(hid_t parent, const std::string& name, const std::string& text, const std::string& meaning) {
  const auto type = text_type(text.size());
  const auto dataset = create_dataset(parent, name, type.get(), {});
  GALV_H5(
      H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.empty() ? "" : text.data()));
  describe(dataset.get(), "text", meaning);
}

std::string read_text(hid_t parent, const std::string& name) {
  const auto dataset = open_dataset(parent, name);
  require_plain(dataset, name);
  const Handle type(GALV_H5(H5Dget_type(dataset.get())), H5Tclose);
  auto text = room_for(type, name);
  if (!shape_of(dataset).empty())
    throw core::UserError(core::ExitCode::checkpoint, "'" + name + "' is not one text");
  GALV_H5(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()));
  return trimmed(std::move(text));
}

}  // namespace galvatron::store::h5
