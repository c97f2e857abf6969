// Opening the library and the calls that every descriptor needs.

#include "kernels/cuda/cudnn.hpp"

#include <dlfcn.h>

#include <utility>

#include "core/format.hpp"

namespace galvatron::kernels::cuda::cudnn {
namespace {

template <class Function>
bool find(void* library, Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool find_all(void* library, Functions& f) {
  return find(library, f.create, "cudnnCreate") && find(library, f.destroy, "cudnnDestroy") &&
         find(library, f.set_stream, "cudnnSetStream") && find(library, f.version, "cudnnGetVersion") &&
         find(library, f.error_text, "cudnnGetErrorString") &&
         find(library, f.create_descriptor, "cudnnBackendCreateDescriptor") &&
         find(library, f.destroy_descriptor, "cudnnBackendDestroyDescriptor") &&
         find(library, f.set_attribute, "cudnnBackendSetAttribute") &&
         find(library, f.get_attribute, "cudnnBackendGetAttribute") &&
         find(library, f.finalize, "cudnnBackendFinalize") && find(library, f.execute, "cudnnBackendExecute");
}

}  // namespace

void Library::Close::operator()(void* library) const {
  dlclose(library);
}

std::optional<Library> Library::open(const std::string& name) {
  Library library{Functions{}};
  library.opened_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library.opened_ || !find_all(library.opened_.get(), library.functions_)) return std::nullopt;
  return library;
}

void check(const Functions& functions, Status status, const char* call) {
  if (status != success) throw Refusal{core::format("{}: {}", call, functions.error_text(status))};
}

Descriptor::Descriptor(const Functions& functions, Kind kind) : functions_(&functions) {
  RawDescriptor raw = nullptr;
  check(functions, functions.create_descriptor(kind, &raw), "cudnnBackendCreateDescriptor");
  raw_ = {raw, Destroy{functions.destroy_descriptor}};
}

void Descriptor::set(Attribute attribute, Form form, int64_t count, const void* values) const {
  check(*functions_, functions_->set_attribute(raw_.get(), attribute, form, count, values),
        "cudnnBackendSetAttribute");
}

void Descriptor::set(Attribute attribute, const Descriptor& other) const {
  const auto raw = other.get();
  set(attribute, Form::descriptor, 1, &raw);
}

void Descriptor::set(Attribute attribute, int64_t value) const {
  set(attribute, Form::int64, 1, &value);
}

void Descriptor::set(Attribute attribute, std::span<const int64_t> values) const {
  set(attribute, Form::int64, static_cast<int64_t>(values.size()), values.data());
}

void Descriptor::set(Attribute attribute, Type type) const {
  set(attribute, Form::data_type, 1, &type);
}

void Descriptor::set(Attribute attribute, bool value) const {
  set(attribute, Form::boolean, 1, &value);
}

void Descriptor::finalize() const {
  check(*functions_, functions_->finalize(raw_.get()), "cudnnBackendFinalize");
}

int64_t Descriptor::integer(Attribute attribute) const {
  int64_t value = 0, count = 0;
  check(*functions_, functions_->get_attribute(raw_.get(), attribute, Form::int64, 1, &count, &value),
        "cudnnBackendGetAttribute");
  return value;
}

}  // namespace galvatron::kernels::cuda::cudnn
