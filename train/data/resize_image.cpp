#include <octet/train/data/resize_image.h>

#include <algorithm>

namespace octet {
namespace {

/// How much of a pixel of the source one of the result covers, in parts of 1 / result size.
struct Cover {
  Index from = 0;
  std::int64_t weight = 0;
};

/// For each of `to` pixels those of `from` that it covers; their weights come to `from`.
std::vector<std::vector<Cover>> covers(Index from, Index to) {
  std::vector<std::vector<Cover>> result(static_cast<std::size_t>(to));
  for (Index i = 0; i < to; ++i) {
    const Index begin = i * from;
    const Index end = begin + from;
    for (Index source = begin / to; source * to < end; ++source) {
      const Index weight = std::min(end, (source + 1) * to) - std::max(begin, source * to);
      result[static_cast<std::size_t>(i)].push_back({source, weight});
    }
  }
  return result;
}

}  // namespace

std::vector<std::uint8_t> resize_image(std::span<const std::uint8_t> pixels, const PixelSize& size,
                                       Index height, Index width) {
  if (height == size.height && width == size.width) return {pixels.begin(), pixels.end()};
  const auto rows = covers(size.height, height);
  const auto columns = covers(size.width, width);
  const std::int64_t whole = size.height * size.width;
  std::vector<std::uint8_t> result;
  result.reserve(static_cast<std::size_t>(height * width * size.channels));
  for (const auto& row : rows) {
    for (const auto& column : columns) {
      for (Index channel = 0; channel < size.channels; ++channel) {
        std::int64_t sum = 0;
        for (const Cover& y : row) {
          std::int64_t line = 0;
          for (const Cover& x : column) {
            const Index at = (y.from * size.width + x.from) * size.channels + channel;
            line += x.weight * pixels[static_cast<std::size_t>(at)];
          }
          sum += y.weight * line;
        }
        result.push_back(static_cast<std::uint8_t>((2 * sum + whole) / (2 * whole)));
      }
    }
  }
  return result;
}

std::vector<std::uint8_t> grey_of(std::span<const std::uint8_t> pixels) {
  std::vector<std::uint8_t> result(pixels.size() / 3);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const unsigned sum = 77U * pixels[3 * i] + 150U * pixels[3 * i + 1] + 29U * pixels[3 * i + 2];
    result[i] = static_cast<std::uint8_t>((sum + 128U) / 256U);
  }
  return result;
}

}  // namespace octet
