// Columns: the one-dimensional datasets that tables are made of.
#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/hdf5.hpp"

namespace galvatron::store::h5 {
namespace {

constexpr int64_t most_column_bytes = int64_t{1} << 32;

void write_values(hid_t parent, const std::string& name, hid_t type, size_t count, const void* values,
                  const std::string& unit, const std::string& meaning) {
  const auto dataset = create_dataset(parent, name, type, {static_cast<int64_t>(count)});
  if (count > 0) GALV_H5(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  describe(dataset.get(), unit, meaning);
}

/// The length of a column of elements of `bytes` each, checked against what a file may claim.
size_t length_of(const Handle& dataset, const std::string& name, int64_t bytes) {
  require_plain(dataset, name);
  const auto shape = shape_of(dataset);
  if (shape.size() != 1 || shape[0] < 0 || shape[0] > most_column_bytes / std::max<int64_t>(bytes, 1))
    throw core::UserError(core::ExitCode::checkpoint, "'" + name + "' is not a column");
  return static_cast<size_t>(shape[0]);
}

template <typename T>
std::vector<T> read_values(hid_t parent, const std::string& name, hid_t type) {
  const auto dataset = open_dataset(parent, name);
  std::vector<T> values(length_of(dataset, name, sizeof(T)));
  if (!values.empty()) GALV_H5(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  return values;
}

}  // namespace

void write_column(hid_t parent, const std::string& name, const std::vector<double>& values,
                  const std::string& unit, const std::string& meaning) {
  write_values(parent, name, H5T_IEEE_F64LE, values.size(), values.data(), unit, meaning);
}

void write_column(hid_t parent, const std::string& name, const std::vector<int64_t>& values,
                  const std::string& unit, const std::string& meaning) {
  write_values(parent, name, H5T_STD_I64LE, values.size(), values.data(), unit, meaning);
}

void write_column(hid_t parent, const std::string& name, const std::vector<std::string>& values,
                  const std::string& meaning) {
  size_t longest = 1;
  for (const auto& value : values) longest = std::max(longest, value.size());
  std::string packed;
  for (const auto& value : values) packed += value + std::string(longest - value.size(), '\0');
  const auto type = text_type(longest);
  write_values(parent, name, type.get(), values.size(), packed.data(), "text", meaning);
}

std::vector<double> read_numbers(hid_t parent, const std::string& name) {
  return read_values<double>(parent, name, H5T_NATIVE_DOUBLE);
}

std::vector<int64_t> read_integers(hid_t parent, const std::string& name) {
  return read_values<int64_t>(parent, name, H5T_NATIVE_INT64);
}

std::vector<std::string> read_texts(hid_t parent, const std::string& name) {
  const auto dataset = open_dataset(parent, name);
  const Handle type(GALV_H5(H5Dget_type(dataset.get())), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0)
    throw core::UserError(core::ExitCode::checkpoint, "'" + name + "' is not a column of texts");
  const auto width = H5Tget_size(type.get());
  const auto count = length_of(dataset, name, static_cast<int64_t>(width));
  std::string packed(count * width, '\0');
  if (count > 0) GALV_H5(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()));
  std::vector<std::string> values;
  for (size_t i = 0; i < count; ++i) {
    auto value = packed.substr(i * width, width);
    value.erase(value.find_last_not_of('\0') + 1);
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace galvatron::store::h5
