// How QuantizeOptions choose the way ranges are found, and how models keep it.

#include <octet/core/file.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/layers/layer_testing.h>

#include <filesystem>

namespace octet::test::calibration_test {
namespace {

std::string kernel_type(const QuantizeOptions& options) {
  return std::string(default_8bit(options)->kernel_quantizer(Dense(3))->type());
}

std::string activation_type(const QuantizeOptions& options) {
  return std::string(default_8bit(options)->activation_quantizer(Dense(3))->type());
}

std::string input_type(const QuantizeOptions& options) {
  Sequential model("m", Input({4}), Dense(3));
  model.build(1);
  return std::string(quantize_model(model, options).layers()[1]->result_quantizer()->type());
}

TEST(Calibration, OfInputsIsWhatTheOptionsAskFor) {
  EXPECT_EQ(QuantizeLayer({.input_calibration = Calibration::mse}).quantizer().type(),
            "HistogramMse");
  // As TFMOT has it, unless results leave their outliers out or the option says otherwise.
  EXPECT_EQ(input_type({}), "AllValues");
  EXPECT_EQ(input_type({.activation_calibration = Calibration::min_max}), "AllValues");
  for (const auto& [calibration, type] : {std::pair(Calibration::percentile, "HistogramPercentile"),
                                          std::pair(Calibration::mse, "HistogramMse"),
                                          std::pair(Calibration::entropy, "HistogramEntropy")}) {
    EXPECT_EQ(input_type({.activation_calibration = calibration}), type);
    EXPECT_EQ(input_type({.input_calibration = calibration}), type);
    EXPECT_EQ(input_type({.activation_calibration = calibration,
                          .input_calibration = Calibration::min_max}),
              "AllValues");
  }
  EXPECT_EQ(input_type({.input_calibration = Calibration::moving_average}), "MovingAverage");
}

/// Where an input of numbers within 2.5 but for one of 100 is put on a grid.
TEST(Calibration, OfInputsLeavesOutliersOut) {
  Tensor x = random_tensor({1000, 4}, 5, -2.5F, 2.5F);
  x.mutable_data()[7] = 100.0F;
  Sequential model("m", Input({4}), Dense(3));
  model.build(1);
  const auto highest = [&](const QuantizeOptions& options) {
    const Sequential quantized = quantize_post_training(model, x, options);
    return quantized.layers()[1]->result_quantizer()->max().item();
  };
  EXPECT_EQ(highest({}), 100.0F);
  EXPECT_LT(highest({.input_calibration = Calibration::percentile, .percentile = 99.9}), 2.6F);
  EXPECT_LT(highest({.activation_calibration = Calibration::percentile, .percentile = 99.9}), 2.6F);
}

TEST(Calibration, OfWeightsIsMseForFourBitsAndFewer) {
  for (const int bits : {2, 3, 4}) EXPECT_EQ(kernel_type({.weight_bits = bits}), "Mse");
  for (const int bits : {5, 6, 7, 8}) EXPECT_EQ(kernel_type({.weight_bits = bits}), "LastValue");
  Sequential source("m", Input({4}), quantized(Dense(3, Activation::relu, "a"), {.weight_bits = 4}),
                    Dense(2, Activation::none, "b"));
  source.build(1);
  const Sequential mixed = quantize_model(source);
  EXPECT_EQ(mixed.layer("quant_a").kernel_quantizer()->type(), "Mse");
  EXPECT_EQ(mixed.layer("quant_b").kernel_quantizer()->type(), "LastValue");
}

TEST(Calibration, IsWhatTheOptionsAskFor) {
  EXPECT_EQ(kernel_type({.weight_bits = 4, .weight_calibration = Calibration::min_max}),
            "LastValue");
  EXPECT_EQ(kernel_type({.weight_calibration = Calibration::mse}), "Mse");
  EXPECT_EQ(kernel_type({.weight_calibration = Calibration::percentile}), "Percentile");
  EXPECT_EQ(activation_type({}), "MovingAverage");
  EXPECT_EQ(activation_type({.weight_bits = 4}), "MovingAverage");
  EXPECT_EQ(activation_type({.activation_calibration = Calibration::min_max}), "AllValues");
  EXPECT_EQ(activation_type({.activation_calibration = Calibration::percentile}),
            "HistogramPercentile");
  EXPECT_EQ(activation_type({.activation_calibration = Calibration::mse}), "HistogramMse");
  EXPECT_EQ(activation_type({.activation_calibration = Calibration::entropy}), "HistogramEntropy");
}

TEST(Calibration, RefusesByNameWhatTensorsCannotHave) {
  for (const Calibration calibration : {Calibration::moving_average, Calibration::entropy}) {
    expect_throws<InvalidArgument>(
        [&] { default_8bit({.weight_calibration = calibration}); },
        {"default_8bit", "weights", std::string(to_string(calibration))});
  }
  for (const double percentile : {0.0, -1.0, 100.1}) {
    expect_throws<InvalidArgument>([&] { default_8bit({.percentile = percentile}); },
                                   {"default_8bit", "percentile"});
  }
  expect_throws<FormatError>([] { parse_calibration("magic"); }, {"magic", "entropy"});
}

TEST(Calibration, IsAnEntryOfFilesOnlyWhereItIsNotTheUsual) {
  EXPECT_EQ(describe_options({}).to_json().find("calibration"), std::string::npos);
  EXPECT_EQ(describe_options({.weight_bits = 4}).to_json().find("percentile"), std::string::npos);
  for (const Calibration weights :
       {Calibration::min_max, Calibration::percentile, Calibration::mse}) {
    for (const Calibration activations :
         {Calibration::min_max, Calibration::moving_average, Calibration::percentile,
          Calibration::mse, Calibration::entropy}) {
      const QuantizeOptions options{
          .weight_calibration = weights, .activation_calibration = activations, .percentile = 99.5};
      const QuantizeOptions read = options_from(describe_options(options));
      EXPECT_EQ(read.weight_calibration, weights);
      EXPECT_EQ(read.activation_calibration, activations);
      EXPECT_EQ(read.percentile, 99.5);
    }
  }
  for (const Calibration inputs : {Calibration::min_max, Calibration::mse}) {
    EXPECT_EQ(options_from(describe_options({.input_calibration = inputs})).input_calibration,
              inputs);
  }
  const QuantizeOptions usual = options_from(describe_options({}));
  EXPECT_FALSE(usual.input_calibration.has_value());
  EXPECT_FALSE(usual.weight_calibration.has_value());
  EXPECT_EQ(usual.activation_calibration, Calibration::moving_average);
  Description broken = describe_options({});
  broken.set("weight_calibration", "magic");
  EXPECT_THROW(options_from(broken), FormatError);
}

Sequential source_model() {
  Sequential model("m", Input({6}), Dense(8, Activation::relu), Dense(3));
  model.build(3);
  return model;
}

class Calibrations : public ::testing::TestWithParam<Calibration> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("octet_calibration_" + std::string(to_string(GetParam())));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  QuantizeOptions options() const {
    const bool of_weights = GetParam() == Calibration::mse || GetParam() == Calibration::percentile;
    return {.weight_bits = 4,
            .weight_calibration = of_weights ? GetParam() : Calibration::min_max,
            .activation_calibration = GetParam(),
            .percentile = 98.0};
  }
  std::filesystem::path folder_;
};

TEST_P(Calibrations, GoesOnInALoadedModelToTheSameBytes) {
  Sequential whole = quantize_model(source_model(), options());
  calibrate(whole, random_tensor({50, 6}, 1));
  calibrate(whole, random_tensor({50, 6}, 2, -5.0F, 5.0F));
  whole.save(folder_ / "part");
  Sequential resumed = quantize_model(source_model(), options());
  resumed.load(folder_ / "part");
  for (Sequential* model : {&whole, &resumed}) {
    calibrate(*model, random_tensor({50, 6}, 3, -9.0F, 9.0F));
    const Tensor x = random_tensor({50, 6}, 4);
    static_cast<void>(model->forward(x, training(1)));
  }
  whole.save(folder_ / "whole");
  resumed.save(folder_ / "resumed");
  EXPECT_EQ(read_file(folder_ / "whole"), read_file(folder_ / "resumed"));
}

TEST_P(Calibrations, ChangesNothingAtInference) {
  Sequential model = quantize_model(source_model(), options());
  calibrate(model, random_tensor({50, 6}, 1));
  model.save(folder_ / "before");
  static_cast<void>(model.forward(random_tensor({50, 6}, 2, -9.0F, 9.0F)));
  model.save(folder_ / "after");
  EXPECT_EQ(read_file(folder_ / "before"), read_file(folder_ / "after"));
}

INSTANTIATE_TEST_SUITE_P(Each, Calibrations,
                         ::testing::Values(Calibration::min_max, Calibration::moving_average,
                                           Calibration::percentile, Calibration::mse,
                                           Calibration::entropy),
                         [](const auto& which) { return std::string(to_string(which.param)); });

TEST(Calibration, AloneMovesTheRangeOfAHistogram) {
  Sequential model = quantize_model(source_model(), {.activation_calibration = Calibration::mse});
  calibrate(model, random_tensor({50, 6}, 1));
  const Quantizer& result = *model.layer("quant_dense").result_quantizer();
  const float max = result.max().item();
  const Tensor large = random_tensor({50, 6}, 2, -9.0F, 9.0F);
  static_cast<void>(model.forward(large, training(1)));
  EXPECT_EQ(result.max().item(), max);
  calibrate(model, large);
  EXPECT_GT(result.max().item(), max);
}

TEST(Calibration, RefreshedKernelRangesKeepTheClip) {
  Sequential model = quantize_model(source_model(), {.weight_bits = 3});
  calibrate(model, random_tensor({50, 6}, 1));
  const Quantizer& kernel = *model.layer("quant_dense").kernel_quantizer();
  const float max = kernel.max().item();
  for (float& w : model.layer("quant_dense").parameters()[0].tensor.mutable_span()) w *= 2.0F;
  refresh_kernel_ranges(model);
  EXPECT_EQ(kernel.max().item(), 2.0F * max);
}

}  // namespace
}  // namespace octet::test::calibration_test
