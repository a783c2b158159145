#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/text_lines.h>

#include <algorithm>

namespace octet {
namespace {

constexpr std::size_t kLineReadBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostLineBytes = std::size_t{1} << 26U;

}  // namespace

TextLines::TextLines(const std::filesystem::path& path) : file_(path.string()), source_(path) {}

void TextLines::fail(const std::string& what) const {
  throw FormatError(fmt::format("{}, line {}: {}", file_, number_, what));
}

void TextLines::refill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  if (buffer_.size() > kMostLineBytes) {
    ++number_;
    fail(fmt::format("expected a line of at most {} bytes; is it a text file?", kMostLineBytes));
  }
  // Twice as much each time, so that the time is in proportion to the length of a line.
  const std::size_t before = buffer_.size();
  buffer_.resize(before + std::max(kLineReadBytes, before));
  const std::size_t got = source_.read(
      {reinterpret_cast<std::uint8_t*>(buffer_.data()) + before, buffer_.size() - before});
  ended_ = before + got < buffer_.size();
  buffer_.resize(before + got);
  inflated_ += got;
  if (source_.gzipped() && inflated_ > kMostGzipped) {
    throw FormatError(fmt::format("{}: a gzipped file may come to {} bytes at most; unpack it",
                                  file_, kMostGzipped));
  }
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
