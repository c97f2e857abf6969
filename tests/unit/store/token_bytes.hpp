#pragma once
// The bytes of token files, put together by hand, so that tests do not trust the writers of the program.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace galvatron::store::test {

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <typename T>
std::string bytes_of_ids(const std::vector<int64_t>& ids) {
  std::string bytes;
  for (const auto id : ids) append(bytes, static_cast<T>(id));
  return bytes;
}

/// An index over documents of these lengths, one sequence each.
inline std::string megatron_index(uint8_t code, int64_t width, const std::vector<int32_t>& lengths) {
  std::string bytes("MMIDIDX\0\0", 9);
  append<uint64_t>(bytes, 1);
  append<uint8_t>(bytes, code);
  append<uint64_t>(bytes, lengths.size());
  append<uint64_t>(bytes, lengths.size() + 1);
  for (const auto length : lengths) append<int32_t>(bytes, length);
  int64_t at = 0;
  for (const auto length : lengths) {
    append<int64_t>(bytes, at);
    at += length * width;
  }
  for (size_t i = 0; i <= lengths.size(); ++i) append<int64_t>(bytes, static_cast<int64_t>(i));
  return bytes;
}

inline std::string llmc_header(int32_t magic, int32_t version, int32_t tokens) {
  std::string bytes;
  append(bytes, magic);
  append(bytes, version);
  append(bytes, tokens);
  bytes.resize(1024, '\0');
  return bytes;
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace galvatron::store::test
