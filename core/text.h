#pragma once

#include <string>
#include <string_view>

namespace octet {

/// `text` with the letters A to Z as a to z.
std::string lower_case(std::string_view text);

/// A share as a percentage: 0.9756 is "97.56 %".
std::string percent_text(double share);

}  // namespace octet
