#include <octet/core/printable.h>

namespace octet {

std::string printable(std::string_view text, std::size_t most) {
  std::string result(text.substr(0, most));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto c = static_cast<unsigned char>(result[i]);
    // U+0080 to U+009F are C2 80 to C2 9F.
    const bool c1 = c >= 0x80 && c < 0xA0 && i > 0 && result[i - 1] == '\xC2';
    if (c1) result[i - 1] = '?';
    if (c < 0x20 || c == 0x7F || c1) result[i] = '?';
  }
  if (text.size() > most) result += "...";
  return result;
}

}  // namespace octet
