// Training with gradients in integers: Backward::int8.

#include <octet/core/autograd.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/loss.h>
#include <octet/core/ops/reduce.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/gradient_angles.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/train/training.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace octet::test::int8_backward_test {
namespace {

/// Convolutions with and without strides, a depthwise and a transposed one, and a sum.
Model small_convnet() {
  Model model("small");
  const Value x = model.input({8, 8, 3}, "x");
  Value y = model.add(Conv2D(8, 3, Activation::relu, {.padding = Padding::same}), x);
  const Value wide =
      model.add(Conv2D(12, 3, Activation::none, {.strides = {2, 2}, .padding = Padding::same}), y);
  const Value narrow = model.add(Conv2D(12, 1, Activation::none, {.strides = {2, 2}}), y);
  y = model.add(Add(Activation::relu), {wide, narrow});
  y = model.add(DepthwiseConv2D(3, Activation::relu, {.padding = Padding::same}), y);
  y = model.add(TransposedConv2D(6, 3, Activation::relu, {.strides = {2, 2}}), y);
  y = model.add(Dense(16, Activation::relu), model.add(Flatten(), y));
  model.output(model.add(Dense(5, Activation::softmax), y));
  model.build(3);
  return model;
}

Dataset noise(std::size_t count) {
  Labels labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i * 3 % 5));
  const Tensor x = random_tensor({static_cast<Index>(count), 8, 8, 3}, 5);
  return Dataset::from_floats("noise", {8, 8, 3}, {x.span().begin(), x.span().end()}, labels, 5);
}

Model calibrated_net(const QuantizeOptions& options) {
  Model model = quantize_model(small_convnet(), options);
  calibrate(model, noise(20).features(0, 20));
  return model;
}

/// The gradients of all parameters for 20 examples.
std::vector<std::vector<float>> gradients(Model& model, Backward backward) {
  const Batch batch = noise(20).batch(0, 20);
  model.zero_grad();
  const Tensor logits =
      model.forward(batch.features,
                    {.mode = ForwardContext::Mode::training, .logits = true, .backward = backward});
  sparse_categorical_cross_entropy()(logits, batch.targets).backward();
  std::vector<std::vector<float>> result;
  for (const NamedTensor& parameter : model.parameters()) {
    const std::span<const float> g = parameter.tensor.grad().span();
    result.emplace_back(g.begin(), g.end());
  }
  return result;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

TEST(Int8Backward, GradientsPointWhereThoseInFloatsDo) {
  for (const auto& [per_channel, backward] :
       {std::pair(false, Backward::int8), std::pair(true, Backward::int8),
        std::pair(true, Backward::int8_stochastic)}) {
    Model model = calibrated_net({.per_channel = per_channel});
    const auto in_floats = gradients(model, Backward::float32);
    const auto in_integers = gradients(model, backward);
    int differing = 0;
    for (std::size_t i = 0; i < in_floats.size(); ++i) {
      EXPECT_GT(cosine(in_floats[i], in_integers[i]), 0.999) << "parameter " << i;
      differing += in_floats[i] != in_integers[i] ? 1 : 0;
    }
    EXPECT_GE(differing, 12);
  }
}

TEST(Int8Backward, TrainsToTheSameBytesOnAnyNumberOfThreadsAndCodePath) {
  const KeepThreads keep;
  const auto trained = [](Backward backward) {
    Model model = calibrated_net({});
    Trainer(model, Adam(0.01F), {.batch_size = 16, .backward = backward}).fit(noise(70), 2);
    return bytes_of(model);
  };
  std::set<Bytes> found;
  for (const Backward backward : {Backward::float32, Backward::int8, Backward::int8_stochastic}) {
    const Bytes expected = trained(backward);
    for (const int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      EXPECT_EQ(trained(backward), expected) << threads << " threads";
    }
    for (const KernelTable* table : available_kernels()) {
      force_kernels(table);
      EXPECT_EQ(trained(backward), expected) << to_string(table->isa);
    }
    force_kernels(nullptr);
    found.insert(expected);
  }
  EXPECT_EQ(found.size(), 3);
}

/// Two layers with the same weights read the same values and get the same gradients of their
/// results.
TEST(Int8Backward, RoundsEachProductByRandomNumbersOfItsOwn) {
  Model net("twins");
  const Value x = net.input({6}, "x");
  const Value a = net.add(Dense(5, Activation::none, "a"), x);
  const Value b = net.add(Dense(5, Activation::none, "b"), x);
  net.output(net.add(Add(), {a, b}));
  net.build(1);
  const std::vector<NamedTensor> parameters = net.parameters();
  std::ranges::copy(Tensor(parameters[0].tensor).span(),
                    Tensor(parameters[2].tensor).mutable_data());
  Model model = quantize_model(net);
  const Tensor examples = random_tensor({9, 6}, 2);
  calibrate(model, examples);
  const auto kernels = [&](Backward backward, std::uint64_t seed) {
    model.zero_grad();
    const Tensor y = model.forward(
        examples,
        {.mode = ForwardContext::Mode::training, .random = Random(seed), .backward = backward});
    mean(y * y).backward();
    std::vector<std::vector<float>> result;
    for (const auto& [name, tensor] : model.parameters()) {
      if (!name.ends_with("kernel")) continue;
      result.emplace_back(tensor.grad().span().begin(), tensor.grad().span().end());
    }
    return result;
  };
  const auto nearest = kernels(Backward::int8, 1);
  EXPECT_EQ(nearest[0], nearest[1]);
  const auto at_random = kernels(Backward::int8_stochastic, 1);
  EXPECT_NE(at_random[0], at_random[1]);
  EXPECT_EQ(kernels(Backward::int8_stochastic, 1), at_random);
  EXPECT_NE(kernels(Backward::int8_stochastic, 2), at_random);
}

/// The trained weights, and what training collects beside them.
std::pair<Bytes, std::vector<GradientAngle>> trained_and_measured(TrainerOptions options) {
  Model model = calibrated_net({});
  GradientAngles angles;
  options.angles = &angles;
  Trainer(model, Adam(1e-4F), std::move(options)).fit(noise(70), 2);
  return {bytes_of(model), angles.angles()};
}

using Numbers =
    std::tuple<std::uint64_t, std::string, std::optional<double>, std::optional<double>>;

std::vector<Numbers> numbers_of(const std::vector<GradientAngle>& angles) {
  std::vector<Numbers> numbers;
  for (const GradientAngle& one : angles) {
    numbers.emplace_back(one.step, one.layer, one.input, one.kernel);
  }
  return numbers;
}

/// The steps and the layers of angles, each once and in their order.
std::pair<std::vector<std::uint64_t>, std::vector<std::string>> places_of(
    const std::vector<GradientAngle>& angles) {
  std::vector<std::uint64_t> steps;
  std::vector<std::string> layers;
  for (const GradientAngle& one : angles) {
    if (steps.empty() || steps.back() != one.step) steps.push_back(one.step);
    if (steps.size() == 1) layers.push_back(one.layer);
  }
  EXPECT_EQ(angles.size(), steps.size() * layers.size());
  return {steps, layers};
}

TEST(Int8Backward, AnglesToGradientsInFloatsAreMeasuredInStepsThatAreSpread) {
  const KeepThreads keep;
  for (const std::size_t shards : {1U, 2U}) {
    for (const Backward backward : {Backward::int8, Backward::int8_stochastic}) {
      const TrainerOptions options{
          .batch_size = 4, .accumulate_batches = 2, .shards = shards, .backward = backward};
      set_num_threads(1);
      Model model = calibrated_net({});
      Trainer(model, Adam(1e-4F), options).fit(noise(70), 2);
      const auto [bytes, angles] = trained_and_measured(options);
      EXPECT_EQ(bytes, bytes_of(model));
      // Of 18 steps.
      const auto [steps, layers] = places_of(angles);
      EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18}));
      EXPECT_EQ(layers,
                (std::vector<std::string>{"conv2d", "conv2d_1", "conv2d_2", "depthwise_conv2d",
                                          "transposed_conv2d", "dense", "dense_1"}));
      for (const GradientAngle& one : angles) {
        EXPECT_EQ(one.input.has_value(), one.layer != "conv2d") << one.layer;
        for (const double degrees : {one.input.value_or(1.0), one.kernel.value()}) {
          EXPECT_GT(degrees, 0.01) << one.layer;
          EXPECT_LT(degrees, 5.0) << one.layer;
        }
      }
      set_num_threads(3);
      EXPECT_EQ(numbers_of(trained_and_measured(options).second), numbers_of(angles));
    }
  }
  EXPECT_TRUE(trained_and_measured({.batch_size = 16}).second.empty());
}

TEST(Int8Backward, ChangesNothingInFloat) {
  const auto trained = [](Backward backward) {
    Sequential model = small_mlp();
    Trainer(model, Adam(0.01F), {.backward = backward}).fit(clouds(40), 2);
    return bytes_of(model);
  };
  EXPECT_EQ(trained(Backward::int8), trained(Backward::float32));
}

}  // namespace
}  // namespace octet::test::int8_backward_test
