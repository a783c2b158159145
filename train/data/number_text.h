#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octet {

/// The float that is nearest to `text`, a decimal number with a point, whatever the locale; none
/// where it is something else. What is too small for a float but not for a double becomes 0.
std::optional<float> to_float(std::string_view text);

/// `text` as a whole number in decimal digits, with or without a minus; none where it is something
/// else.
std::optional<std::int64_t> to_whole_number(std::string_view text);

}  // namespace octet
