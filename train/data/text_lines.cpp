#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/text_lines.h>

#include <algorithm>

namespace octet {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{1} << 26U;

}  // namespace

void TextLines::fail(const std::string& what) const {
  throw FormatError(fmt::format("{}, line {}: {}", file_, number_, what));
}

void TextLines::refill() {
  if (buffer_.size() - begin_ > kMostLineBytes) {
    ++number_;
    fail(fmt::format("expected a line of at most {} bytes; is it a text file?", kMostLineBytes));
  }
  read_on();
}

bool TextLines::next() {
  std::size_t end = buffer_.find('\n', begin_);
  while (end == std::string::npos && !ended_) {
    refill();
    end = buffer_.find('\n', begin_);
  }
  if (end == std::string::npos && begin_ == buffer_.size()) return false;
  const std::size_t stop = std::min(end, buffer_.size());
  line_ = std::string_view(buffer_).substr(begin_, stop - begin_);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  begin_ = std::min(stop + 1, buffer_.size());
  ++number_;
  return true;
}

}  // namespace octet
