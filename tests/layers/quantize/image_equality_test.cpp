#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Pooling and padding of images: what is trained is what the file computes.

namespace octet::test::image_equality_test {
namespace {

/// A random chain of pools, paddings and other layers on images, with a Dense layer at its end.
class RandomImageNet {
 public:
  explicit RandomImageNet(std::uint32_t seed) : random_(seed) {
    model_.add(Input(image_));
    const int steps = random_.integer(1, 5);
    for (int i = 0; i < steps; ++i) step();
    end();
    model_.add(Dense(random_.integer(1, 5)));
    model_.build(seed);
  }

  const Sequential& model() const { return model_; }
  Tensor batch(Index size) {
    return Tensor::uniform(image_.with_batch(size), Random(random_.bits()),
                           -random_.positive(0.1F, 3.0F), random_.positive(0.1F, 3.0F));
  }

 private:
  Pool2DOptions pool() {
    Pool2DOptions options;
    for (std::size_t i = 0; i < 2; ++i) {
      options.size[i] = random_.integer(1, 2);
      options.stride[i] = random_.integer(1, 2);
    }
    // Windows beyond the image need padding.
    const bool same = random_.integer(0, 1) == 1;
    if (same) options.size[0] += 2;
    options.padding = same ? Padding::same : Padding::valid;
    return options;
  }

  void step() {
    switch (random_.integer(0, 7)) {
      case 0:
        model_.add(MaxPool2D(pool()));
        break;
      case 1:
      case 2:
        model_.add(AveragePool2D(pool()));
        break;
      case 3:
        model_.add(Dropout(0.3F));
        break;
      case 4:
        model_.add(ReLU());
        break;
      case 5:
        model_.add(UpSampling2D({random_.integer(1, 2), random_.integer(1, 3)}));
        break;
      case 6: {
        const auto coordinates = static_cast<ResizeCoordinates>(random_.integer(0, 2));
        model_.add(Resizing({random_.integer(2, 9), random_.integer(2, 9)}, coordinates));
        break;
      }
      default:
        break;
    }
    // So that two rows and columns are left for the next step.
    model_.add(ZeroPadding2D({.top = 1, .bottom = random_.integer(0, 2), .left = 1, .right = 1}));
  }

  void end() {
    switch (random_.integer(0, 2)) {
      case 0:
        model_.add(GlobalAveragePool2D());
        break;
      case 1:
        model_.add(GlobalMaxPool2D());
        break;
      default:
        model_.add(Flatten());
    }
  }

  PortableRandom random_;
  Shape image_ = {random_.integer(2, 7), random_.integer(2, 7), random_.integer(1, 5)};
  Sequential model_{"images"};
};

class ImageEquality : public ::testing::TestWithParam<Rounding> {};

TEST_P(ImageEquality, TrainingInterpreterAndFileOf100RandomNets) {
  expect_random_networks_ship<RandomImageNet>(
      100, [](const RandomImageNet& /*net*/) { return QuantizeOptions{.rounding = GetParam()}; });
}

INSTANTIATE_TEST_SUITE_P(Contracts, ImageEquality, ::testing::ValuesIn(kContracts), contract_name);

/// The model of one image layer, quantized, with the range [-1, 1] for its input.
template <class L>
Model quantized_alone(L layer, const Shape& image) {
  Sequential source("m", Input(image), std::move(layer));
  source.build();
  Model model = quantize_model(source);
  Tensor x = Tensor::zeros(image.with_batch(1));
  x.mutable_data()[0] = -1.0F;
  x.mutable_data()[1] = 1.0F;
  calibrate(model, x);
  freeze_ranges(model, true);
  return model;
}

std::vector<OpCode> codes_of(const IntegerModel& model) {
  std::vector<OpCode> codes;
  for (const Operator& op : model.operators) codes.push_back(op.code);
  return codes;
}

TEST(QuantizedImages, OperatorsOfEachLayer) {
  const auto codes = [](auto layer) {
    return codes_of(lower(quantized_alone(std::move(layer), {4, 6, 3})));
  };
  EXPECT_EQ(codes(MaxPool2D()), std::vector{OpCode::max_pool_2d});
  EXPECT_EQ(codes(AveragePool2D()), std::vector{OpCode::average_pool_2d});
  EXPECT_EQ(codes(ZeroPadding2D({.left = 1})), std::vector{OpCode::pad});
  EXPECT_EQ(codes(UpSampling2D({2, 3})), std::vector{OpCode::resize_nearest_neighbor});
  EXPECT_EQ(codes(UpSampling2D({2, 3}, Interpolation::bilinear)),
            std::vector{OpCode::resize_bilinear});
  EXPECT_EQ(codes(Resizing({7, 3})), std::vector{OpCode::resize_bilinear});
  EXPECT_EQ(codes(GlobalMaxPool2D()), (std::vector{OpCode::max_pool_2d, OpCode::reshape}));
  EXPECT_EQ(codes(GlobalAveragePool2D()), (std::vector{OpCode::average_pool_2d, OpCode::reshape}));
  const IntegerModel model = lower(quantized_alone(
      MaxPool2D({.size = {3, 2}, .stride = {1, 4}, .padding = Padding::same}), {4, 6, 3}));
  EXPECT_EQ(
      model.operators[0].as<PoolAttributes>(),
      (PoolAttributes{
          .padding = Padding::same, .stride_h = 1, .stride_w = 4, .filter_h = 3, .filter_w = 2}));
}

TEST(QuantizedImages, AMeanIsRoundedToACodeOfTheGridItReads) {
  Model model = quantized_alone(AveragePool2D({.size = {1, 2}}), {1, 2, 1});
  // Steps of 2/255, zero at code 0 or -1: the mean of the codes 0 and 1 above zero is a tie.
  const float step = 2.0F / 255.0F;
  Tensor x = Tensor::from({1, 1, 2, 1}, {10 * step, 13 * step}).set_requires_grad(true);
  Tensor y = model.forward_all({&x, 1}, training()).front();
  // A copy: writing to y, as span() allows, drops its grid.
  const auto grid = y.quantization();
  ASSERT_NE(grid, nullptr);
  const float code = y.span()[0] / grid->scale();
  EXPECT_NEAR(code, std::round(code), 1e-4F);
  EXPECT_NEAR(std::fabs(code - 11.5F), 0.5F, 0.01F);
  y.backward(Tensor::ones({1, 1, 1, 1}));
  expect_tensor(x.grad(), {1, 1, 2, 1}, {0.5F, 0.5F});
}

/// In float32 41 (1 / 41) is below 1: the corner of pixel 41 lies in pixel 0, its centre does not.
TEST(QuantizedImages, PixelsAreRepeatedWhereFloatsWouldMissOne) {
  for (const Index factor : {Index{2}, Index{41}}) {
    const IntegerModel model = lower(quantized_alone(UpSampling2D({1, factor}), {2, 3, 1}));
    EXPECT_EQ(model.operators[0].as<ResizeAttributes>(),
              (ResizeAttributes{.half_pixel_centers = factor == 41}));
    Interpreter interpreter(model);
    const std::vector<std::int8_t> x = {-100, -3, 9, 40, 80, 127};
    std::ranges::copy(x, interpreter.input<std::int8_t>().begin());
    interpreter.invoke();
    const auto y = std::as_const(interpreter).output<std::int8_t>();
    ASSERT_EQ(y.size(), x.size() * static_cast<std::size_t>(factor));
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], x[i / static_cast<std::size_t>(factor)]) << i;
    }
  }
}

TEST(QuantizedImages, LeftInFloatTheyComputeInFloat) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Sequential source("m", Input({6, 5, 3}), Flatten(), Dense(90), Reshape({6, 5, 3}),
                      in_float(ZeroPadding2D({.top = 1})), in_float(UpSampling2D({1, 2})),
                      in_float(AveragePool2D({.size = {2, 3}, .stride = {1, 1}})),
                      in_float(MaxPool2D()), in_float(GlobalAveragePool2D()));
    source.build(seed);
    Model model = quantize_model(source);
    calibrate(model, random_tensor({20, 6, 5, 3}, seed));
    expect_same_as_shipped(model, random_tensor({9, 6, 5, 3}, 1));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace octet::test::image_equality_test
