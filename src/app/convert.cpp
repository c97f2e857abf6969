// galvatron convert: texts and files of tokens to other files of tokens; plans are in convert_plan.cpp.

#include "app/verbs.hpp"
#include "core/format.hpp"
#include "store/convert_tokens.hpp"

namespace galvatron::app {

core::ExitCode convert_verb(Context& context) {
  const auto& line = context.line;
  if (line.file == "plan") return convert_plan(context);
  // 1. What is to be done.
  std::vector<std::string> problems;
  if (line.file != "tokens")
    problems.push_back(
        core::format("command line: convert makes tokens or plans: galvatron convert tokens IN … or convert "
                     "plan PLAN DECK, not "
                     "'{}'",
                     line.file));
  if (line.inputs.empty()) problems.emplace_back("command line: convert tokens needs files to read");
  if (line.out.empty()) problems.emplace_back("command line: convert tokens needs --out FILE");
  if (line.to == "text")
    problems.emplace_back("command line: --to text is not possible; tokens may be no text");
  if (!problems.empty()) throw core::UserError(core::join(problems, "\n"));
  store::ConvertOptions options;
  options.inputs.assign(line.inputs.begin(), line.inputs.end());
  options.out = line.out;
  options.to = store::parse_token_format(line.to);
  using Existing = store::ConvertOptions::Existing;
  options.existing = line.overwrite ? Existing::replace : Existing::refuse;
  // 2. Do it.
  const auto report = store::convert_tokens(options);
  // 3. What came of it.
  std::vector<std::string> names;
  for (const auto& file : report.files) names.push_back(file.string());
  context.console.info(core::format("{}: {} tokens of {} documents, vocabulary {}, stored as {}",
                                    core::join(names, ", "), report.tokens, report.documents,
                                    report.vocabulary, store::name_of(report.type)));
  context.result.set("tokens", report.tokens);
  context.result.set("documents", report.documents);
  context.result.set("vocabulary", report.vocabulary);
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
