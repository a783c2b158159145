#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/text_blocks.h>

#include <algorithm>

namespace octet {

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
  inflated_ += got;
  if (source_.gzipped() && inflated_ > kMostGzipped) {
    throw FormatError(fmt::format("{}: a gzipped file may come to {} bytes at most; unpack it",
                                  file_, kMostGzipped));
  }
}

}  // namespace octet
