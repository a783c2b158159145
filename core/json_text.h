#pragma once

#include <fmt/core.h>
#include <octet/core/error.h>

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

// JSON that comes from files. Not for users' includes.

namespace octet::detail {

/// The value that a text describes. nlohmann's copies and dump() recurse, so that depth would be
/// stack: it is limited to more than Octet ever writes. And its destructor allocates, so that it
/// would end the program where memory runs out: this one takes values apart before.
class ParsedJson {
 public:
  /// Throws nlohmann's exceptions where `text` is no JSON, FormatError where it is nested too deep.
  explicit ParsedJson(std::string_view text);
  ~ParsedJson();
  ParsedJson(const ParsedJson&) = delete;
  ParsedJson& operator=(const ParsedJson&) = delete;

  const nlohmann::json& operator*() const { return value_; }
  const nlohmann::json* operator->() const { return &value_; }

 private:
  nlohmann::json value_;
};

/// What is wrong with a JSON text, or with a value of it: where, what was expected and what was
/// found, as Octet's errors say it.
std::string fault_text(const nlohmann::json::exception& fault);

/// A value as text. Throws InvalidArgument, which begins with `what`, for a text that is not UTF-8.
std::string json_text(const nlohmann::json& value, std::string_view what);

/// A value as text. Bytes of texts that are not UTF-8 become U+FFFD.
std::string lenient_json_text(const nlohmann::json& value);

/// Empties containers from the inside, as deep as ParsedJson allows them to be: what is left can be
/// destroyed without memory.
void take_apart(nlohmann::json& value) noexcept;

/// A whole number that T holds. Throws FormatError for anything else: get<T>() would wrap around
/// what is too large, and converting a large real is undefined.
template <std::integral T>
T whole_number(const nlohmann::json& entry) {
  using Limits = std::numeric_limits<T>;
  const bool fits = entry.is_number_unsigned()
                        ? std::in_range<T>(entry.get<std::uint64_t>())
                        : entry.is_number_integer() && std::in_range<T>(entry.get<std::int64_t>());
  if (!fits) {
    throw FormatError(fmt::format("expected a whole number from {} to {}, found {}", Limits::min(),
                                  Limits::max(), entry.dump()));
  }
  return entry.get<T>();
}

}  // namespace octet::detail
