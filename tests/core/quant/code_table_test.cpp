#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/quant/code_table.h>
#include <octet/tests/runtime/models.h>

namespace octet::test::code_table_test {
namespace {

using testing::ElementsAre;
using Codes = std::vector<std::int8_t>;

TEST(CodeTable, TakesAsFewBitsAsThereAreValues) {
  EXPECT_EQ(bits_of_table(Codes{}), 1);
  EXPECT_EQ(bits_of_table(Codes{5, 5, 5}), 1);
  EXPECT_EQ(bits_of_table(Codes{-128, 127, -128}), 1);
  EXPECT_EQ(bits_of_table(Codes{-1, 0, 1}), 2);
  EXPECT_EQ(bits_of_table(Codes{-2, -1, 0, 1}), 2);
  EXPECT_EQ(bits_of_table(Codes{-2, -1, 0, 1, 2}), 3);
  Codes all;
  for (int code = -128; code < 0; ++code) all.push_back(static_cast<std::int8_t>(code));
  EXPECT_EQ(bits_of_table(all), 7);
  all.push_back(0);
  EXPECT_EQ(bits_of_table(all), 8);
}

TEST(CodeTable, IsAscendingAndFilled) {
  EXPECT_THAT(table_of(Codes{3, -7, 3}, 2), ElementsAre(-7, 3, 3, 3));
  EXPECT_THROW(static_cast<void>(table_of(Codes{1, 2, 3}, 1)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(table_of(Codes{1}, 0)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(table_of(Codes{1}, 8)), InvalidArgument);
}

TEST(CodeTable, TheFirstIndexLiesInTheHighestBits) {
  // Indices 0, 1, 2, 3 of 2 bits: 00 01 10 11; then 3: 11 and zeros.
  const Codes codes = {-2, -1, 0, 1, 1};
  EXPECT_THAT(pack_indices(codes, Codes{-2, -1, 0, 1}, 2), ElementsAre(0x1B, 0xC0));
  // With 3 bits: 000 001 01|0 011 011 0.
  EXPECT_THAT(pack_indices(codes, Codes{-2, -1, 0, 1}, 3), ElementsAre(0x05, 0x36));
  EXPECT_THROW(static_cast<void>(pack_indices(codes, Codes{0, 1}, 2)), InvalidArgument);
}

TEST(CodeTable, StreamsGiveTheirIndicesBack) {
  Draw draw(11);
  for (int bits = 1; bits <= 7; ++bits) {
    for (const std::size_t count : {1U, 7U, 8U, 9U, 63U, 200U}) {
      Codes codes(count);
      const int values = 1 << bits;
      for (std::int8_t& code : codes) {
        code = static_cast<std::int8_t>(draw.between(0, values - 1) - values / 2);
      }
      const Codes table = table_of(codes, bits);
      const auto stream = pack_indices(codes, table, bits);
      ASSERT_EQ(stream.size(), (count * static_cast<std::size_t>(bits) + 7) / 8);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(table[index_at(stream, i, bits)], codes[i]) << bits << " bits, index " << i;
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::code_table_test
