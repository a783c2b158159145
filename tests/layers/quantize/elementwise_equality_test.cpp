#include <octet/core/ops/ops.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Multiply, Add of inputs that broadcast, HardSwish, UpSampling2D, and the functions with a fixed
// grid on images: what is trained is what the file computes.

namespace octet::test::elementwise_equality_test {
namespace {

/// A random graph on images with gates, as of squeeze and excitation, and functions of all ranks.
class RandomGates {
 public:
  explicit RandomGates(std::uint32_t seed) : random_(seed) {
    const Index channels = image_[2];
    Value x = model_.add(Conv2D(channels, 1), model_.input(image_));
    for (int i = random_.integer(1, 4); i > 0; --i) x = step(x, channels);
    if (random_.integer(0, 1) == 1) {
      x = model_.add(UpSampling2D({random_.integer(1, 3), random_.integer(1, 3)}), x);
    }
    // Rank 4 with the batch, rank 3, or rank 2.
    const int end = random_.integer(0, 2);
    if (end == 1) x = model_.add(Reshape({-1, channels}), x);
    if (end == 2) x = model_.add(Flatten(), x);
    model_.output(model_.add(ActivationLayer(function(random_.integer(0, 2))), x));
    model_.build(seed);
  }

  const Model& model() const { return model_; }
  Tensor batch(Index size) {
    return Tensor::uniform(image_.with_batch(size), Random(random_.bits()),
                           -random_.positive(0.1F, 5.0F), random_.positive(0.1F, 5.0F));
  }

 private:
  static Activation function(int i) {
    constexpr std::array kFunctions = {Activation::softmax, Activation::sigmoid, Activation::tanh};
    return kFunctions[static_cast<std::size_t>(i)];
  }

  Activation clamp() {
    constexpr std::array kClamps = {Activation::none, Activation::relu, Activation::relu6};
    return kClamps[static_cast<std::size_t>(random_.integer(0, 2))];
  }

  Value step(const Value& x, Index channels) {
    switch (random_.integer(0, 4)) {
      case 0:
        return model_.add(HardSwish(), model_.add(Conv2D(channels, 1), x));
      case 1: {  // a gate for each channel
        Value gate = model_.add(GlobalAveragePool2D(), x);
        gate = model_.add(Dense(channels, Activation::sigmoid), gate);
        gate = model_.add(Reshape({1, 1, channels}), gate);
        return model_.add(Multiply(clamp()), {x, gate});
      }
      case 2: {  // a gate for each pixel
        const Value gate =
            model_.add(ActivationLayer(Activation::sigmoid), model_.add(Conv2D(1, 1), x));
        return model_.add(Multiply(), {gate, x});
      }
      case 3: {
        const Value mask = model_.add(ActivationLayer(function(random_.integer(0, 2))), x);
        return model_.add(Multiply(clamp()), {x, mask});
      }
      default: {
        const Value shift = model_.add(Conv2D(1, 1), x);
        return model_.add(Add(clamp()), {x, shift});
      }
    }
  }

  PortableRandom random_;
  Shape image_ = {random_.integer(1, 4), random_.integer(1, 4), random_.integer(2, 5)};
  Model model_{"gates"};
};

class ElementwiseEquality : public ::testing::TestWithParam<Rounding> {};

TEST_P(ElementwiseEquality, TrainingInterpreterAndFileOf60RandomGraphs) {
  expect_random_networks_ship<RandomGates>(
      60, [](const RandomGates& /*net*/) { return QuantizeOptions{.rounding = GetParam()}; });
}

INSTANTIATE_TEST_SUITE_P(Contracts, ElementwiseEquality, ::testing::ValuesIn(kContracts),
                         contract_name);

TEST(QuantizedElementwise, LeftInFloatTheyComputeInFloat) {
  Model source("m");
  Value x = source.input({2, 3, 4});
  x = source.add(Conv2D(4, 1), x);
  const Value gate = source.add(in_float(HardSwish()), x);
  x = source.add(in_float(Multiply(Activation::relu)), {x, gate});
  source.output(source.add(Conv2D(2, 1), x));
  source.build(3);
  Model model = quantize_model(source);
  calibrate(model, random_tensor({20, 2, 3, 4}, 1));
  expect_same_as_shipped(model, random_tensor({9, 2, 3, 4}, 2));
}

/// All results 0: their grids are those that the operators take.
TEST(QuantizedElementwise, DeadResultsAreShippedToo) {
  Model source("m");
  Value x = source.input({3});
  const Value low = source.add(Dense(3, Activation::none, "low"), x);
  const Value dead = source.add(HardSwish("swish"), low);
  source.output(source.add(Multiply(Activation::none, "product"), {dead, dead}));
  source.build(3);
  for (auto& [name, tensor] : source.parameters()) {
    for (float& v : Tensor(tensor).mutable_span()) v = name.ends_with("bias") ? -9.0F : 0.01F;
  }
  Model model = quantize_model(source);
  calibrate(model, random_tensor({20, 3}, 1));
  EXPECT_NO_THROW(lower(model).validate());
  expect_same_as_shipped(model, random_tensor({9, 3}, 2));
}

}  // namespace
}  // namespace octet::test::elementwise_equality_test
