#include <octet/core/autograd.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/reduce.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>

namespace octet::test::reduce_test {
namespace {

using namespace testing;

const std::vector<Shape> kShapes = {{1}, {7}, {1, 5}, {5, 1}, {3, 7}, {2, 3, 5}, {2, 1, 3, 4}};

/// Every subset of the axes of a rank.
std::vector<std::vector<Index>> subsets(Index rank) {
  std::vector<std::vector<Index>> all;
  for (Index bits = 0; bits < (Index{1} << rank); ++bits) {
    std::vector<Index>& axes = all.emplace_back();
    for (Index axis = 0; axis < rank; ++axis) {
      if ((bits >> axis & 1) != 0) axes.push_back(axis);
    }
  }
  return all;
}

/// Which element of the result flat element i belongs to.
Index target_of(const Shape& shape, const std::vector<Index>& axes, Index i) {
  Index offset = 0;
  Index stride = 1;
  for (Index axis = shape.rank() - 1; axis >= 0; --axis) {
    const Index position = i % shape[axis];
    i /= shape[axis];
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    offset += position * stride;
    stride *= shape[axis];
  }
  return offset;
}

TEST(Reduce, ForwardMatchesALoopOverEveryChoiceOfAxes) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_tensor(shape, 1);
    for (const std::vector<Index>& axes : subsets(shape.rank())) {
      const Tensor total = sum(x, axes);
      const auto count = static_cast<std::size_t>(total.size());
      std::vector<double> sums(count, 0.0);
      std::vector<float> largest(count, -kInf);
      std::vector<float> smallest(count, kInf);
      for (Index i = 0; i < x.size(); ++i) {
        const auto t = static_cast<std::size_t>(target_of(shape, axes, i));
        sums[t] += static_cast<double>(x.data()[i]);
        largest[t] = std::max(largest[t], x.data()[i]);
        smallest[t] = std::min(smallest[t], x.data()[i]);
      }
      const double per_result = static_cast<double>(x.size() / total.size());
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_FLOAT_EQ(total.span()[i], static_cast<float>(sums[i])) << shape.to_string();
        EXPECT_FLOAT_EQ(mean(x, axes).span()[i], static_cast<float>(sums[i] / per_result));
        EXPECT_EQ(max(x, axes).span()[i], largest[i]);
        EXPECT_EQ(min(x, axes).span()[i], smallest[i]);
      }
    }
  }
}

TEST(Reduce, ResultShapes) {
  const Tensor x = Tensor::ones({2, 3, 4});
  expect_tensor(sum(x), {}, {24});
  EXPECT_EQ(sum(x, {1}).shape(), (Shape{2, 4}));
  EXPECT_EQ(sum(x, {-1, 0}).shape(), (Shape{3}));
  EXPECT_EQ(sum(x, {1}, true).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(mean(x, {0, 1, 2}, true).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(max(x, {}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(sum(Tensor::scalar(3)).item(), 3.0F);
}

TEST(Reduce, GradientsOverEveryChoiceOfAxes) {
  for (const Shape& shape : kShapes) {
    // Elements further apart than twice the step, so that max and min are smooth.
    Tensor x = Tensor::arange(shape.size()) * 0.05F;
    const std::vector<std::uint32_t> order =
        Random(2).permutation(static_cast<std::size_t>(x.size()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      x.mutable_span()[i] = 0.05F * static_cast<float>(order[i]);
    }
    x = Tensor::from(shape, x.span());
    for (const std::vector<Index>& axes : subsets(shape.rank())) {
      for (const bool keep : {false, true}) {
        expect_gradient([&](const auto& in) { return sum(in[0], axes, keep); }, {x});
        expect_gradient([&](const auto& in) { return mean(in[0], axes, keep); }, {x});
        expect_gradient([&](const auto& in) { return max(in[0], axes, keep); }, {x});
        expect_gradient([&](const auto& in) { return min(in[0], axes, keep); }, {x});
      }
    }
    expect_gradient([](const auto& in) { return sum(in[0]); }, {x});
    expect_gradient([](const auto& in) { return mean(in[0]); }, {x});
    expect_gradient([](const auto& in) { return max(in[0]); }, {x});
    expect_gradient([](const auto& in) { return min(in[0]); }, {x});
  }
}

TEST(Reduce, ExtremesShareTheGradientAmongTies) {
  const Tensor x = Tensor::from({2, 3}, {1, 4, 4, 2, 2, 2});
  expect_tensor(gradient_of([](const Tensor& v) { return max(v, {1}); }, x), {2, 3},
                {0, 0.5F, 0.5F, 1.0F / 3, 1.0F / 3, 1.0F / 3});
  expect_tensor(gradient_of([](const Tensor& v) { return min(v, {0}); }, x), {2, 3},
                {1, 0, 0, 0, 1, 1});
  expect_tensor(gradient_of([](const Tensor& v) { return max(v); }, x), {2, 3},
                {0, 0.5F, 0.5F, 0, 0, 0});
}

TEST(Reduce, NanIsSeenWhereverItStands) {
  // Every position of a row that fills the lanes, and of the rest.
  for (Index position = 0; position < 19; ++position) {
    Tensor x = random_tensor({1, 19}, 3);
    x.mutable_at({0, position}) = kNan;
    for (const Tensor& y : {max(x), min(x), sum(x), mean(x), max(x, {1}), min(x, {1})}) {
      EXPECT_TRUE(std::isnan(y.item())) << position;
    }
    const Tensor columns = max(x, {0});
    for (Index i = 0; i < 19; ++i) {
      EXPECT_EQ(std::isnan(columns.at({i})), i == position);
    }
    EXPECT_EQ(argmax(x), (Labels{static_cast<std::int32_t>(position)}));
    EXPECT_EQ(gradient_of([](const Tensor& v) { return max(v); }, x).at({0, position}), 1.0F);
  }
}

TEST(Reduce, InfinitiesAreNumbersToExtremes) {
  const Tensor x = Tensor::from({3}, {-kInf, 0, kInf});
  EXPECT_EQ(max(x).item(), kInf);
  EXPECT_EQ(min(x).item(), -kInf);
  EXPECT_TRUE(std::isnan(sum(x).item()));
  EXPECT_EQ(max(Tensor::full({20}, -kInf)).item(), -kInf);
}

TEST(Reduce, EmptyReductions) {
  const Tensor x = Tensor::zeros({0, 3});
  EXPECT_EQ(sum(x).item(), 0.0F);
  expect_tensor(sum(x, {0}), {3}, {0, 0, 0});
  expect_tensor(sum(x, {1}), {0}, {});
  expect_tensor(mean(x, {1}), {0}, {});
  expect_error([&] { mean(x); },
               "mean: expected at least one element to reduce, found shape [0, 3]");
  expect_error([&] { max(x, {0}); }, "max: expected at least one element");
  expect_error([&] { min(x); }, "min: expected at least one element");
  expect_tensor(gradient_of([](const Tensor& v) { return sum(v); }, x), {0, 3}, {});
}

TEST(Reduce, BadAxes) {
  const Tensor x = Tensor::ones({2, 3});
  expect_error([&] { sum(x, {2}); }, "sum: axis 2 is outside shape [2, 3]");
  expect_error([&] { mean(x, {-3}); }, "mean: axis -3 is outside shape [2, 3]");
  expect_error([&] { max(x, {1, -1}); }, "max: axis -1 of shape [2, 3] is listed twice");
}

TEST(Reduce, SumsInDouble) {
  // In float32 the ones would be lost beside 2^24.
  Tensor x = Tensor::ones({1001});
  x.mutable_at({0}) = 16777216.0F;
  EXPECT_EQ(sum(x).item(), 16778216.0F);
  Tensor columns(Shape{1001, 3});
  for (Index i = 0; i < 1001; ++i) {
    for (Index j = 0; j < 3; ++j) columns.mutable_at({i, j}) = x.at({i});
  }
  expect_tensor(sum(columns, {0}), {3}, {16778216.0F, 16778216.0F, 16778216.0F});
}

TEST(Reduce, LargeSizesMatchALoop) {
  const Tensor x = random_tensor({300, 521}, 4);
  double total = 0.0;
  std::vector<double> columns(521, 0.0);
  for (Index i = 0; i < 300; ++i) {
    double row = 0.0;
    for (Index j = 0; j < 521; ++j) {
      row += static_cast<double>(x.at({i, j}));
      columns[static_cast<std::size_t>(j)] += static_cast<double>(x.at({i, j}));
    }
    total += row;
    EXPECT_NEAR(sum(x, {1}).at({i}), row, 1e-4);
  }
  EXPECT_NEAR(sum(x).item(), total, 1e-4 * std::fabs(total) + 1e-3);
  const Tensor by_column = sum(x, {0});
  for (Index j = 0; j < 521; ++j) {
    EXPECT_EQ(by_column.at({j}), static_cast<float>(columns[static_cast<std::size_t>(j)]));
  }
}

TEST(Reduce, SameBytesOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({301, 1027}, 5);
  expect_same_on_any_threads([&] {
    return std::vector<Tensor>{sum(x),  sum(x, {0}),     sum(x, {1}),
                               mean(x), max(x, {0}),     min(x, {1}),
                               max(x),  x + sum(x, {0}), sum(x.reshape({7, 43, 1027}), {0, 2})};
  });
}

TEST(Argmax, FirstOfEqualsWins) {
  const Tensor x = Tensor::from({4, 3}, {1, 3, 3, 5, 5, 5, -1, -2, 0, -kInf, -kInf, -kInf});
  EXPECT_EQ(argmax(x), (Labels{1, 0, 2, 0}));
  EXPECT_EQ(argmax(Tensor::from({3}, {1, 2, 0})), (Labels{1}));
  EXPECT_EQ(argmax(x.reshape({2, 2, 3})), (Labels{1, 0, 2, 0}));
  EXPECT_EQ(argmax(Tensor::from({1, 4}, {kInf, kNan, kNan, 3})), (Labels{1}));
  EXPECT_EQ(argmax(Tensor::zeros({0, 3})), Labels{});
}

TEST(Argmax, Errors) {
  expect_error([] { argmax(Tensor::scalar(1)); }, "argmax: expected rank 1 or more");
  expect_error(
      [] {
        argmax(Tensor::zeros({2, 0}));
      },
      "argmax: expected at least one element per row");
}

}  // namespace
}  // namespace octet::test::reduce_test
