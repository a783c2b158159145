#include <octet/train/data/number_text.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace octet {

std::optional<float> to_float(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  float value = 0;
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc::result_out_of_range) {
    double wide = 0;
    const auto again = std::from_chars(text.data(), end, wide);
    if (again.ec != std::errc() || again.ptr != end || std::abs(wide) > 1) return std::nullopt;
    return static_cast<float>(wide);
  }
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> to_whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

}  // namespace octet
