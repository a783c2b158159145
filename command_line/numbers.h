#pragma once

#include <octet/command_line/text.h>
#include <octet/core/parse_number.h>

#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace octet::command_line {

/// Whole numbers in decimal digits, from `least` to `most`.
struct Count {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// Finite numbers from `least` to `most`.
struct Real {
  double least = 0.0;
  double most = 0.0;
};

/// Every whole number of 64 bits.
inline constexpr Count kSeeds{0, std::numeric_limits<std::uint64_t>::max()};
/// Floats above 0 with all their digits.
inline constexpr Real kRates{1e-37, 1e37};
inline constexpr Count kThreads{1, 1024};

/// "a whole number from 1 to 1000", "a number from 0 to 0.9".
std::string in_words(const Count& range);
std::string in_words(const Real& range);

/// "1..1000", for the list of options.
std::string in_short(const Count& range);
std::string in_short(const Real& range);

/// `text` as a number of `range`; none where it is something else, in whole or in part.
template <std::unsigned_integral T>
std::optional<T> number_in(const Count& range, std::string_view text) {
  T value{};
  const bool taken =
      parse_number(text, value) == std::errc() && value >= range.least && value <= range.most;
  return taken ? std::optional(value) : std::nullopt;
}
template <std::signed_integral T>
std::optional<T> number_in(const Count& range, std::string_view text) {
  const auto value = number_in<std::make_unsigned_t<T>>(range, text);
  if (!value || *value > static_cast<std::make_unsigned_t<T>>(std::numeric_limits<T>::max())) {
    return std::nullopt;
  }
  return static_cast<T>(*value);
}
template <std::floating_point T>
std::optional<T> number_in(const Real& range, std::string_view text) {
  T value{};
  // Bounds as T has them: 1e-9 as a float is below 1e-9. NaN is in no range.
  const bool taken = parse_number(text, value) == std::errc() &&
                     value >= static_cast<T>(range.least) && value <= static_cast<T>(range.most);
  return taken ? std::optional(value) : std::nullopt;
}

/// Throws CLI::ValidationError: `option` takes `expected`, and found `text`.
[[noreturn]] void refuse_number(const std::string& option, const std::string& expected,
                                const std::string& text);

/// Adds an option that takes a number of `range` into `value`: a number or an optional one. Of
/// several names with commas between, errors say the first.
template <class Value, class Range>
CLI::Option* add_number(CLI::App& app, const std::string& name, Value& value, const Range& range,
                        const std::string& help) {
  const auto take = [&value, first = name.substr(0, name.find(',')),
                     range](const std::string& text) {
    using Number = typename decltype(std::optional(value))::value_type;
    const auto number = number_in<Number>(range, text);
    if (!number) refuse_number(first, in_words(range), text);
    value = *number;
  };
  return app.add_option_function<std::string>(name, take, help)->type_name(in_short(range));
}

/// Adds an option that takes numbers of `range` with commas between into `values`.
template <class Number, class Range>
CLI::Option* add_numbers(CLI::App& app, const std::string& name, std::vector<Number>& values,
                         const Range& range, const std::string& help) {
  const auto take = [&values, name, range](const std::string& text) {
    values.clear();
    for (const std::string& word : split_at_commas(text)) {
      const auto number = number_in<Number>(range, word);
      if (!number) refuse_number(name, in_words(range) + ", or several with commas between", text);
      values.push_back(*number);
    }
  };
  return app.add_option_function<std::string>(name, take, help)->type_name("N,N,...");
}

}  // namespace octet::command_line
