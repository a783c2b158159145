#pragma once

#include <octet/core/description.h>
#include <octet/core/error.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>

namespace octet {
namespace detail {

/// The name of a C++ class as its source spells it, e.g. "octet::Dense".
std::string class_name(std::type_index type);

/// Throws InvalidArgument where `name` is empty, or stands for another class already.
/// `registered` is null for a new name.
void check_registration(std::string_view kind, std::string_view name, std::type_index type,
                        const std::type_index* registered);

[[noreturn]] void throw_unknown_type(std::string_view kind, std::string_view call,
                                     std::string_view name);
[[noreturn]] void throw_unregistered(std::string_view kind, std::string_view call,
                                     std::string_view name, std::type_index type);
[[noreturn]] void throw_made_another(std::string_view kind, std::string_view name,
                                     std::type_index expected, const std::type_info* made);
[[noreturn]] void throw_refused(std::string_view kind, std::string_view name, const Error& reason);

}  // namespace detail

/// The classes under a base class (layers, observers, scale rules) that files may name, and how an
/// object of each is made from its description. `Base::type()` gives the name an object is
/// registered under. Objects may be made, and classes added, on several threads at once.
///
/// Octet's own classes are added by the constructor of the one registry of their base, which
/// stands in a function: a static library drops objects that nothing refers to, so that a
/// registration at file scope would be lost.
template <class Base>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Base>(const Description&)>;

  /// `kind` ("observer") and `call`, what a user calls to register a class
  /// ("register_observer"), stand in errors. Both live as long as the registry.
  Registry(std::string_view kind, std::string_view call) : kind_(kind), call_(call) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Lets files name class T. Registering the same class again replaces its factory. Throws
  /// InvalidArgument for an empty name and for a name that stands for another class.
  template <class T>
  void add(std::string name, Factory make) {
    static_assert(std::is_base_of_v<Base, T> && !std::is_abstract_v<T>);
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    detail::check_registration(kind_, name, typeid(T),
                               found == entries_.end() ? nullptr : &found->second.type);
    entries_.insert_or_assign(std::move(name), Entry{typeid(T), std::move(make)});
  }

  bool has(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    return entries_.contains(name);
  }

  /// An object of the class `name`. Throws FormatError for a name that stands for none, and where
  /// the class refuses the description with InvalidArgument; InvalidArgument for a factory that
  /// makes an object of another class.
  std::unique_ptr<Base> make(std::string_view name, const Description& description) const {
    const Entry entry = entry_of(name);
    std::unique_ptr<Base> object;
    try {
      object = entry.make(description);
    } catch (const InvalidArgument& error) {
      detail::throw_refused(kind_, name, error);
    }
    const Base* made = object.get();
    if (made == nullptr || entry.type != typeid(*made)) {
      detail::throw_made_another(kind_, name, entry.type, made ? &typeid(*made) : nullptr);
    }
    return object;
  }

  /// Throws InvalidArgument, naming the class and the call that registers it, unless `object` is
  /// of the very class registered under its type(): a subclass of a registered class computes
  /// what that class does not.
  void check(const Base& object) const {
    const std::string_view name = object.type();
    const std::type_index type = typeid(object);
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(name);
      if (found != entries_.end() && found->second.type == type) return;
    }
    detail::throw_unregistered(kind_, call_, name, type);
  }

 private:
  struct Entry {
    std::type_index type;
    Factory make;
  };

  /// A copy: a factory runs without the lock, since what it makes may hold parts that are made
  /// from this registry too.
  Entry entry_of(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) detail::throw_unknown_type(kind_, call_, name);
    return found->second;
  }

  std::string_view kind_;
  std::string_view call_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace octet
