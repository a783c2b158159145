#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/text_blocks.h>

#include <algorithm>
#include <string_view>

namespace octet {

void TextBlocks::skip_mark() {
  constexpr std::string_view kUtf8 = "\xEF\xBB\xBF";
  if (buffer_.starts_with(kUtf8)) begin_ = kUtf8.size();
  if (buffer_.starts_with("\xFF\xFE") || buffer_.starts_with("\xFE\xFF")) {
    throw FormatError(
        fmt::format("{}: expected text in UTF-8, found UTF-16; save the file as UTF-8", file_));
  }
}

void TextBlocks::read_on() {
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + std::max(kBlock, before));
  const std::size_t got = source_.read(
      {reinterpret_cast<std::uint8_t*>(buffer_.data()) + before, buffer_.size() - before});
  ended_ = before + got < buffer_.size();
  buffer_.resize(before + got);
  if (inflated_ == 0) skip_mark();
  inflated_ += got;
  if (source_.gzipped() && inflated_ > kMostGzipped) {
    throw FormatError(fmt::format("{}: a gzipped file may come to {} bytes at most; unpack it",
                                  file_, kMostGzipped));
  }
}

}  // namespace octet
