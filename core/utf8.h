#pragma once

#include <string>

namespace octet::detail {

/// `text` with U+FFFD in the place of what is not UTF-8.
std::string as_utf8(const std::string& text);

}  // namespace octet::detail
