#include <octet/core/shape.h>
#include <octet/tests/core/ops/op_testing.h>

#include <limits>

namespace octet::test::shape_test {
namespace {

using namespace testing;

TEST(Shape, SizeIsTheProduct) {
  EXPECT_EQ(Shape{}.size(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).size(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).size(), 0);
  EXPECT_EQ(Shape{}.rank(), 0);
}

TEST(Shape, SizeRefusesNegativeExtentsAndOverflow) {
  expect_error([] { (void)Shape({2, -1}).size(); }, "shape [2, -1]: expected extents of 0 or more");
  constexpr Index kHuge = std::numeric_limits<Index>::max() / 2;
  expect_error([] { (void)Shape({kHuge, 3}).size(); }, "whose product fits in 63 bits");
}

TEST(Shape, AxesCountFromBothEnds) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.dim(-1), 4);
  EXPECT_EQ(shape.dim(-3), 2);
  expect_error([&] { (void)shape.dim(3); }, "axis 3 is outside shape [2, 3, 4]: expected -3 to 2");
  expect_error([&] { (void)shape.dim(-4); }, "axis -4 is outside");
  expect_error([] { (void)Shape{}.dim(0); }, "axis 0 is outside shape []");
}

TEST(Shape, ChangesOneAxisAtATime) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.with_dim(-1, 7), (Shape{2, 3, 7}));
  EXPECT_EQ(shape.without_dim(1), (Shape{2, 4}));
  EXPECT_EQ(shape.with_batch(9), (Shape{9, 2, 3, 4}));
  EXPECT_EQ(shape.without_batch(), (Shape{3, 4}));
  EXPECT_EQ(shape.to_string(), "[2, 3, 4]");
  expect_error([] { (void)Shape{}.without_batch(); }, "axis 0 is outside");
}

TEST(Shape, BroadcastsAsNumpyDoes) {
  EXPECT_EQ(broadcast_shapes("op", {4, 3}, {3}), (Shape{4, 3}));
  EXPECT_EQ(broadcast_shapes("op", {}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes("op", {5, 1}, {1, 7}), (Shape{5, 7}));
  EXPECT_EQ(broadcast_shapes("op", {1}, {0}), (Shape{0}));
  expect_error(
      [] {
        broadcast_shapes("op", {4, 3}, {4});
      },
      "op: shapes [4, 3] and [4] do not broadcast: axis 1 from the end has 3 and 4");
}

}  // namespace
}  // namespace octet::test::shape_test
