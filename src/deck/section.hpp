#pragma once
// A section as a table: the struct's own list of fields, each with the member it fills. Reading, checking,
// printing and documenting all go through this one list.

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "deck/field.hpp"
#include "deck/reader.hpp"

namespace galvatron::deck {

template <typename T>
class Section {
 public:
  struct Field {
    template <typename M>
    Field(std::string field_key, M T::*member, Rule field_rule, std::string field_unit,
          std::string field_meaning)
        : info{std::move(field_key),
               {},
               std::move(field_rule),
               std::move(field_unit),
               std::move(field_meaning)},
          get([member](const T& from) { return Value(from.*member); }),
          set([member](T& to, const Value& value) { to.*member = std::get<M>(value); }) {}

    FieldInfo info;
    std::function<Value(const T&)> get;
    std::function<void(T&, const Value&)> set;
  };

  Section(std::string name, std::string meaning, std::vector<Field> fields)
      : info_{std::move(name), std::move(meaning), {}}, fields_(std::move(fields)) {
    const T standard;
    for (Field& f : fields_) {
      f.info.standard = f.get(standard);
      info_.fields.push_back(f.info);
    }
  }

  const SectionInfo& info() const { return info_; }

  /// The values of this section; problems go to the reader and leave the default.
  T read(Reader& reader) const {
    T out;
    for (const Field& f : fields_) {
      if (const auto value = reader.take(info_, f.info)) f.set(out, *value);
    }
    return out;
  }

  /// In the order of the fields.
  std::vector<Value> values(const T& section) const {
    std::vector<Value> out;
    for (const Field& f : fields_) out.push_back(f.get(section));
    return out;
  }

  std::string print(const T& section) const { return print_section(info_, values(section)); }

  std::string document() const { return document_section(info_); }

 private:
  SectionInfo info_;
  std::vector<Field> fields_;
};

}  // namespace galvatron::deck
