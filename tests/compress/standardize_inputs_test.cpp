// standardize_inputs(): what the network computes stays the same on what is standardized.

#include <octet/compress/post_training.h>
#include <octet/layers/add.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/layer_testing.h>

#include <cmath>
#include <limits>

namespace octet::test::standardize_inputs_test {
namespace {

/// Samples whose last axis has columns of other units and offsets; the third is constant.
Tensor columns(std::vector<Index> shape, std::uint64_t seed) {
  Tensor x = random_tensor(Shape(std::move(shape)), seed, -1.0F, 1.0F);
  const auto channels = static_cast<std::size_t>(x.dim(-1));
  for (std::size_t i = 0; i < x.span().size(); ++i) {
    const std::size_t c = i % channels;
    float& value = x.mutable_span()[i];
    if (c == 0) value *= 1e-3F;
    if (c == 1) value = 1000.0F * value + 300.0F;
    if (c == 2) value = 0.1F;
  }
  return x;
}

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  float largest = 0.0F;
  for (const float value : a.span()) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < a.span().size(); ++i) {
    ASSERT_NEAR(a.span()[i], b.span()[i], 1e-4F * largest) << i;
  }
}

struct Case {
  const char* name;
  Sequential model;
  bool shifts;
};

class StandardizeInputs : public ::testing::TestWithParam<Case> {};

TEST_P(StandardizeInputs, MovesUnitsIntoTheFirstLayer) {
  Sequential model = GetParam().model;
  model.build(3);
  const std::span<const Index> read = model.layers()[1]->input_shape().dims();
  std::vector<Index> shape = {200};
  shape.insert(shape.end(), read.begin(), read.end());
  const Tensor x = columns(shape, 9);
  if (model.layers()[1]->type() == "BatchNorm") {
    // Statistics that the layer would have come to.
    for (int i = 0; i < 100; ++i) static_cast<void>(model.forward(x, training(1)));
  }
  const Tensor before = model.forward(x);
  const Standardization found = standardize_inputs(model, x);
  const Tensor standardized = found.apply(x);
  expect_same(before, model.forward(standardized));
  EXPECT_LT(found.deviation[0], 1e-3F);
  EXPECT_GT(found.deviation[1], 300.0F);
  EXPECT_EQ(found.mean[1] != 0.0F, GetParam().shifts);
  if (GetParam().shifts) {
    EXPECT_EQ(found.mean[2], 0.1F);
    EXPECT_EQ(found.deviation[2], 1.0F);
    for (std::size_t i = 2; i < standardized.span().size(); i += 4) {
      EXPECT_EQ(standardized.span()[i], 0.0F);
    }
  }
  EXPECT_LT(std::abs(standardized.span()[1]), 4.0F);
}

INSTANTIATE_TEST_SUITE_P(
    Each, StandardizeInputs,
    ::testing::Values(
        Case{"dense", Sequential("m", Input({4}), Dense(3, Activation::relu)), true},
        Case{"dense_without_bias",
             Sequential("m", Input({4}),
                        Dense(3, Activation::relu, DenseOptions{.use_bias = false})),
             false},
        Case{"batch_norm", Sequential("m", Input({4}), BatchNorm({.momentum = 0.5F}), Dense(3)),
             true},
        Case{"conv1d", Sequential("m", Input({9, 4}), Conv1D(5, 3), Flatten()), true},
        Case{"conv1d_same",
             Sequential("m", Input({9, 4}),
                        Conv1D(5, 3, Activation::none, {.padding = Padding::same})),
             false},
        Case{"conv2d_groups",
             Sequential("m", Input({6, 5, 4}), Conv2D(6, 3, Activation::relu, {.groups = 2})),
             true},
        Case{"depthwise", Sequential("m", Input({6, 5, 4}), DepthwiseConv2D({3, 3})), true}),
    [](const auto& which) { return std::string(which.param.name); });

TEST(StandardizeInputs, RefusesByName) {
  Sequential model("m", Input({4}), Dense(3));
  model.build(1);
  for (const Tensor& samples : {Tensor(), random_tensor({8, 3}, 1), random_tensor({8}, 1)}) {
    expect_throws<InvalidArgument>([&] { standardize_inputs(model, samples); },
                                   {"standardize_inputs", "[n, ..., 4]"});
  }
  Tensor broken = random_tensor({8, 4}, 1);
  broken.mutable_data()[6] = std::numeric_limits<float>::infinity();
  expect_throws<NumericError>([&] { standardize_inputs(model, broken); }, {"channel 2"});
  Sequential flat("m", Input({2, 2}), Flatten("flat"), Dense(3));
  flat.build(1);
  expect_throws<InvalidArgument>(
      [&] {
        standardize_inputs(flat, random_tensor({8, 2, 2}, 1));
      },
      {"\"flat\"", "Flatten"});
  Model two("two");
  const Value a = two.input({4});
  two.output(two.add(Add(), {two.add(Dense(3), a), two.add(Dense(3), a)}));
  two.build(1);
  expect_throws<InvalidArgument>(
      [&] {
        standardize_inputs(two, random_tensor({8, 4}, 1));
      },
      {"2 readers"});
}

}  // namespace
}  // namespace octet::test::standardize_inputs_test
