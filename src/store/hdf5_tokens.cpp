// Our own format of tokens: one dataset of an HDF5 file, found once with the library and then read where it
// lies, without it.
#include <hdf5.h>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"
#include "store/hdf5.hpp"
#include "store/token_file.hpp"
#include "store/token_writer.hpp"

namespace galvatron::store {
namespace {

constexpr const char* dataset_name = "tokens";
constexpr const char* vocabulary_name = "vocabulary";

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw core::UserError(core::ExitCode::data, core::format("{}: /tokens {}", path.string(), what));
}

/// Contiguous, in this file, without filters: else its ids do not lie one after the other.
void require_contiguous(const std::filesystem::path& path, const h5::Handle& dataset) {
  const h5::Handle creation(GALV_H5(H5Dget_create_plist(dataset.get())), H5Pclose);
  const char* const fix =
      "; write it again contiguous: h5repack -l tokens:CONTI -f tokens:NONE OLD NEW, or galvatron convert "
      "tokens";
  if (GALV_H5(H5Pget_nfilters(creation.get())) != 0) refuse(path, std::string("is compressed") + fix);
  const auto layout = H5Pget_layout(creation.get());
  if (layout == H5D_CHUNKED) refuse(path, std::string("is chunked") + fix);
  if (layout != H5D_CONTIGUOUS) refuse(path, std::string("is neither chunked nor contiguous") + fix);
  if (GALV_H5(H5Pget_external_count(creation.get())) != 0)
    refuse(path, std::string("keeps its bytes in another file") + fix);
}

TokenType type_of(const std::filesystem::path& path, const h5::Handle& dataset) {
  const h5::Handle type(GALV_H5(H5Dget_type(dataset.get())), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_INTEGER) refuse(path, "is not of an integer type");
  const auto bytes = H5Tget_size(type.get());
  const bool is_signed = H5Tget_sign(type.get()) == H5T_SGN_2;
  if (bytes > 1 && H5Tget_order(type.get()) != H5T_ORDER_LE)
    refuse(path, "is big-endian; write it little-endian, as numpy's '<u2' or '<i4'");
  if (H5Tget_precision(type.get()) != 8 * bytes || H5Tget_offset(type.get()) != 0)
    refuse(path, "is of an integer type with unused bits");
  if (bytes == 1) return is_signed ? TokenType::i8 : TokenType::u8;
  if (bytes == 2) return is_signed ? TokenType::i16 : TokenType::u16;
  if (bytes == 4) return is_signed ? TokenType::i32 : TokenType::u32;
  if (bytes == 8 && is_signed) return TokenType::i64;
  refuse(path, core::format("has integers of {} bytes{}; use 16, 32 or signed 64 bits", bytes,
                            is_signed ? "" : " without sign"));
}

/// The attribute, of whatever integer type it is; 0 when there is none.
int64_t vocabulary_of(const std::filesystem::path& path, const h5::Handle& dataset) {
  if (GALV_H5(H5Aexists(dataset.get(), vocabulary_name)) == 0) return 0;
  const h5::Handle attribute(GALV_H5(H5Aopen(dataset.get(), vocabulary_name, H5P_DEFAULT)), H5Aclose);
  const h5::Handle type(GALV_H5(H5Aget_type(attribute.get())), H5Tclose);
  const h5::Handle space(GALV_H5(H5Aget_space(attribute.get())), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_INTEGER || H5Sget_simple_extent_npoints(space.get()) != 1)
    refuse(path, "has an attribute 'vocabulary' that is not one integer");
  int64_t value = 0;
  GALV_H5(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value));
  if (value < 1 || value > int64_t{1} << 31)
    refuse(path, core::format("has an attribute 'vocabulary' of {}; expected 1 to 2147483648", value));
  return value;
}

TokenFile read_header(const std::filesystem::path& path) {
  const auto file = h5::open_file(path);
  if (!h5::has(file.get(), dataset_name)) refuse(path, "is missing");
  H5L_info_t link;
  GALV_H5(H5Lget_info(file.get(), dataset_name, &link, H5P_DEFAULT));
  if (link.type != H5L_TYPE_HARD) refuse(path, "is a link; links are not followed");
  const h5::Handle object(GALV_H5(H5Oopen(file.get(), dataset_name, H5P_DEFAULT)), H5Oclose);
  if (H5Iget_type(object.get()) != H5I_DATASET) refuse(path, "is not a dataset");
  const auto dataset = h5::open_dataset(file.get(), dataset_name);
  const auto shape = h5::shape_of(dataset);
  if (shape.size() != 1) refuse(path, core::format("has {} dims, not one", shape.size()));
  if (shape[0] < 1) refuse(path, "is empty");
  TokenFile out{path, type_of(path, dataset), 0, shape[0], vocabulary_of(path, dataset)};
  require_contiguous(path, dataset);
  out.offset = h5::address_of(dataset);
  if (out.offset < 0) refuse(path, "was never written");
  return out;
}

}  // namespace

TokenFile detail::hdf5_file(const std::filesystem::path& path) {
  const MappedFile mapped(path);
  const auto size = static_cast<int64_t>(mapped.bytes().size());
  TokenFile file;
  try {
    file = read_header(path);
  } catch (const DiskError& error) {
    throw core::UserError(core::ExitCode::data, core::format("{}: {}", path.string(), error.what()));
  } catch (const core::UserError& error) {
    throw core::UserError(core::ExitCode::data, error.what());
  }
  const auto width = size_of(file.type);
  if (file.offset > size || file.tokens > (size - file.offset) / width)
    refuse_file(path, size,
                core::format("{} tokens of {} bytes from byte {} on", file.tokens, width, file.offset),
                "the end of the file");
  return file;
}

int64_t detail::lay_out_hdf5_tokens(const File& file, TokenType type, const TokenOutput& output) {
  const ScratchFile scratch;
  auto hdf5 = h5::create_file(scratch.path(), 0);
  const auto stored = type == TokenType::u8    ? H5T_STD_U8LE
                      : type == TokenType::u16 ? H5T_STD_U16LE
                                               : H5T_STD_I32LE;
  int64_t begin = -1;
  {
    const auto dataset = h5::create_dataset(hdf5.get(), dataset_name, stored, {output.tokens});
    h5::write_attribute(dataset.get(), vocabulary_name, output.vocabulary);
    h5::describe(dataset.get(), "token", "ids of all documents, one after the other");
    begin = h5::address_of(dataset);
  }
  hdf5.close();
  scratch.copy_to(file);
  GALV_ASSERT(begin > 0, begin);
  return begin;
}

}  // namespace galvatron::store
