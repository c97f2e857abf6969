// An odd number of integers, so that no block of the file is full.
#include "store/hdf5_probe.hpp"

#include <numeric>
#include <vector>

#include "core/errors.hpp"
#include "store/hdf5.hpp"

namespace galvatron::store {
namespace {

constexpr size_t count = 1237;

std::vector<int64_t> pattern() {
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), int64_t{1} << 40);
  return values;
}

}  // namespace

void write_hdf5_probe(const std::filesystem::path& path) {
  auto file = h5::create_file(path, 0);
  const auto values = pattern();
  {
    const auto dataset =
        h5::create_dataset(file.get(), "/probe/values", H5T_STD_I64LE, {static_cast<int64_t>(count)});
    GALV_H5(H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  }
  file.close();
}

void read_hdf5_probe(const std::filesystem::path& path) {
  const auto file = h5::open_file(path);
  const auto dataset = h5::open_dataset(file.get(), "/probe/values");
  std::vector<int64_t> values(count);
  if (h5::shape_of(dataset) != std::vector<int64_t>{static_cast<int64_t>(count)})
    throw core::UserError(core::ExitCode::environment, path.string() + ": another shape than was written");
  GALV_H5(H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  if (values != pattern())
    throw core::UserError(core::ExitCode::environment, path.string() + ": other values than were written");
}

}  // namespace galvatron::store
