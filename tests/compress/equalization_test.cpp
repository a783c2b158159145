#include <octet/compress/post_training.h>
#include <octet/layers/add.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/dropout.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/hard_swish.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/pool2d.h>
#include <octet/layers/slice.h>
#include <octet/layers/upsampling2d.h>
#include <octet/layers/zero_padding2d.h>
#include <octet/tests/layers/quantize/random_convolutions.h>

#include <cmath>
#include <map>
#include <tuple>

namespace octet::test::equalization_test {
namespace {

/// Draws new values for every parameter, those of each unit of another size.
void make_uneven(const Model& model, std::uint64_t seed) {
  Draw draw(seed);
  for (auto& [name, tensor] : model.parameters()) {
    const Index units = tensor.dim(-1);
    std::vector<float> sizes;
    for (Index c = 0; c < units; ++c) sizes.push_back(std::exp2(float(draw.between(-3, 3))));
    const Tensor drawn = random_tensor(tensor.shape(), seed++, -0.5F, 0.5F);
    for (Index i = 0; i < tensor.size(); ++i) {
      Tensor(tensor).mutable_data()[i] =
          drawn.data()[i] * sizes[static_cast<std::size_t>(i % units)];
    }
  }
}

void scale(Tensor tensor, float factor) {
  for (float& v : tensor.mutable_span()) v *= factor;
}

/// Outputs that are equal to one part in 10,000 of the largest.
void expect_same_function(const Model& a, const Model& b, const Tensor& x) {
  const Tensor y = a.forward(x);
  const Tensor z = b.forward(x);
  float largest = 0.0F;
  for (const float v : y.span()) largest = std::max(largest, std::abs(v));
  ASSERT_GT(largest, 0.0F);
  for (Index i = 0; i < y.size(); ++i) {
    ASSERT_NEAR(y.data()[i], z.data()[i], 1e-4F * largest) << "output " << i;
  }
}

float largest_of(const Tensor& kernel, Index unit) {
  float largest = 0.0F;
  for (Index i = unit; i < kernel.size(); i += kernel.dim(-1)) {
    largest = std::max(largest, std::abs(kernel.data()[i]));
  }
  return largest;
}

float largest_in_row(const Tensor& kernel, Index row) {
  float largest = 0.0F;
  const Index units = kernel.dim(-1);
  for (Index u = 0; u < units; ++u) {
    largest = std::max(largest, std::abs(kernel.data()[row * units + u]));
  }
  return largest;
}

TEST(Equalization, OfTwoDenseLayersIsTheFormula) {
  Sequential model = build_model(Input({5}), Dense(4, Activation::relu, DenseOptions{.name = "a"}),
                                 Dense(3, Activation::softmax, DenseOptions{.name = "b"}));
  make_uneven(model, 7);
  const Sequential before(model);
  const Equalization report = cross_layer_equalization(model);

  const LayerWeights a = *before.layer("a").weights();
  const LayerWeights b = *before.layer("b").weights();
  const LayerWeights c = *model.layer("a").weights();
  const LayerWeights d = *model.layer("b").weights();
  for (Index unit = 0; unit < 4; ++unit) {
    const double r1 = largest_of(a.kernel, unit);
    const double r2 = largest_in_row(b.kernel, unit);
    const double s = std::sqrt(r1 * r2) / r2;
    for (Index i = unit; i < 20; i += 4) {
      EXPECT_EQ(c.kernel.data()[i], static_cast<float>(a.kernel.data()[i] / s));
    }
    EXPECT_EQ(c.bias.data()[unit], static_cast<float>(a.bias.data()[unit] / s));
    for (Index u = 0; u < 3; ++u) {
      const Index i = unit * 3 + u;
      EXPECT_EQ(d.kernel.data()[i], static_cast<float>(b.kernel.data()[i] * s));
    }
    EXPECT_NEAR(largest_of(c.kernel, unit) / largest_in_row(d.kernel, unit), 1.0F, 1e-6F);
  }
  EXPECT_TRUE(std::ranges::equal(b.bias.span(), d.bias.span()));
  expect_same_function(before, model, random_tensor({50, 5}, 1, -1.0F, 1.0F));

  ASSERT_EQ(report.pairs.size(), 1U);
  EXPECT_EQ(report.pairs[0].first, "a");
  EXPECT_EQ(report.pairs[0].second, "b");
  float least = INFINITY;
  float most = 0.0F;
  for (Index unit = 0; unit < 4; ++unit) {
    least = std::min(least, largest_of(c.kernel, unit));
    most = std::max(most, largest_of(c.kernel, unit));
  }
  EXPECT_NEAR(report.pairs[0].spread_after, most / least, 1e-5);
  EXPECT_GT(report.pairs[0].spread_before, report.pairs[0].spread_after);
  EXPECT_EQ(report.rounds, 2U);
  ASSERT_EQ(report.left_out.size(), 1U);
  EXPECT_EQ(report.left_out[0].layer, "b");
}

TEST(Equalization, OfDenseLayersOverRowsIsThatOfVectors) {
  const auto layers = [](const Shape& shape) {
    Sequential model = build_model(Input(shape), Dense(4, Activation::relu, "a"),
                                   Dense(3, Activation::softmax, "b"));
    make_uneven(model, 7);
    return model;
  };
  Sequential vectors = layers({5});
  Sequential rows = layers({2, 3, 5});
  const Sequential before(rows);
  cross_layer_equalization(vectors);
  cross_layer_equalization(rows);
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(std::ranges::equal(rows.layer(name).weights()->kernel.span(),
                                   vectors.layer(name).weights()->kernel.span()));
  }
  expect_same_function(before, rows, random_tensor({20, 2, 3, 5}, 1, -1.0F, 1.0F));
}

/// Images to classes, with everything between that may stand there.
Sequential long_chain() {
  Sequential model("m", Input({12, 10, 3}));
  model.add(Conv2D(8, 3, Activation::relu, {.name = "conv"}));
  model.add(Slice({.axis = 0, .begin = 1, .size = 9}));
  model.add(ZeroPadding2D({1, 1}));
  model.add(DepthwiseConv2D(3, Activation::none, {.depth_multiplier = 2, .name = "depthwise"}));
  model.add(BatchNorm());
  model.add(ReLU());
  model.add(MaxPool2D({.size = {2, 2}}));
  model.add(Conv2D(12, 2, Activation::none, {.groups = 4, .use_bias = false, .name = "grouped"}));
  model.add(BatchNorm());
  model.add(LeakyReLU(0.2F));
  model.add(UpSampling2D({2, 1}));
  model.add(AveragePool2D({.size = {2, 2}, .stride = {1, 1}, .padding = Padding::same}));
  model.add(Dropout(0.5F));
  model.add(Reshape({-1, 36}));
  model.add(Conv1D(10, 2, Activation::none, {.groups = 2, .name = "sequence"}));
  model.add(Flatten());
  model.add(Dense(6, Activation::none, DenseOptions{.name = "dense"}));
  model.add(Dense(4, Activation::none, DenseOptions{.name = "end"}));
  return model;
}

TEST(Equalization, ChangesNoFunctionAndEndsWhereItMovesNothing) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sequential model = long_chain();
    model.build(seed);
    make_uneven(model, seed);
    for (int i = 0; i < 5; ++i) model.forward(images_for(model, 8, seed), training());
    const Sequential before(model);
    const Equalization report = cross_layer_equalization(model);
    ASSERT_EQ(report.pairs.size(), 5U) << report.left_out.front().reason;
    EXPECT_EQ(report.left_out.size(), 1U);
    EXPECT_LT(report.rounds, 200U);
    expect_same_function(before, model, images_for(model, 20, seed + 1));
    if (::testing::Test::HasFatalFailure()) return;
    const Equalization again = cross_layer_equalization(model);
    EXPECT_LE(again.rounds, 2U);
    for (std::size_t i = 0; i < 5; ++i) {
      const double spread = report.pairs[i].spread_after;
      EXPECT_LE(spread, report.pairs[i].spread_before) << report.pairs[i].first;
      EXPECT_NEAR(again.pairs[i].spread_before / spread, 1.0, 1e-4);
      EXPECT_NEAR(again.pairs[i].spread_after / spread, 1.0, 1e-4);
    }
  }
}

TEST(Equalization, AroundADepthwiseConvolutionMakesThreeRangesOne) {
  Sequential model = build_model(Input({4, 4, 2}), Conv2D(5, 1, Activation::relu, {.name = "a"}),
                                 DepthwiseConv2D(3, Activation::relu, {.name = "b"}),
                                 Conv2D(3, 1, Activation::none, {.name = "c"}));
  make_uneven(model, 3);
  const auto range = [&](const Model& of, Index channel) {
    return std::array{double{largest_of(of.layer("a").weights()->kernel, channel)},
                      double{largest_of(of.layer("b").weights()->kernel, channel)},
                      double{largest_in_row(of.layer("c").weights()->kernel, channel)}};
  };
  const Sequential before(model);
  cross_layer_equalization(model);
  for (Index channel = 0; channel < 5; ++channel) {
    const auto [a, b, c] = range(before, channel);
    for (const double r : range(model, channel)) EXPECT_NEAR(r / std::cbrt(a * b * c), 1.0, 1e-5);
  }
  expect_same_function(before, model, images_for(model, 20, 1));
}

TEST(Equalization, LeavesDeadChannelsToTheByte) {
  Sequential model = build_model(Input({3}), Dense(5, Activation::relu, DenseOptions{.name = "a"}),
                                 Dense(2, Activation::none, DenseOptions{.name = "b"}));
  make_uneven(model, 5);
  Tensor kernel = model.layer("a").weights()->kernel;
  Tensor reader = model.layer("b").weights()->kernel;
  for (Index row = 0; row < 3; ++row) {
    kernel.mutable_data()[row * 5 + 1] = 0.0F;
    kernel.mutable_data()[row * 5 + 3] *= 1e-9F;
  }
  reader.mutable_data()[8] = 0.0F;
  reader.mutable_data()[9] = 0.0F;
  const Sequential before(model);
  const Equalization report = cross_layer_equalization(model);
  const auto column = [](const Model& of, Index c) {
    const LayerWeights weights = *of.layer("a").weights();
    return std::vector{weights.kernel.data()[c], weights.kernel.data()[5 + c],
                       weights.kernel.data()[10 + c], weights.bias.data()[c],
                       of.layer("b").weights()->kernel.data()[2 * c]};
  };
  for (const Index dead : {1, 3, 4}) EXPECT_EQ(column(model, dead), column(before, dead));
  for (const Index live : {0, 2}) EXPECT_NE(column(model, live), column(before, live));
  EXPECT_TRUE(std::isfinite(report.pairs[0].spread_before));
  expect_same_function(before, model, random_tensor({9, 3}, 1, -1.0F, 1.0F));
}

std::map<std::string, std::string> reasons(const Equalization& report) {
  std::map<std::string, std::string> result;
  for (const auto& [layer, reason] : report.left_out) result[layer] = reason;
  return result;
}

void expect_reason(const Equalization& report, const std::string& layer,
                   const std::vector<std::string>& parts) {
  const std::string reason = reasons(report)[layer];
  for (const std::string& part : parts) {
    EXPECT_NE(reason.find(part), std::string::npos)
        << layer << ": \"" << reason << "\" lacks " << part;
  }
}

TEST(Equalization, NamesWhatItLeavesOut) {
  Sequential chain =
      build_model(Input({8, 8, 2}), Conv2D(4, 3, Activation::relu6, {.name = "six"}),
                  Conv2D(4, 1, Activation::relu, {.name = "normed"}),
                  BatchNorm(BatchNormOptions{.name = "norm"}),
                  Conv2D(4, 1, Activation::none, {.name = "swished"}), HardSwish("swish"),
                  Conv2D(6, 1, Activation::relu, {.name = "transposed"}),
                  TransposedConv2D(6, 2, Activation::relu, {.name = "up"}), Reshape({49, 6}),
                  Conv1D(5, 1, Activation::tanh, {.name = "tanh"}), Flatten(),
                  Dense(3, Activation::none, DenseOptions{.name = "end"}));
  const Sequential before(chain);
  const Equalization report = cross_layer_equalization(chain);
  EXPECT_TRUE(report.pairs.empty());
  EXPECT_EQ(report.rounds, 0U);
  EXPECT_EQ(report.left_out.size(), 7U);
  expect_reason(report, "six", {"relu6"});
  expect_reason(report, "normed", {"norm", "BatchNorm"});
  expect_reason(report, "swished", {"swish", "HardSwish"});
  expect_reason(report, "transposed", {"\"up\"", "order"});
  expect_reason(report, "up", {"order"});
  expect_reason(report, "tanh", {"tanh"});
  expect_reason(report, "end", {"\"end\"", "output"});
  for (const auto& [name, tensor] : chain.parameters()) {
    EXPECT_TRUE(std::ranges::equal(tensor.span(), tensor_named(before.parameters(), name).span()));
  }

  Sequential torn =
      build_model(Input({6}), Dense(6, Activation::relu, DenseOptions{.name = "wide"}),
                  Reshape({3, 2}, "torn"), Conv1D(2, 1));
  expect_reason(cross_layer_equalization(torn), "wide", {"\"torn\"", "apart"});
  Sequential cut = build_model(Input({6}), Dense(6, Activation::relu, DenseOptions{.name = "wide"}),
                               Slice({.begin = 1, .size = 3, .name = "cut"}), Dense(2));
  expect_reason(cross_layer_equalization(cut), "wide", {"\"cut\"", "apart"});

  Model graph("graph");
  const Value x = graph.input({4});
  const Value a = graph.add(Dense(4, Activation::relu, DenseOptions{.name = "read_twice"}), x);
  const Value b = graph.add(Dense(4, Activation::relu, DenseOptions{.name = "added"}), a);
  const Value sum = graph.add(Add(Activation::none, "sum"), {a, b});
  graph.output(graph.add(Dense(2, Activation::none, DenseOptions{.name = "end"}), sum));
  const Value c = graph.add(Dense(3, Activation::relu, DenseOptions{.name = "shown"}), sum);
  graph.output(c);
  graph.output(graph.add(Dense(2, Activation::none, DenseOptions{.name = "last"}), c));
  graph.build(1);
  const Equalization of_graph = cross_layer_equalization(graph);
  EXPECT_TRUE(of_graph.pairs.empty());
  expect_reason(of_graph, "read_twice", {"2 layers read", "read_twice"});
  expect_reason(of_graph, "added", {"\"sum\"", "Add"});
  expect_reason(of_graph, "shown", {"\"shown\"", "output"});

  Model joined("joined");
  const Value in = joined.input({4, 3});
  const Value left = joined.add(Conv1D(3, 1, Activation::relu, {.name = "left"}), in);
  const Value right = joined.add(Conv1D(3, 1, Activation::relu, {.name = "right"}), in);
  const Value both = joined.add(Concatenate(0, "both"), {left, right});
  joined.output(joined.add(Conv1D(2, 1, Activation::none, {.name = "head"}), both));
  joined.build(1);
  expect_reason(cross_layer_equalization(joined), "left", {"\"both\"", "another axis"});
}

/// Two branches that a Concatenate joins twice over, behind a Flatten, and a Dense that reads them:
/// the weights that make "large" are `factor` times as large, those that read it as much smaller.
Model branches(float factor) {
  Model model("branches");
  const Value in = model.input({4, 3});
  const Value small = model.add(Conv1D(5, 1, Activation::relu, {.name = "small"}), in);
  const Value large = model.add(Conv1D(2, 1, Activation::relu, {.name = "large"}), in);
  const Value both = model.add(Concatenate(-1, "both"), {small, large, small});
  const Value flat = model.add(Flatten("flat"), both);
  model.output(model.add(Dense(3, Activation::none, "head"), flat));
  model.build(1);
  for (const auto& [name, tensor] : model.parameters()) {
    if (name.starts_with("large/")) scale(tensor, factor);
  }
  Tensor head = model.layer("head").weights()->kernel;
  for (Index i = 0; i < head.size(); ++i) {
    const Index channel = i / 3 % 12;
    if (channel == 5 || channel == 6) head.mutable_data()[i] /= factor;
  }
  return model;
}

TEST(Equalization, GoesThroughAConcatenate) {
  const Tensor x = random_tensor({100, 4, 3}, 3, -1.0F, 1.0F);
  const Model even = branches(1.0F);
  Model model = branches(300.0F);
  const auto error = [&](const Model& source) {
    const Tensor y = even.forward(x);
    const Tensor z = quantize_post_training(source, x).forward(x);
    double sum = 0.0;
    for (Index i = 0; i < y.size(); ++i) sum += std::pow(double{y.data()[i]} - z.data()[i], 2);
    return sum;
  };
  EXPECT_GT(error(model), 100.0 * error(even));
  const Equalization report = cross_layer_equalization(model);
  ASSERT_EQ(report.pairs.size(), 2U);
  for (const EqualizedPair& pair : report.pairs) {
    EXPECT_EQ(pair.second, "head");
    EXPECT_GE(pair.spread_before, pair.spread_after);
  }
  expect_same_function(even, model, x);
  EXPECT_LT(error(model), 1.5 * error(even));
  // Each unit is made with as large weights as it is read with, wherever the head reads it.
  const Tensor head = model.layer("head").weights()->kernel;
  for (const auto& [layer, units, at] : {std::tuple{"small", 5, 0}, std::tuple{"large", 2, 5}}) {
    for (Index unit = 0; unit < units; ++unit) {
      float read = 0.0F;
      for (Index row = 0; row < head.dim(0); ++row) {
        const Index channel = row % 12;
        const bool is_unit = channel == at + unit || (at == 0 && channel == 7 + unit);
        if (is_unit) read = std::max(read, largest_in_row(head, row));
      }
      const float made = largest_of(model.layer(layer).weights()->kernel, unit);
      EXPECT_NEAR(made / read, 1.0F, 1e-5F) << layer << ' ' << unit;
    }
  }
}

TEST(Equalization, LosesLessWhereOneScaleHasToFitAllChannels) {
  Sequential even = build_model(Input({20}), Dense(40, Activation::relu, DenseOptions{.name = "a"}),
                                Dense(5, Activation::none, DenseOptions{.name = "b"}));
  // A network of the same function, with some channels 16 times as large as others.
  Sequential model(even);
  Tensor made = model.layer("a").weights()->kernel;
  Tensor read = model.layer("b").weights()->kernel;
  for (Index i = 0; i < made.size(); ++i) made.mutable_data()[i] *= std::exp2(float(i % 40 % 5));
  for (Index i = 0; i < read.size(); ++i) read.mutable_data()[i] /= std::exp2(float(i / 5 % 5));
  const Tensor x = random_tensor({200, 20}, 1, -1.0F, 1.0F);
  const auto error = [&](const Model& source) {
    const Tensor y = model.forward(x);
    const Tensor z = quantize_post_training(source, x, {.weight_bits = 4}).forward(x);
    double sum = 0.0;
    for (Index i = 0; i < y.size(); ++i) sum += std::pow(double{y.data()[i]} - z.data()[i], 2);
    return sum;
  };
  Sequential equalized(model);
  cross_layer_equalization(equalized);
  EXPECT_LT(error(equalized), 1.2 * error(even));
  EXPECT_GT(error(model), 3.0 * error(even));
}

TEST(Equalization, RefusesByName) {
  Sequential unbuilt("m", Input({4}), Dense(3), Dense(2));
  expect_throws<InvalidArgument>([&] { cross_layer_equalization(unbuilt); },
                                 {"cross_layer_equalization", "\"m\"", "build()"});
  Sequential model = build_model(Input({4}), Dense(3, Activation::relu, DenseOptions{.name = "a"}),
                                 Dense(2, Activation::none, DenseOptions{.name = "b"}));
  Sequential quantized = quantize_model(model);
  expect_throws<InvalidArgument>([&] { cross_layer_equalization(quantized); },
                                 {"cross_layer_equalization", "\"m\"", "quantized already"});
  for (const float bad : {kNan, INFINITY}) {
    for (const std::string layer : {"a", "b"}) {
      Sequential broken(model);
      Tensor kernel = broken.layer(layer).weights()->kernel;
      kernel.mutable_data()[1] = bad;
      const Sequential before(broken);
      expect_throws<NumericError>([&] { cross_layer_equalization(broken); },
                                  {"cross_layer_equalization", "\"" + layer + "\""});
      EXPECT_EQ(broken.layer("a").weights()->kernel.data()[0],
                before.layer("a").weights()->kernel.data()[0]);
    }
  }
}

}  // namespace
}  // namespace octet::test::equalization_test
