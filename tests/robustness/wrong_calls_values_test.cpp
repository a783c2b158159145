// Enumerators and numbers that no type rules out: each is refused by an exception that says what
// was wrong, and nothing crashes. The sanitizers run it too.

#include <octet/core/log.h>
#include <octet/core/ops/ops.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/quant/rounding.h>
#include <octet/core/quant/target.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/layers/layers.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/robustness/wrong_calls.h>
#include <octet/train/data/csv.h>
#include <octet/train/run/progress_bar.h>

#include <cstdio>
#include <memory>
#include <span>
#include <utility>

namespace octet::test::wrong_calls_values_test {
namespace {

constexpr Index kHuge = Index{1} << 60;

/// A value outside of any enumeration.
template <class Enum>
constexpr Enum outside() {
  return static_cast<Enum>(99);
}

void quantize_with(const QuantizeOptions& options) {
  static_cast<void>(lower(calibrated(options)));
}

void train_with(TrainerOptions options) {
  Sequential model = small_mlp();
  Trainer(model, Adam(), std::move(options)).fit(clouds(20), 1);
}

template <class L>
void build_on(const Shape& example, L layer) {
  Sequential model("m", Input(example), std::move(layer));
  model.build(0);
}

TEST(WrongCalls, EnumeratorsOutsideTheirEnumeration) {
  Tensor image = Tensor::ones({1, 4, 4, 1});
  expect_refused("name of a Rounding", "Rounding",
                 [] { static_cast<void>(to_string(outside<Rounding>())); });
  expect_refused("Interpreter", "Rounding",
                 [] { Interpreter(integers(), {.rounding = outside<Rounding>()}); });
  expect_refused("C source", "Rounding", [] {
    static_cast<void>(to_c_source(integers(), "m", {.rounding = outside<Rounding>()}));
  });
  expect_refused("quantize_model: rounding", "Rounding",
                 [] { quantize_with({.rounding = outside<Rounding>()}); });
  expect_refused("quantize_model: simulation", "Simulation",
                 [] { quantize_with({.simulation = outside<Simulation>()}); });
  expect_refused("quantize_model: range_start", "RangeStart",
                 [] { quantize_with({.range_start = outside<RangeStart>()}); });
  expect_refused("quantize_model: batch_norm", "BatchNormMode",
                 [] { quantize_with({.batch_norm = outside<BatchNormMode>()}); });
  expect_refused("quantize_model: weight_scales", "Scales",
                 [] { quantize_with({.weight_scales = outside<Scales>()}); });
  expect_refused("quantize_model: activation_scales", "Scales",
                 [] { quantize_with({.activation_scales = outside<Scales>()}); });
  expect_refused("quantize_model: weight_calibration", "Calibration",
                 [] { quantize_with({.weight_calibration = outside<Calibration>()}); });
  expect_refused("quantize_model: activation_calibration", "Calibration",
                 [] { quantize_with({.activation_calibration = outside<Calibration>()}); });
  expect_refused("FoldedBatchNorm", "BatchNormMode", [] {
    FoldedBatchNorm(std::make_unique<Dense>(3), std::make_unique<BatchNorm>(),
                    outside<BatchNormMode>());
  });
  expect_refused("lower: input", "IoType",
                 [] { static_cast<void>(lower(calibrated(), {.input = outside<IoType>()})); });
  expect_refused("lower: output", "IoType",
                 [] { static_cast<void>(lower(calibrated(), {.output = outside<IoType>()})); });
  expect_refused("ONNX style", "OnnxStyle",
                 [] { static_cast<void>(to_onnx(integers(), {.style = outside<OnnxStyle>()})); });
  expect_refused("ONNX weights", "OnnxWeights", [] {
    static_cast<void>(to_onnx(integers(), {.weights = outside<OnnxWeights>()}));
  });
  expect_refused("C weights", "CWeights", [] {
    static_cast<void>(to_c_source(integers(), "m", {.weights = outside<CWeights>()}));
  });
  expect_refused("C code", "CCode", [] {
    static_cast<void>(to_c_source(integers(), "m", {.code = outside<CCode>()}));
  });
  expect_refused("Trainer: gradients", "GradientFormat",
                 [] { train_with({.gradients = outside<GradientFormat>()}); });
  expect_refused("Dense", "activation", [] { Dense(2, outside<Activation>()); });
  expect_refused("Activation of its own", "activation",
                 [] { ActivationLayer(outside<Activation>()); });
  expect_refused("Conv2D: padding", "Padding", [] {
    build_on({4, 4, 1}, Conv2D(2, 3, {}, {.padding = outside<Padding>()}));
  });
  expect_refused("TransposedConv2D: padding", "Padding", [] {
    build_on({4, 4, 1}, TransposedConv2D(2, 3, {}, {.padding = outside<Padding>()}));
  });
  expect_refused("MaxPool2D: padding", "Padding", [] {
    build_on({4, 4, 1}, MaxPool2D({.padding = outside<Padding>()}));
  });
  expect_refused("Dense: initializer", "enumeration", [] {
    build_on({4}, Dense(2, Activation::none,
                        DenseOptions{.kernel_initializer = outside<Initializer>()}));
  });
  expect_refused("conv2d(): clamp", "FusedActivation", [&] {
    static_cast<void>(
        conv2d(image, Tensor::ones({1, 1, 1, 1}), Tensor(), outside<FusedActivation>(), {}));
  });
  expect_refused("name of a FusedActivation", "FusedActivation",
                 [] { static_cast<void>(to_string(outside<FusedActivation>())); });
  expect_refused("quantize(): mode", "RoundMode", [] {
    std::vector<std::int8_t> codes(1);
    quantize(std::vector{0.5F}, QuantParams::per_tensor(1.0F, 0), std::span(codes),
             outside<RoundMode>());
  });
  expect_refused("contract of a Target", "target",
                 [] { static_cast<void>(contract_of(outside<Target>())); });
  expect_refused("log level", "LogLevel", [] { set_log_level(outside<LogLevel>()); });
  expect_refused("load_csv: targets", "CsvTargets", [] {
    static_cast<void>(load_csv("none.csv", {.targets = outside<CsvTargets>()}));
  });
  expect_refused("summary", "Detail",
                 [] { static_cast<void>(small_mlp().summary(outside<Detail>())); });
  expect_refused("ProgressBar", "Style",
                 [] { ProgressBar(stdout, outside<ProgressBar::Style>()); });
  expect_refused("ProgressBar", "later epochs",
                 [] { ProgressBar(stdout, ProgressBar::Style::lines, -1); });
  expect_refused("type of a tensor", "type", [] {
    IntegerModel model = integers();
    model.tensors[0].dtype = outside<DType>();
    Interpreter{std::move(model)};
  });
  expect_refused("operator", "operator", [] {
    IntegerModel model = integers();
    model.operators[0].code = static_cast<OpCode>(-7);
    Interpreter{std::move(model)};
  });
}

TEST(WrongCalls, NumbersThatNothingCanHold) {
  expect_refused("depth multiplier", "DepthwiseConv2D \"depthwise_conv2d\"", [] {
    build_on({4, 4, 3}, DepthwiseConv2D(3, {}, {.depth_multiplier = kHuge}));
  });
  expect_refused("units", "out of memory", [] { build_on({4}, Dense(kHuge)); });
  expect_refused("filters", "Conv2D \"conv2d\"", [] { build_on({4, 4, 1}, Conv2D(kHuge, 3)); });
  expect_refused("kernel", "Conv2D \"conv2d\"", [] {
    build_on({4, 4, 1}, Conv2D(2, kHuge, {}, {.padding = Padding::same}));
  });
  expect_refused("strides", "conv2d", [] {
    build_on({4, 4, 1}, Conv2D(2, 3, {}, {.strides = {kHuge, kHuge}, .padding = Padding::same}));
  });
  expect_refused("dilation", "conv2d", [] {
    build_on({4, 4, 1}, Conv2D(2, 3, {}, {.dilation = {kHuge, kHuge}, .padding = Padding::same}));
  });
  expect_refused("filters over time", "out of memory", [] { build_on({4, 1}, Conv1D(kHuge, 3)); });
  expect_refused("kernel over time", "out of memory", [] {
    build_on({4, 1}, Conv1D(2, kHuge, {}, {.padding = Padding::same}));
  });
  expect_refused("transposed filters", "TransposedConv2D \"transposed_conv2d\"", [] {
    build_on({4, 4, 1}, TransposedConv2D(kHuge, 3));
  });
  expect_refused("transposed kernel", "TransposedConv2D \"transposed_conv2d\"", [] {
    build_on({4, 4, 1}, TransposedConv2D(2, kHuge));
  });
  expect_refused("transposed strides", "transposed_conv2d", [] {
    build_on({4, 4, 1}, TransposedConv2D(2, 3, {}, {.strides = {kHuge, kHuge}}));
  });
  expect_refused("separable", "DepthwiseConv2D \"separable_depthwise\"", [] {
    Sequential model("m", Input({4, 4, 3}),
                     SeparableConv2D(2, 3, {}, {.depth_multiplier = kHuge, .name = "separable"}));
    model.build(0);
  });
  expect_refused("pool", "max_pool2d", [] {
    build_on({4, 4, 1}, MaxPool2D({.size = {kHuge, kHuge}, .padding = Padding::same}));
  });
  expect_refused("upsampling", "up_sampling2d", [] {
    build_on({4, 4, 1}, UpSampling2D({kHuge, kHuge}));
  });
  expect_refused("padding", "zero_padding2d", [] {
    build_on({4, 4, 1}, ZeroPadding2D({.top = kHuge, .left = kHuge}));
  });
  expect_refused("reshape", "63 bits", [] { build_on({4}, Reshape({kHuge, kHuge, -1})); });
  expect_refused("examples", "", [] { build_on({kHuge, kHuge}, Flatten()); });
  expect_refused("threads", "set_num_threads: expected 1 to", [] { set_num_threads(1000000000); });
  expect_refused("batch of an interpreter", "", [] { Interpreter(integers(), {.batch = kHuge}); });
  expect_refused("batch of a loader", "batch size", [] { train_with({.batch_size = 0}); });
  expect_refused("one_hot", "", [] { one_hot(std::vector<std::int32_t>{0, 1}, kHuge); });
}

}  // namespace
}  // namespace octet::test::wrong_calls_values_test
