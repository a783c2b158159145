#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>
#include <numeric>

namespace octet::test::shape_ops_test {
namespace {

using detail::TensorAccess;
using namespace testing;

TEST(Reshape, InfersOneExtentAndSharesData) {
  Tensor x = Tensor::arange(12);
  Tensor y = reshape(x, {3, -1});
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(y.data(), x.data());
  EXPECT_EQ(y.at({2, 1}), 9.0F);
  EXPECT_EQ(x.reshape({2, 2, -1}).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(Tensor::scalar(1).reshape({-1}).shape(), (Shape{1}));
  EXPECT_EQ(Tensor::ones({1, 1}).reshape({}).rank(), 0);
  EXPECT_EQ(Tensor::zeros({0, 4}).reshape({-1, 4}).shape(), (Shape{0, 4}));
}

TEST(Reshape, Errors) {
  const Tensor x = Tensor::ones({2, 6});
  expect_error(
      [&] {
        reshape(x, {5, -1});
      },
      "reshape: 12 elements of shape [2, 6] do not fit shape [5, -1]");
  expect_error([&] { reshape(x, {3, 3}); }, "do not fit shape [3, 3]");
  expect_error([&] { reshape(x, {-1, -1}); }, "at most one extent may be -1");
  expect_error([&] { reshape(x, {-1, -12}); }, "do not fit shape [-1, -12]");
  expect_error([&] { reshape(x, {-2, -6}); }, "[-2, -6]");
  expect_error([] { reshape(Tensor::zeros({0, 4}), {0, -1}); }, "do not fit");
}

TEST(Reshape, Gradient) {
  for (const Shape& shape : {Shape{6}, Shape{1, 6}, Shape{2, 3}, Shape{3, 1, 2}}) {
    expect_gradient(
        [&](const auto& in) {
          return square(reshape(in[0], {3, -1}));
        },
        {random_tensor(shape, 1)});
  }
}

TEST(SliceOfAxes, TakesElementsInSteps) {
  const Tensor x = Tensor::arange(24).reshape({2, 3, 4});
  expect_tensor(slice(x, {{0, 2}, {1, 3, 2}, {0, 4, 3}}), {2, 1, 2}, {4, 7, 16, 19});
  EXPECT_EQ(slice(x, {{1, 1}, {0, 3}, {0, 4}}).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(slice(Tensor::zeros({0, 4}), {{0, 0}, {1, 3}}).shape(), (Shape{0, 2}));
  expect_tensor(slice(Tensor::scalar(3), {}), {}, {3});
}

TEST(SliceOfAxes, Gradient) {
  for (const std::vector<AxisSlice>& axes :
       {std::vector<AxisSlice>{{0, 2}, {1, 3}, {0, 4}}, {{1, 2}, {0, 3, 2}, {1, 4, 2}}}) {
    expect_gradient([&](const auto& in) { return square(slice(in[0], axes)); },
                    {random_tensor({2, 3, 4}, 1)});
  }
}

TEST(SliceOfAxes, Errors) {
  const Tensor x = Tensor::ones({2, 6});
  expect_error(
      [&] {
        slice(x, {{0, 2}});
      },
      "slice: expected a slice for each axis of shape [2, 6], found 1");
  expect_error(
      [&] {
        slice(x, {{0, 2}, {0, 7}});
      },
      "0 <= begin <= end <= 6 and a step of at least 1 for axis 1 of shape [2, 6], found "
      "[0, 7) in steps of 1");
  expect_error([&] { slice(x, {{0, 2}, {-1, 6}}); }, "found [-1, 6)");
  expect_error([&] { slice(x, {{0, 2}, {3, 2}}); }, "found [3, 2)");
  expect_error([&] { slice(x, {{0, 2}, {0, 6, 0}}); }, "in steps of 0");
}

TEST(Views, KeepAGridUnlessItsChannelsMove) {
  Tensor x = Tensor::ones({4, 6});
  auto whole = std::make_shared<const QuantParams>(QuantParams::per_tensor(0.5F, 3));
  TensorAccess::set_quantization(x, whole);
  EXPECT_EQ(x.reshape({24}).quantization(), whole);
  EXPECT_EQ(x.slice(1, 2).quantization(), whole);

  QuantParams channels = QuantParams::per_tensor(0.5F, 0);
  channels.scales.assign(4, 0.5F);
  channels.zero_points.assign(4, 0);
  TensorAccess::set_quantization(x, std::make_shared<const QuantParams>(channels));
  EXPECT_EQ(x.reshape({24}).quantization(), nullptr);
  EXPECT_EQ(x.reshape({4, 6}).quantization(), x.quantization());
  EXPECT_EQ(x.slice(1, 3).quantization(), nullptr);
  channels.quantized_dimension = 1;
  TensorAccess::set_quantization(x, std::make_shared<const QuantParams>(channels));
  EXPECT_EQ(x.slice(1, 3).quantization(), x.quantization());
  EXPECT_EQ(x.slice(1, 3).slice(1, 2).quantization(), x.quantization());
  EXPECT_EQ(x.reshape({2, 2, 6}).quantization(), nullptr);
  EXPECT_EQ(x.reshape({6, 4}).quantization(), nullptr);
}

TEST(Views, CarryTheCodesOfTheirElements) {
  Tensor x = Tensor::from({3, 2}, {0, 1, 2, 3, 4, 5});
  auto codes = std::make_shared<std::int8_t[]>(6);
  std::iota(codes.get(), codes.get() + 6, std::int8_t{0});
  const auto grid = std::make_shared<const QuantParams>(QuantParams::per_tensor(1.0F, 0));
  TensorAccess::set_quantization(x, grid, codes);
  EXPECT_EQ(TensorAccess::integers(x.reshape({6})).as<std::int8_t>(), codes.get());
  EXPECT_EQ(TensorAccess::integers(x.detach()).as<std::int8_t>(), codes.get());
  EXPECT_EQ(TensorAccess::integers(x.slice(1, 3)).as<std::int8_t>(), codes.get() + 2);
  EXPECT_EQ(TensorAccess::integers(x.slice(1, 3).slice(1, 2)).as<std::int8_t>(), codes.get() + 4);
  // Who copies the data means to change it.
  EXPECT_EQ(TensorAccess::integers(x.clone()).as<std::int8_t>(), nullptr);

  // They live as long as a view of them, and all views lose them together.
  const std::weak_ptr<std::int8_t[]> watched = codes;
  const Tensor tail = x.slice(2, 3);
  codes.reset();
  x = Tensor();
  EXPECT_EQ(TensorAccess::integers(tail).as<std::int8_t>()[0], 4);
  Tensor(tail).mutable_data()[1] = 1.0F;
  EXPECT_EQ(tail.quantization(), nullptr);
  EXPECT_TRUE(watched.expired());
}

TEST(Views, OfAPartCannotBeOnAGridAlone) {
  const Tensor x = Tensor::ones({4, 6});
  Tensor part = x.slice(1, 2);
  expect_error([&] { TensorAccess::set_quantization(part, nullptr); },
               "set_quantization: expected a tensor of its own, found 6 of 24 elements");
}

TEST(Transpose, SwapsTheAxesOfAMatrix) {
  const Tensor x = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_tensor(transpose(x), {3, 2}, {1, 4, 2, 5, 3, 6});
  expect_tensor(transpose(Tensor::zeros({0, 3})), {3, 0}, {});
  expect_error(
      [] {
        transpose(Tensor::ones({2, 3, 4}));
      },
      "transpose: expected rank 2, found shape [2, 3, 4]");
}

TEST(Permute, EveryOrderOfThreeAxesMatchesALoop) {
  const Tensor x = random_tensor({2, 3, 5}, 2);
  std::vector<Index> order = {0, 1, 2};
  do {
    const Tensor y = permute(x, order);
    for (Index i = 0; i < y.dim(0); ++i) {
      for (Index j = 0; j < y.dim(1); ++j) {
        for (Index k = 0; k < y.dim(2); ++k) {
          std::array<Index, 3> at{};
          at[static_cast<std::size_t>(order[0])] = i;
          at[static_cast<std::size_t>(order[1])] = j;
          at[static_cast<std::size_t>(order[2])] = k;
          EXPECT_EQ(y.at({i, j, k}), x.at({at[0], at[1], at[2]}));
        }
      }
    }
    expect_gradient([&](const auto& in) { return square(permute(in[0], order)); }, {x});
  } while (std::ranges::next_permutation(order).found);
}

TEST(Permute, NegativeAxesScalarsAndErrors) {
  const Tensor x = Tensor::ones({2, 3, 4});
  EXPECT_EQ(permute(x, {-1, 0, 1}).shape(), (Shape{4, 2, 3}));
  expect_tensor(permute(Tensor::scalar(5), {}), {}, {5});
  expect_error(
      [&] {
        permute(x, {0, 1});
      },
      "permute: expected each axis of shape [2, 3, 4] once, found [0, 1]");
  expect_error([&] { permute(x, {0, 1, -2}); }, "found [0, 1, -2]");
  expect_error([&] { permute(x, {0, 1, 3}); }, "found [0, 1, 3]");
}

TEST(Permute, SameBytesOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({300, 401}, 3);
  expect_same_on_any_threads([&] { return std::vector<Tensor>{transpose(x)}; });
}

TEST(Concatenate, AlongEachAxis) {
  const Tensor a = Tensor::from({2, 2}, {1, 2, 3, 4});
  const Tensor b = Tensor::from({1, 2}, {5, 6});
  expect_tensor(concatenate({a, b}), {3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor c = Tensor::from({2, 1}, {7, 8});
  expect_tensor(concatenate({a, c, a}, -1), {2, 5}, {1, 2, 7, 1, 2, 3, 4, 8, 3, 4});
  expect_tensor(concatenate({a, Tensor::zeros({0, 2})}), {2, 2}, {1, 2, 3, 4});
  expect_tensor(concatenate({Tensor::zeros({0, 1}), Tensor::zeros({0, 2})}, 1), {0, 3}, {});
}

TEST(Concatenate, Gradients) {
  const auto joined = [](Index axis) {
    return [axis](const std::vector<Tensor>& in) { return square(concatenate(in, axis)); };
  };
  expect_gradient(joined(0), {random_tensor({3}, 1), random_tensor({1}, 2)});
  expect_gradient(joined(0), {random_tensor({2, 3}, 1), random_tensor({1, 3}, 2)});
  expect_gradient(joined(1), {random_tensor({2, 3, 2}, 1), random_tensor({2, 1, 2}, 2)});
  expect_gradient(joined(2), {random_tensor({1, 2, 3}, 1), random_tensor({1, 2, 1}, 2),
                              random_tensor({1, 2, 2}, 3)});
  const Tensor x = random_tensor({2, 2}, 4);
  expect_gradient([](const auto& in) { return concatenate({in[0], in[0]}, 1); }, {x});
}

TEST(Concatenate, Errors) {
  expect_error([] { concatenate({}); }, "concatenate: expected at least one part");
  expect_error(
      [] {
        concatenate({Tensor::ones({2, 3}), Tensor::ones({2, 4})}, 0);
      },
      "concatenate: expected every part to be [2, 3] but for axis 0, found [2, 4] as part "
      "1");
  expect_error([] { concatenate({Tensor::ones({2}), Tensor::ones({2, 2})}); }, "found [2, 2]");
  expect_error([] { concatenate({Tensor::ones({2})}, 1); }, "axis 1 is outside shape [2]");
}

TEST(Slice, SharesRowsOfTheFirstAxis) {
  Tensor x = Tensor::arange(12).reshape({4, 3});
  Tensor y = x.slice(1, 3);
  expect_tensor(y, {2, 3}, {3, 4, 5, 6, 7, 8});
  EXPECT_EQ(y.data(), x.data() + 3);
  expect_tensor(x.slice(4, 4), {0, 3}, {});
  expect_tensor(slice(Tensor::arange(3), 0, 3), {3}, {0, 1, 2});
}

TEST(Slice, Errors) {
  const Tensor x = Tensor::ones({4, 3});
  expect_error([&] { x.slice(1, 5); }, "slice: rows [1, 5) are outside shape [4, 3]");
  expect_error([&] { x.slice(3, 2); }, "slice: rows [3, 2)");
  expect_error([&] { x.slice(-1, 2); }, "slice: rows [-1, 2)");
  expect_error([] { Tensor::scalar(1).slice(0, 1); }, "slice: expected rank 1 or more");
}

TEST(Slice, Gradients) {
  const Tensor x = random_tensor({5, 3}, 5);
  expect_gradient([](const auto& in) { return square(in[0].slice(1, 4)); }, {x});
  expect_gradient([](const auto& in) { return in[0].slice(0, 2) * in[0].slice(1, 3); }, {x});
  expect_tensor(gradient_of([](const Tensor& v) { return v.slice(1, 2); }, Tensor::ones({3})), {3},
                {0, 1, 0});
}

}  // namespace
}  // namespace octet::test::shape_ops_test
