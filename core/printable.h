#pragma once

#include <string>
#include <string_view>

namespace octet {

/// `text` as a program may print it: names and messages may come from files, and nothing of them
/// may steer the terminal. Control characters (ASCII's, and C1 in UTF-8) become '?'; of a text
/// longer than `most` bytes the first ones and "..." are left.
std::string printable(std::string_view text, std::size_t most = 60);

}  // namespace octet
