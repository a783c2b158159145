#pragma once

#include <charconv>
#include <concepts>
#include <string_view>
#include <system_error>

namespace octet {

/// Reads `text` as a number in decimal digits, with a minus or without, whatever the locale.
/// Returns std::errc() where it is one as a whole, else why it is none; `value` is then as
/// std::from_chars() leaves it.
template <std::integral Number>
std::errc parse_number(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error != std::errc() || stop == end ? error : std::errc::invalid_argument;
}

/// Reads a real number, with a point and an exponent or without, likewise; the nearest value.
std::errc parse_number(std::string_view text, float& value);
std::errc parse_number(std::string_view text, double& value);

}  // namespace octet
