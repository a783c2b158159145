#include "idx_files.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/sanitizers.h>
#include <octet/tests/train/data/random_bytes.h>
#include <octet/train/data/idx.h>
#include <sys/resource.h>

#include <optional>

namespace octet::test::idx_damage_test {
namespace {

/// Megabytes that this process has ever held in memory at once.
long peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void expect_every_cut_refused(const Bytes& whole) {
  const ScratchDirectory scratch;
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
    const auto path = scratch.write("cut", cut);
    EXPECT_THROW(read_idx(path), FormatError) << kept << " of " << whole.size() << " bytes";
  }
  EXPECT_NO_THROW(read_idx(scratch.write("whole", whole)));
}

/// Every single flipped bit gives a FormatError or a sound array, of `contents` where those are
/// guarded by a checksum. Returns how many were refused.
std::size_t refused_bit_flips(const Bytes& whole, const std::optional<Bytes>& contents = {}) {
  const ScratchDirectory scratch;
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    const auto path = scratch.write("flipped", flipped);
    try {
      const IdxArray array = read_idx(path);
      EXPECT_EQ(array.shape.size(), static_cast<Index>(array.values.size())) << "bit " << bit;
      if (contents) {
        EXPECT_EQ(array.values, *contents) << "bit " << bit;
      }
    } catch (const FormatError&) {
      ++refused;
    }
  }
  return refused;
}

TEST(IdxDamage, EveryCutOfAPlainFileIsRefused) {
  expect_every_cut_refused(idx_bytes({2, 3, 4}, counting(24)));
}

TEST(IdxDamage, EveryCutOfAGzippedFileIsRefused) {
  expect_every_cut_refused(gzipped(idx_bytes({2, 3, 4}, counting(24))));
}

TEST(IdxDamage, BitFlipsOfAPlainFileAreRefusedInTheHeader) {
  // A flip in the 24 values goes unseen; every one in the 16 bytes of the header shows.
  EXPECT_EQ(refused_bit_flips(idx_bytes({2, 3, 4}, counting(24))), 8U * 16U);
}

TEST(IdxDamage, BitFlipsOfAGzippedFileAreRefused) {
  const Bytes packed = gzipped(idx_bytes({2, 3, 4}, counting(24)));
  // Bits that do not touch the contents: the text flag, time, level and system of the header, and
  // up to 7 bits that fill the last byte of the deflate stream.
  constexpr std::size_t kHeader = 1 + 8 * (4 + 1 + 1);
  const std::size_t refused = refused_bit_flips(packed, counting(24));
  EXPECT_LE(refused, 8 * packed.size() - kHeader);
  EXPECT_GE(refused, 8 * packed.size() - kHeader - 7);
}

TEST(IdxDamage, AHugePromiseDoesNotAllocate) {
  const ScratchDirectory scratch;
  const auto refuse = [&](const Bytes& bytes) {
    const auto path = scratch.write("a", bytes);
    return message_of<FormatError>([&] { read_idx(path); });
  };
  const long before = peak_megabytes();
  constexpr std::uint32_t kMost = 0xFFFFFFFFU;
  const Bytes overflowing = idx_bytes({kMost, kMost, kMost, kMost}, counting(9));
  expect_mentions(refuse(overflowing), "only 9 follow");
  const Bytes packed = gzipped(overflowing);
  expect_mentions(refuse(packed), fmt::format("{} gzipped bytes come to {} at most", packed.size(),
                                              1032 * packed.size()));
  // The product is 2^64, which wraps around to 0.
  expect_mentions(refuse(idx_bytes({1U << 31, 1U << 31, 4}, {})), "only 0 follow");
  expect_mentions(refuse(gzipped(idx_bytes({1U << 31, 1U << 31, 4}, {}))), "at most");
  // A file that could hold as much: just within what a gzipped one may promise, and just beyond.
  const Bytes noise = random_bytes(1200000);
  expect_mentions(refuse(gzipped(idx_bytes({1U << 30}, noise))), "only 1200000 follow");
  expect_mentions(refuse(gzipped(idx_bytes({(1U << 30) + 1}, noise))), "1073741824 at most");
#ifdef OCTET_TEST_SANITIZED
  static_cast<void>(before);  // A sanitizer keeps what is freed.
#else
  EXPECT_LT(peak_megabytes() - before, 64);
#endif
}

}  // namespace
}  // namespace octet::test::idx_damage_test
