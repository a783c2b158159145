#include <cxxabi.h>
#include <fmt/core.h>
#include <octet/core/registry.h>

#include <cstdlib>

namespace octet::detail {

std::string class_name(std::type_index type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return status == 0 && name ? name.get() : type.name();
}

void check_registration(std::string_view kind, std::string_view name, std::type_index type,
                        const std::type_index* registered) {
  if (name.empty()) {
    throw InvalidArgument(
        fmt::format("registering the {} {}: expected a name, found none", kind, class_name(type)));
  }
  if (registered != nullptr && *registered != type) {
    throw InvalidArgument(fmt::format(
        "registering the {} {}: expected a name of its own, found \"{}\", which stands for {}",
        kind, class_name(type), name, class_name(*registered)));
  }
}

void throw_unknown_type(std::string_view kind, std::string_view call, std::string_view name) {
  throw FormatError(fmt::format(
      "expected the name of a {0}, found \"{1}\"; a {0} of one's own is registered by {2}() before "
      "a file that holds one is read",
      kind, name, call));
}

void throw_unregistered(std::string_view kind, std::string_view call, std::string_view name,
                        std::type_index type) {
  const std::string found = class_name(type);
  throw InvalidArgument(fmt::format(
      "expected a {0} whose class is registered under its type(), so that a file can name it; "
      "found {1} of type() \"{2}\"; call {3}<{1}>(\"{2}\", ...) first, with a type() that no other "
      "class has",
      kind, found, name, call));
}

void throw_made_another(std::string_view kind, std::string_view name, std::type_index expected,
                        const std::type_info* made) {
  throw InvalidArgument(
      fmt::format("{} \"{}\": expected the registered function to make one of class {}, found {}",
                  kind, name, class_name(expected), made == nullptr ? "null" : class_name(*made)));
}

void throw_refused(std::string_view kind, std::string_view name, const Error& reason) {
  throw FormatError(fmt::format("the description of a {} \"{}\": {}", kind, name, reason.what()));
}

}  // namespace octet::detail
