#include <octet/core/printable.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

/// Bytes of the character that `text` begins with, one that may be printed; 0 where it is a control
/// character or no UTF-8.
std::size_t printable_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first < 0x20 || first == 0x7F ? 0 : 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  if (!std::ranges::all_of(text.substr(1, bytes - 1), is_continuation)) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  switch (first) {
    case 0xC2:  // U+0080 to U+009F steer a terminal as ESC and a letter do.
      return second < 0xA0 ? 0 : bytes;
    case 0xE0:  // Longer than it need be, as for 0xF0.
      return second < 0xA0 ? 0 : bytes;
    case 0xED:  // Surrogates, which are no characters.
      return second >= 0xA0 ? 0 : bytes;
    case 0xF0:
      return second < 0x90 ? 0 : bytes;
    case 0xF4:  // Above U+10FFFF.
      return second >= 0x90 ? 0 : bytes;
    default:
      return bytes;
  }
}

/// The first characters of `text`, at most `most` bytes of it, and how many bytes of it they are.
std::pair<std::string, std::size_t> made_printable(std::string_view text, std::size_t most,
                                                   bool keeps_lines) {
  std::string result;
  std::size_t done = 0;
  while (done < text.size()) {
    const std::size_t bytes =
        keeps_lines && text[done] == '\n' ? 1 : printable_bytes(text.substr(done));
    const std::size_t next = done + std::max<std::size_t>(bytes, 1);
    if (next > most) break;
    if (bytes == 0) {
      result += '?';
    } else {
      result += text.substr(done, bytes);
    }
    done = next;
  }
  return {std::move(result), done};
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  auto [result, done] = made_printable(text, most, /*keeps_lines=*/false);
  if (done < text.size()) result += "...";
  return result;
}

std::string printable_lines(std::string_view text) {
  return made_printable(text, text.size(), /*keeps_lines=*/true).first;
}

void print_text(std::FILE* out, std::string_view text) {
  const std::string shown = printable_lines(text);
  static_cast<void>(std::fwrite(shown.data(), 1, shown.size(), out));
}

}  // namespace octet
