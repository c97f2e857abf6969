// First what there is, then one pass from reader to writer.
#include "store/convert_tokens.hpp"

#include <algorithm>
#include <functional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/token_writer.hpp"

namespace galvatron::store {
namespace {

constexpr int64_t chunk_tokens = int64_t{1} << 16;
constexpr int64_t any_id = int64_t{1} << 31;

struct Input {
  TokenFile file;
  TokenFormat format = TokenFormat::text;
  std::unique_ptr<Dataset> data;
  int64_t vocabulary = 0;
  bool lacks_newline = false;  ///< a text that does not end as a line

  int64_t tokens() const { return data->tokens() + (lacks_newline ? 1 : 0); }
};

void for_each_chunk(const Dataset& data, int64_t begin, int64_t count,
                    const std::function<void(std::span<const int32_t>)>& f) {
  std::vector<int32_t> chunk;
  for (int64_t at = begin; at < begin + count; at += chunk_tokens) {
    chunk.resize(static_cast<size_t>(std::min(chunk_tokens, begin + count - at)));
    data.read(at, chunk);
    f(chunk);
  }
}

int64_t largest_id(const Dataset& data) {
  int32_t largest = 0;
  for_each_chunk(data, 0, data.tokens(), [&](std::span<const int32_t> ids) {
    largest = std::max(largest, *std::max_element(ids.begin(), ids.end()));
  });
  return largest;
}

Input open_input(const std::filesystem::path& path) {
  Input input;
  input.format = detect_token_format(path);
  input.file = read_token_file(input.format, path);
  const auto told = input.file.vocabulary;
  input.data = open_token_file(input.file, told > 0 ? told : any_id);
  input.vocabulary = told > 0 ? told : largest_id(*input.data) + 1;
  if (input.format == TokenFormat::text) {
    std::vector<int32_t> last(1);
    input.data->read(input.data->tokens() - 1, last);
    input.lacks_newline = last[0] != '\n';
  }
  return input;
}

/// Appends the input's documents; returns how many there were.
int64_t copy_documents(const Input& input, TokenWriter& writer) {
  const auto append = [&](std::span<const int32_t> ids) { writer.append(ids); };
  if (input.format == TokenFormat::megatron) {
    const MegatronDocuments documents(input.file.path);
    int64_t begin = 0;
    for (int64_t d = 0; d < documents.count(); ++d) {
      const auto count = documents.tokens_of(d);
      for_each_chunk(*input.data, begin, count, append);
      writer.end_document();
      begin += count;
    }
    if (documents.count() > 0) return documents.count();
  }
  for_each_chunk(*input.data, 0, input.data->tokens(), append);
  if (input.lacks_newline) {
    const int32_t newline = '\n';
    writer.append(std::span(&newline, 1));
  }
  writer.end_document();
  return 1;
}

void require_absent(const ConvertOptions& options) {
  for (const auto& file : files_of_writer(options.to, options.out)) {
    std::error_code ignored;
    const bool exists = std::filesystem::exists(file, ignored);
    if (exists && options.existing == ConvertOptions::Existing::refuse)
      throw core::UserError(core::format("{} exists; choose another name, or --overwrite", file.string()));
    for (const auto& input : options.inputs)
      if (exists && std::filesystem::equivalent(file, input, ignored))
        throw core::UserError(core::format("{} is both read and written", file.string()));
  }
}

}  // namespace

ConvertReport convert_tokens(const ConvertOptions& options) {
  GALV_ASSERT(!options.inputs.empty() && options.to != TokenFormat::text);
  require_absent(options);
  ConvertReport report;
  std::vector<Input> inputs;
  for (const auto& path : options.inputs) {
    inputs.push_back(open_input(path));
    report.tokens += inputs.back().tokens();
    report.vocabulary = std::max(report.vocabulary, inputs.back().vocabulary);
  }
  report.type = type_for(options.to, report.vocabulary);
  if (options.out.has_parent_path()) std::filesystem::create_directories(options.out.parent_path());
  const auto writer = make_token_writer(options.to, {options.out, report.tokens, report.vocabulary});
  for (const auto& input : inputs) report.documents += copy_documents(input, *writer);
  report.files = writer->finish();
  return report;
}

}  // namespace galvatron::store
