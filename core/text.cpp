#include <fmt/core.h>
#include <octet/core/text.h>

#include <algorithm>

namespace octet {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string percent_text(double share) { return fmt::format("{:.2f} %", 100.0 * share); }

}  // namespace octet
