#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/core/random.h>

namespace octet {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Codes = std::vector<std::int8_t>;

TEST(PackedCodes, LieAsInFiles) {
  EXPECT_EQ(pack_codes(Codes{3, -1, -8, 7, -4}, 4), (Bytes{0xF3, 0x78, 0x0C}));
  EXPECT_EQ(pack_codes(Codes{1, -1, -2, 0, 1}, 2), (Bytes{0x2D, 0x01}));
  EXPECT_EQ(unpack_codes(Bytes{0xF3, 0x78, 0x0C}, 4, 5), (Codes{3, -1, -8, 7, -4}));
  EXPECT_EQ(unpack_codes(Bytes{0x2D, 0x01}, 2, 5), (Codes{1, -1, -2, 0, 1}));
}

TEST(PackedCodes, ComeBackAtEverySize) {
  const Random random(7);
  for (const int bits : {2, 4}) {
    for (std::size_t count = 0; count < 70; ++count) {
      Codes codes(count);
      for (std::size_t i = 0; i < count; ++i) {
        const auto half = std::int64_t{1} << (bits - 1);
        codes[i] = static_cast<std::int8_t>(
            static_cast<std::int64_t>(random.below(count * 100 + i, 1U << bits)) - half);
      }
      const Bytes packed = pack_codes(codes, bits);
      EXPECT_EQ(packed.size(), (count * static_cast<std::size_t>(bits) + 7) / 8);
      EXPECT_EQ(packed.size(), packed_bytes(count, bits));
      EXPECT_EQ(unpack_codes(packed, bits, count), codes);
    }
  }
}

TEST(PackedCodes, RefusesOtherWidthsCodesAndSizes) {
  EXPECT_THROW(static_cast<void>(packed_bytes(8, 3)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{1}, 8)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{0, 8}, 4)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{-9}, 4)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{2}, 2)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(unpack_codes(Bytes{1, 2}, 4, 5)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(unpack_codes(Bytes{1, 2}, 4, 2)), InvalidArgument);
}

}  // namespace
}  // namespace octet
