#pragma once

#include <optional>
#include <string_view>

namespace octet {

/// The float that is nearest to `text`, a decimal number with a point, whatever the locale; none
/// where it is something else. What is too small for a float but not for a double becomes 0.
std::optional<float> to_float(std::string_view text);

}  // namespace octet
