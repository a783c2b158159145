#pragma once

#include <fmt/format.h>
#include <octet/core/error.h>

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

// JSON that comes from files. Not for users' includes.

namespace octet::detail {

/// The value that `text` describes. Throws nlohmann's exceptions where it is no JSON, FormatError
/// where values are nested deeper than anything that Octet writes: nlohmann's copies and dump()
/// recurse, so depth would be stack.
nlohmann::json parse_json(std::string_view text);

/// A whole number that T holds. Throws FormatError for anything else: get<T>() would wrap around
/// what is too large, and converting a large real is undefined.
template <std::integral T>
T whole_number(const nlohmann::json& entry) {
  using Limits = std::numeric_limits<T>;
  const bool fits =
      entry.is_number_unsigned()
          ? std::in_range<T>(entry.get<std::uint64_t>())
          : entry.is_number_integer() && std::in_range<T>(entry.get<std::int64_t>());
  if (!fits) {
    throw FormatError(fmt::format("expected a whole number from {} to {}, found {}", Limits::min(),
                                  Limits::max(), entry.dump()));
  }
  return entry.get<T>();
}

}  // namespace octet::detail
