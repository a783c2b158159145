#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace octet {

/// `text` as a program may print it in a line: names and messages may come from files, and nothing
/// of them may steer the terminal. Control characters (those of ASCII, and U+0080 to U+009F) and
/// bytes that are not UTF-8 become '?'; of a text longer than `most` bytes the first ones and "..."
/// are left.
std::string printable(std::string_view text, std::size_t most = 60);

/// `text` as a program may print it, whole and with its line feeds: see printable().
std::string printable_lines(std::string_view text);

/// Writes printable_lines(text) to `out`. A terminal that has gone, or a full disk, does not throw:
/// std::ferror() tells.
void print_text(std::FILE* out, std::string_view text);

}  // namespace octet
