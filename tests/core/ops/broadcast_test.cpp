#include <octet/core/ops/elementwise.h>
#include <octet/core/strides.h>
#include <octet/tests/core/ops/op_testing.h>

#include <utility>

namespace octet::test::broadcast_test {
namespace {

using namespace testing;

// Pairs that broadcast in every way: rows, columns, scalars, both sides at once, added axes, axes
// in the middle, extents of 1 and odd sizes.
const std::vector<std::pair<Shape, Shape>> kPairs = {
    {{4, 3}, {3}},
    {{3}, {4, 3}},
    {{4, 3}, {4, 1}},
    {{4, 1}, {1, 3}},
    {{5}, {}},
    {{}, {2, 3}},
    {{1}, {1}},
    {{1, 1}, {}},
    {{1, 7}, {7}},
    {{2, 3, 5}, {3, 1}},
    {{2, 3, 5}, {1, 3, 1}},
    {{2, 1, 5}, {3, 1}},
    {{2, 3, 1, 5}, {2, 1, 4, 5}},
    {{3, 1, 1}, {1, 17}},
    {{2, 1, 3, 1}, {1, 4, 1, 5}},
};

/// The element of t that belongs to flat element i of `shape`, by plain index arithmetic.
float broadcast_at(const Tensor& t, const Shape& shape, Index i) {
  Index offset = 0;
  Index stride = 1;
  for (Index axis = 1; axis <= shape.rank(); ++axis) {
    const Index position = i % shape.dim(-axis);
    i /= shape.dim(-axis);
    if (axis > t.rank()) continue;
    if (t.dim(-axis) > 1) offset += position * stride;
    stride *= t.dim(-axis);
  }
  return t.data()[offset];
}

TEST(Broadcast, ForwardMatchesIndexArithmetic) {
  for (const auto& [sa, sb] : kPairs) {
    const Tensor a = random_tensor(sa, 1);
    const Tensor b = random_tensor(sb, 2, 0.5F, 2.0F);
    const Shape shape = broadcast_shapes("test", sa, sb);
    const Tensor y = a / b;
    ASSERT_EQ(y.shape(), shape);
    for (Index i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y.data()[i], broadcast_at(a, shape, i) / broadcast_at(b, shape, i))
          << sa.to_string() << sb.to_string() << " element " << i;
    }
  }
}

TEST(Broadcast, GradientsOfEveryOpAndKind) {
  for (const auto& [sa, sb] : kPairs) {
    const Tensor a = random_tensor(sa, 3);
    const Tensor b = random_tensor(sb, 4, 0.7F, 2.0F);
    expect_gradient([](const auto& in) { return in[0] + in[1]; }, {a, b});
    expect_gradient([](const auto& in) { return in[0] - in[1]; }, {a, b});
    expect_gradient([](const auto& in) { return in[0] * in[1]; }, {a, b});
    expect_gradient([](const auto& in) { return in[0] / in[1]; }, {a, b});
  }
}

TEST(Broadcast, MaximumAndMinimumAddUpTheirShares) {
  const Tensor a = Tensor::from({2, 2}, {1, 2, 3, 4});
  const Tensor row = Tensor::from({2}, {3, 2});
  expect_tensor(gradient_of([&](const Tensor& r) { return maximum(a, r); }, row), {2},
                {1.5F, 0.5F});
  expect_tensor(gradient_of([&](const Tensor& r) { return minimum(r, a); }, row), {2},
                {0.5F, 1.5F});
}

TEST(Broadcast, ExtentOneAgainstZeroIsEmpty) {
  expect_tensor(Tensor::ones({1, 3}) + Tensor::zeros({0, 3}), {0, 3}, {});
}

TEST(Broadcast, ErrorNamesOperationAndShapes) {
  expect_error(
      [] {
        add(Tensor::ones({2, 3}), Tensor::ones({2}));
      },
      "add: shapes [2, 3] and [2] do not broadcast");
  expect_error([] { mul(Tensor::ones({4}), Tensor::ones({3})); }, "mul: shapes [4] and [3]");
  expect_error([] { maximum(Tensor::ones({4}), Tensor::ones({0})); },
               "maximum: shapes [4] and [0]");
}

TEST(Broadcast, LargeRowColumnAndScalarCrossChunkBorders) {
  // Sizes that put chunk borders in the middle of rows.
  const Tensor a = random_tensor({401, 337}, 5);
  const Tensor row = random_tensor({337}, 6);
  const Tensor column = random_tensor({401, 1}, 7);
  const Tensor scalar = random_tensor({}, 8);
  for (const Tensor& b : {row, column, scalar}) {
    const Tensor y = a * b;
    Index wrong = 0;
    for (Index i = 0; i < y.size(); ++i) {
      wrong += y.data()[i] == a.data()[i] * broadcast_at(b, a.shape(), i) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << b.shape().to_string();
  }
}

TEST(Strides, MergesWhatEveryOperandWalksThrough) {
  using detail::Axis;
  const std::vector<Axis<2>> same = {{2, {15, 15}}, {1, {0, 7}}, {3, {5, 5}}, {5, {1, 1}}};
  ASSERT_EQ(detail::merge_axes(same).size(), 1U);
  EXPECT_EQ(detail::merge_axes(same)[0].extent, 30);
  const std::vector<Axis<2>> row = {{2, {15, 0}}, {3, {5, 0}}, {5, {1, 1}}};
  ASSERT_EQ(detail::merge_axes(row).size(), 2U);
  EXPECT_EQ(detail::merge_axes(row)[0].extent, 6);
  EXPECT_EQ(detail::merge_axes(row)[0].strides[0], 5);
}

TEST(Strides, WalkStartsAnywhere) {
  const std::vector<detail::Axis<1>> axes = {{3, {100}}, {4, {1}}};
  for (Index start = 0; start < 12; ++start) {
    detail::Walk<1> walk(axes, start);
    for (Index i = start; i < 12; ++i, walk.next()) {
      EXPECT_EQ(walk.offset(0), i / 4 * 100 + i % 4);
    }
  }
}

}  // namespace
}  // namespace octet::test::broadcast_test
