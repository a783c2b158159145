#pragma once

#include <octet/core/buffer.h>
#include <octet/core/shape.h>
#include <octet/train/data/byte_source.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// What the readers of files that hold one array behind a header have in common.

namespace octet {

/// More axes than any data set has; keeps a stray byte from asking for 255 extents.
inline constexpr Index kMaxFileRank = 8;
/// The most bytes that a gzipped file, or the gzipped files of a set together, may come to.
inline constexpr std::uint64_t kMostGzipped = std::uint64_t{1} << 30;

/// Returns how many values `shape` has, which a header of `header_bytes` promises to follow it,
/// `value_bytes` each. Throws FormatError where `source` cannot hold as many: by the size of a
/// plain file; of a gzipped one by 1032 times its size, which is the most that deflate makes of a
/// byte, and by kMostGzipped.
std::uint64_t check_promise(const ByteSource& source, const Shape& shape, std::uint64_t value_bytes,
                            std::uint64_t header_bytes, const std::string& file);

/// Throws FormatError: of the promised bytes, only `found` follow the header.
[[noreturn]] void fail_short(const std::string& file, std::uint64_t promised, std::uint64_t found);
/// Throws FormatError unless `source` is at its end, after `promised` bytes.
void check_end(ByteSource& source, const std::string& file, std::uint64_t promised);

/// Reads the last `count` values of `source`, after check_promise(). Throws FormatError where there
/// are fewer or more.
template <class T>
std::vector<T> read_promised(ByteSource& source, std::uint64_t count, const std::string& file) {
  constexpr std::uint64_t kPieceValues = (std::uint64_t{1} << 20) / sizeof(T);
  std::vector<T> values;
  // In one piece, so that no array is copied to grow; its pages come as they are filled.
  values.reserve(count);
  prefer_huge_pages(values.data(), values.capacity() * sizeof(T));
  // Filled as bytes arrive, so that memory follows what the file holds and not what it promises.
  while (values.size() < count) {
    const std::size_t before = values.size();
    values.resize(std::min<std::uint64_t>(count, before + kPieceValues));
    const auto piece = std::as_writable_bytes(std::span(values).subspan(before));
    const std::size_t got =
        source.read({reinterpret_cast<std::uint8_t*>(piece.data()), piece.size()});
    if (got < piece.size()) fail_short(file, count * sizeof(T), before * sizeof(T) + got);
  }
  check_end(source, file, count * sizeof(T));
  return values;
}

}  // namespace octet
