#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/train/data/array_file.h>

#include <array>
#include <utility>

namespace octet {
namespace {

/// What deflate makes of one byte at most.
constexpr std::uint64_t kMostOfOneByte = 1032;

/// Throws FormatError for an array without values whose other extents no shape can have.
void check_empty(const Shape& shape, const std::string& file) {
  try {
    static_cast<void>(shape.size());
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("{}: {}", file, error.what()));
  }
}

/// How many bytes can follow a header of `header` bytes, and in words why not more.
std::pair<std::uint64_t, std::string> most_bytes(const ByteSource& source, std::uint64_t header) {
  if (!source.gzipped()) {
    const std::uint64_t follow = source.file_size() - std::min(header, source.file_size());
    return {follow, fmt::format("only {} follow; was the download interrupted?", follow)};
  }
  const std::uint64_t inflated = kMostOfOneByte * source.file_size();
  if (inflated < kMostGzipped) {
    return {inflated,
            fmt::format("{} gzipped bytes come to {} at most; was the download interrupted?",
                        source.file_size(), inflated)};
  }
  return {kMostGzipped, fmt::format("a gzipped set may have {} at most; unpack it", kMostGzipped)};
}

}  // namespace

std::uint64_t check_promise(const ByteSource& source, const Shape& shape, std::uint64_t value_bytes,
                            std::uint64_t header_bytes, const std::string& file) {
  const auto [limit, why] = most_bytes(source, header_bytes);
  if (std::ranges::find(shape, 0) != shape.end()) {
    check_empty(shape, file);
    return 0;
  }
  const auto refuse = [&, &reason = why] {
    throw FormatError(
        fmt::format("{}: the header promises {}{} bytes, but {}", file, fmt::join(shape, " x "),
                    value_bytes == 1 ? "" : fmt::format(" x {}", value_bytes), reason));
  };
  std::uint64_t promised = value_bytes;
  if (promised > limit) refuse();
  for (const Index extent : shape) {
    // limit < 2^63: compare by division, as the product may overflow.
    if (promised > limit / static_cast<std::uint64_t>(extent)) refuse();
    promised *= static_cast<std::uint64_t>(extent);
  }
  return promised / value_bytes;
}

void fail_short(const std::string& file, std::uint64_t promised, std::uint64_t found) {
  throw FormatError(
      fmt::format("{}: the header promises {} bytes, but only {} follow", file, promised, found));
}

void check_end(ByteSource& source, const std::string& file, std::uint64_t promised) {
  std::array<std::uint8_t, 1> more{};
  if (source.read(more) == 0) return;
  throw FormatError(fmt::format(
      "{}: there are bytes after the {} that the header promises; is it damaged?", file, promised));
}

}  // namespace octet
