#pragma once
// HDF5 identifiers with an owner, its calls with their errors, and the few operations on groups, datasets and
// attributes that this room's files are made of. HDF5 here is not thread-safe: one thread of a rank calls it.

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.hpp"

namespace galvatron::store::h5 {

/// Throws DiskError with the call and HDF5's innermost message. Use through GALV_H5.
int64_t check(int64_t outcome, const char* call);

/// The checked outcome of an HDF5 call.
#define GALV_H5(call) ::galvatron::store::h5::check(static_cast<int64_t>(call), #call)

/// One open HDF5 object of any kind.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(int64_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  hid_t get() const { return id_; }
  /// Closes now and reports a failure; for files that were written.
  void close();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Creates a file (it may exist, empty) of a format that HDF5 1.8 and later read, with `user_block` bytes in
/// front that HDF5 leaves alone.
Handle create_file(const std::filesystem::path& path, int64_t user_block);
/// Opens for reading, with plugins off.
Handle open_file(const std::filesystem::path& path);

/// The file type that stands for `dtype`. bf16 has none that common readers know: it is stored as 16 raw
/// bits.
Handle file_type(core::DType dtype);

/// The type of a text of fixed length, padded with zero bytes.
Handle text_type(size_t length);

/// Inverse of core::name(). Throws UserError (checkpoint).
core::DType dtype_named(const std::string& text);

/// A dataset of contiguous layout, allocated at once and not filled; missing groups on its path are made.
Handle create_dataset(hid_t parent, const std::string& name, hid_t type, const std::vector<int64_t>& shape);
Handle open_dataset(hid_t parent, const std::string& name);
Handle create_group(hid_t parent, const std::string& name);
/// Where the dataset's bytes begin in the file; -1 when it has none.
int64_t address_of(const Handle& dataset);
std::vector<int64_t> shape_of(const Handle& dataset);
/// Names in a group, in byte order. Throws UserError (checkpoint) on a link that is not a hard one.
std::vector<std::string> names_in(hid_t group);
bool has(hid_t parent, const std::string& name);
bool is_group(hid_t parent, const std::string& name);
/// Throws UserError (checkpoint) unless the dataset is contiguous, in this file, unfiltered and not virtual.
void require_plain(const Handle& dataset, const std::string& name);

void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, int64_t value);
std::string read_text_attribute(hid_t object, const std::string& name);
int64_t read_integer_attribute(hid_t object, const std::string& name);

/// Unit and meaning, which every dataset of this program carries.
void describe(hid_t object, const std::string& unit, const std::string& meaning);

/// A text as a scalar dataset of fixed length.
void write_text(hid_t parent, const std::string& name, const std::string& text, const std::string& meaning);
std::string read_text(hid_t parent, const std::string& name);

/// One column of a table: a one-dimensional dataset with its unit and meaning.
void write_column(hid_t parent, const std::string& name, const std::vector<double>& values,
                  const std::string& unit, const std::string& meaning);
void write_column(hid_t parent, const std::string& name, const std::vector<int64_t>& values,
                  const std::string& unit, const std::string& meaning);
void write_column(hid_t parent, const std::string& name, const std::vector<std::string>& values,
                  const std::string& meaning);
std::vector<double> read_numbers(hid_t parent, const std::string& name);
std::vector<int64_t> read_integers(hid_t parent, const std::string& name);
std::vector<std::string> read_texts(hid_t parent, const std::string& name);

}  // namespace galvatron::store::h5
