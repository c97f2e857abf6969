#pragma once
// The RESULT line that ends each verb: key=value pairs for scripts.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galvatron::app {

class Result {
 public:
  /// Keys keep the order of their first set; a later value replaces an earlier one. Blanks in a value become
  /// '_', so that the line splits at blanks.
  void set(const std::string& key, std::string_view value);
  void set(const std::string& key, const char* value) { set(key, std::string_view(value)); }
  void set(const std::string& key, int64_t value);
  /// 17 significant digits: the number reads back to the same bits.
  void set(const std::string& key, double value);

  /// "RESULT verb=… key=value … exit=code".
  std::string line(std::string_view verb, int exit_code) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace galvatron::app
