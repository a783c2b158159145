#pragma once

#include <charconv>
#include <concepts>
#include <string_view>
#include <system_error>

namespace octet {

namespace detail {

/// std::from_chars() of all of `text`, which leaves `value` as it is where that is no number.
template <class Number>
std::errc from_all_chars(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  Number found{};
  const auto [stop, error] = std::from_chars(text.data(), end, found);
  if (error == std::errc() && stop != end) return std::errc::invalid_argument;
  if (error == std::errc()) value = found;
  return error;
}

}  // namespace detail

/// Reads `text` as a whole number in decimal digits, with a minus or without. Returns std::errc()
/// where all of it is one, else why it is none; `value` stays then.
template <std::integral Number>
std::errc parse_number(std::string_view text, Number& value) {
  return detail::from_all_chars(text, value);
}

/// Reads `text` as a real number, with a minus, a point and an exponent or without, whatever the
/// locale: the nearest one. Returns std::errc() where all of it is one, else why it is none;
/// `value` stays then.
std::errc parse_number(std::string_view text, float& value);
std::errc parse_number(std::string_view text, double& value);

}  // namespace octet
