#include <gtest/gtest.h>
#include <octet/core/kernels/transpose_bytes.h>
#include <octet/tests/core/draw.h>

#include <cstddef>
#include <vector>

namespace octet::test::transpose_bytes_test {
namespace {

TEST(TransposeBytes, MovesEachElementAndNothingElse) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draw draw(seed);
    const Index rows = draw.between(1, 40);
    const Index columns = draw.between(1, 40);
    const Index from_stride = columns + draw.between(0, 9);
    const Index to_stride = rows + draw.between(0, 9);
    std::vector<std::int8_t> from(static_cast<std::size_t>(rows * from_stride));
    for (std::int8_t& value : from) value = static_cast<std::int8_t>(draw.between(-128, 127));
    std::vector<std::int8_t> expected(static_cast<std::size_t>(columns * to_stride), 77);
    std::vector<std::int8_t> found = expected;
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) {
        expected[static_cast<std::size_t>(j * to_stride + i)] =
            from[static_cast<std::size_t>(i * from_stride + j)];
      }
    }
    transpose_bytes(from.data(), from_stride, rows, columns, found.data(), to_stride);
    EXPECT_EQ(found, expected) << rows << " x " << columns << ", seed " << seed;
  }
}

}  // namespace
}  // namespace octet::test::transpose_bytes_test
