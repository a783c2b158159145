#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>

// How numbers, names and templates become C text.

namespace octet::detail {

using Fillings = std::map<std::string, std::string, std::less<>>;

/// `text` with every @key@ replaced by fillings[key]. Throws InvalidArgument for an unknown key.
std::string fill(std::string_view text, const Fillings& fillings);

/// A name for the inside of a comment: what could end the comment or steer a terminal, and anything
/// but plain ASCII, as \xNN; cut after 60 characters.
std::string comment_text(std::string_view name);

/// The shortest float literal that is read back as this float: "0.1f", "1.0f".
std::string float_literal(float value);

/// An integer as part of an expression or a macro: in parentheses where it is negative.
std::string operand_text(std::int64_t value);

/// Lines, each pushed to the right by `levels` levels.
std::string indented(std::string_view lines, std::size_t levels = 1);

/// Appends numbers, or texts of numbers, with commas between and line breaks before column 96;
/// lines after the first are indented by `indent`, the first begins at column `indent`.
template <class Numbers>
void append_numbers(std::string& text, const Numbers& numbers, std::size_t indent) {
  constexpr std::size_t kColumns = 96;
  std::size_t column = indent;
  bool first = true;
  for (const auto& number : numbers) {
    const std::string digits = fmt::format("{}", number);
    if (!first) {
      const bool fits = column + digits.size() + 3 <= kColumns;
      text += fits ? ", " : ",\n";
      if (!fits) text.append(indent, ' ');
      column = fits ? column + 2 : indent;
    }
    text += digits;
    column += digits.size();
    first = false;
  }
}

/// "static const TYPE NAME[SIZE] = {...};" and a blank line.
template <class Numbers>
std::string array_text(std::string_view type, std::string_view name, const Numbers& numbers) {
  std::string text =
      fmt::format("static const {} {}[{}] = {{\n    ", type, name, std::size(numbers));
  append_numbers(text, numbers, 4);
  return text + "\n};\n\n";
}

/// A constant array of rows of `columns` numbers each, as C source.
template <class Numbers>
std::string matrix_text(std::string_view type, std::string_view name, const Numbers& numbers,
                        std::size_t columns) {
  std::string text = fmt::format("static const {} {}[{}][{}] = {{\n", type, name,
                                 std::size(numbers) / columns, columns);
  for (std::size_t begin = 0; begin < std::size(numbers); begin += columns) {
    text += "    {";
    append_numbers(text, std::span(numbers).subspan(begin, columns), 5);
    text += "},\n";
  }
  return text + "};\n\n";
}

}  // namespace octet::detail
