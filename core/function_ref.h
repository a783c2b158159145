#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace octet {

template <class Signature>
class FunctionRef;

/// A callable that is passed down and called before the call returns: two pointers, never an
/// allocation. It does not own what it refers to.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  /// Refers to nothing.
  FunctionRef() = default;

  template <class Callable>
  requires(!std::same_as<std::remove_cvref_t<Callable>, FunctionRef> &&
           std::is_invocable_r_v<Result, Callable&, Arguments...>)
      // A lambda is to be passed as it is, and a FunctionRef is copied.
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      FunctionRef(Callable&& callable)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Result {
          auto& target = *static_cast<std::remove_reference_t<Callable>*>(object);
          if constexpr (std::is_void_v<Result>) {
            target(std::forward<Arguments>(arguments)...);
          } else {
            return target(std::forward<Arguments>(arguments)...);
          }
        }) {}

  explicit operator bool() const { return call_ != nullptr; }
  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_ = nullptr;
  Result (*call_)(void*, Arguments...) = nullptr;
};

}  // namespace octet
