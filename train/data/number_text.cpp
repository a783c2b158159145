#include <octet/core/parse_number.h>
#include <octet/train/data/number_text.h>

#include <cmath>
#include <system_error>

namespace octet {

std::optional<float> to_float(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  float value = 0;
  const std::errc error = parse_number(text, value);
  if (error == std::errc::result_out_of_range) {
    double wide = 0;
    if (parse_number(text, wide) != std::errc() || std::abs(wide) > 1) return std::nullopt;
    return static_cast<float>(wide);
  }
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> to_whole_number(std::string_view text) {
  std::int64_t value = 0;
  return parse_number(text, value) == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace octet
