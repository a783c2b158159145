#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/core/random.h>

namespace octet::test::packed_codes_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Codes = std::vector<std::int8_t>;

TEST(PackedCodes, LieAsInFiles) {
  EXPECT_EQ(pack_codes(Codes{3, -1, -8, 7, -4}, 4), (Bytes{0xF3, 0x78, 0x0C}));
  EXPECT_EQ(pack_codes(Codes{1, -1, -2, 0, 1}, 2), (Bytes{0x2D, 0x01}));
  EXPECT_EQ(unpack_codes(Bytes{0xF3, 0x78, 0x0C}, 4, 5), (Codes{3, -1, -8, 7, -4}));
  EXPECT_EQ(unpack_codes(Bytes{0x2D, 0x01}, 2, 5), (Codes{1, -1, -2, 0, 1}));
}

TEST(PackedCodes, OfOddWidthsCrossBytes) {
  const Codes codes{3, -1, -4, 2, 0};
  EXPECT_EQ(pack_codes(codes, 3), (Bytes{0x3B, 0x05}));
  EXPECT_EQ(unpack_codes(Bytes{0x3B, 0x05}, 3, 5), codes);
  EXPECT_EQ(pack_bit_planes(codes, 3), (Bytes{0x03, 0x0B, 0x06}));
}

TEST(PackedCodes, RowsBeginAtBytes) {
  const Codes codes{1, -1, -2, 0, 1, 0};
  EXPECT_EQ(pack_rows(codes, 3, 2), (Bytes{0x2D, 0x04}));
  EXPECT_EQ(pack_rows(codes, 6, 2), pack_codes(codes, 2));
  EXPECT_EQ(pack_rows(codes, 2, 4), pack_codes(codes, 4)) << "as in .tflite where rows are even";
  EXPECT_EQ(pack_rows(codes, 1, 7), (Bytes{1, 0x7F, 0x7E, 0, 1, 0}));
  EXPECT_EQ(pack_rows(Codes{}, 3, 2), Bytes{});
  EXPECT_THROW(static_cast<void>(pack_rows(codes, 4, 2)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_rows(codes, 0, 2)), InvalidArgument);
}

TEST(PackedCodes, PlanesHoldOneBitOfEachCode) {
  const Random random(3);
  for (int bits = 2; bits <= 7; ++bits) {
    for (std::size_t count = 0; count < 20; ++count) {
      Codes codes(count);
      for (std::size_t i = 0; i < count; ++i) {
        codes[i] = static_cast<std::int8_t>(
            static_cast<int>(random.below(count * 100 + i, 1U << bits)) - (1 << (bits - 1)));
      }
      const Bytes planes = pack_bit_planes(codes, bits);
      const std::size_t size = (count + 7) / 8;
      ASSERT_EQ(planes.size(), static_cast<std::size_t>(bits) * size);
      for (std::size_t i = 0; i < size * 8; ++i) {
        int code = 0;
        for (int bit = 0; bit < bits; ++bit) {
          const int weight = bit == bits - 1 ? -(1 << bit) : 1 << bit;
          code += weight * (planes[static_cast<std::size_t>(bit) * size + i / 8] >> i % 8 & 1);
        }
        EXPECT_EQ(code, i < count ? codes[i] : 0);
      }
    }
  }
}

TEST(PackedCodes, FewestBitsThatHoldAll) {
  EXPECT_EQ(bits_of_codes(Codes{}), 2);
  EXPECT_EQ(bits_of_codes(Codes{0, 0}), 2);
  for (int bits = 2; bits <= 8; ++bits) {
    const int half = 1 << (bits - 1);
    EXPECT_EQ(bits_of_codes(Codes{0, static_cast<std::int8_t>(-half)}), bits);
    EXPECT_EQ(bits_of_codes(Codes{static_cast<std::int8_t>(half - 1), 1}), bits);
  }
}

TEST(PackedCodes, ComeBackAtEverySize) {
  const Random random(7);
  for (int bits = 2; bits <= 7; ++bits) {
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
  EXPECT_THROW(static_cast<void>(packed_bytes(8, 1)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_bit_planes(Codes{1}, 8)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_bit_planes(Codes{4}, 3)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{1}, 8)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{0, 8}, 4)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{-9}, 4)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(pack_codes(Codes{2}, 2)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(unpack_codes(Bytes{1, 2}, 4, 5)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(unpack_codes(Bytes{1, 2}, 4, 2)), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::packed_codes_test
