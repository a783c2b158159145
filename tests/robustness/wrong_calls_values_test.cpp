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
  expect_refused({
      {"name of a Rounding", [] { static_cast<void>(to_string(outside<Rounding>())); }, "Rounding"},
      {"Interpreter", [] { Interpreter(integers(), {.rounding = outside<Rounding>()}); },
       "Rounding"},
      {"C source",
       [] { static_cast<void>(to_c_source(integers(), "m", {.rounding = outside<Rounding>()})); },
       "Rounding"},
      {"quantize_model: rounding", [] { quantize_with({.rounding = outside<Rounding>()}); },
       "Rounding"},
      {"quantize_model: simulation", [] { quantize_with({.simulation = outside<Simulation>()}); },
       "Simulation"},
      {"quantize_model: range_start", [] { quantize_with({.range_start = outside<RangeStart>()}); },
       "RangeStart"},
      {"quantize_model: batch_norm",
       [] { quantize_with({.batch_norm = outside<BatchNormMode>()}); }, "BatchNormMode"},
      {"quantize_model: weight_scales", [] { quantize_with({.weight_scales = outside<Scales>()}); },
       "Scales"},
      {"quantize_model: activation_scales",
       [] { quantize_with({.activation_scales = outside<Scales>()}); }, "Scales"},
      {"quantize_model: weight_calibration",
       [] { quantize_with({.weight_calibration = outside<Calibration>()}); }, "Calibration"},
      {"quantize_model: activation_calibration",
       [] { quantize_with({.activation_calibration = outside<Calibration>()}); }, "Calibration"},
      {"FoldedBatchNorm",
       [] {
         FoldedBatchNorm(std::make_unique<Dense>(3), std::make_unique<BatchNorm>(),
                         outside<BatchNormMode>());
       },
       "BatchNormMode"},
      {"lower: input", [] { static_cast<void>(lower(calibrated(), {.input = outside<IoType>()})); },
       "IoType"},
      {"lower: output",
       [] { static_cast<void>(lower(calibrated(), {.output = outside<IoType>()})); }, "IoType"},
      {"ONNX style",
       [] { static_cast<void>(to_onnx(integers(), {.style = outside<OnnxStyle>()})); },
       "OnnxStyle"},
      {"ONNX weights",
       [] { static_cast<void>(to_onnx(integers(), {.weights = outside<OnnxWeights>()})); },
       "OnnxWeights"},
      {"C weights",
       [] { static_cast<void>(to_c_source(integers(), "m", {.weights = outside<CWeights>()})); },
       "CWeights"},
      {"Trainer: gradients", [] { train_with({.gradients = outside<GradientFormat>()}); },
       "GradientFormat"},
      {"Dense", [] { Dense(2, outside<Activation>()); }, "activation"},
      {"Activation of its own", [] { ActivationLayer(outside<Activation>()); }, "activation"},
      {"Conv2D: padding",
       [] {
         build_on({4, 4, 1}, Conv2D(2, 3, {}, {.padding = outside<Padding>()}));
       },
       "Padding"},
      {"TransposedConv2D: padding",
       [] {
         build_on({4, 4, 1}, TransposedConv2D(2, 3, {}, {.padding = outside<Padding>()}));
       },
       "Padding"},
      {"MaxPool2D: padding",
       [] {
         build_on({4, 4, 1}, MaxPool2D({.padding = outside<Padding>()}));
       },
       "Padding"},
      {"Dense: initializer",
       [] {
         build_on({4}, Dense(2, Activation::none,
                             DenseOptions{.kernel_initializer = outside<Initializer>()}));
       },
       "enumeration"},
      {"conv2d(): clamp",
       [&] {
         static_cast<void>(
             conv2d(image, Tensor::ones({1, 1, 1, 1}), Tensor(), outside<FusedActivation>(), {}));
       },
       "FusedActivation"},
      {"name of a FusedActivation",
       [] { static_cast<void>(to_string(outside<FusedActivation>())); }, "FusedActivation"},
      {"quantize(): mode",
       [] {
         std::vector<std::int8_t> codes(1);
         quantize(std::vector{0.5F}, QuantParams::per_tensor(1.0F, 0), std::span(codes),
                  outside<RoundMode>());
       },
       "RoundMode"},
      {"contract of a Target", [] { static_cast<void>(contract_of(outside<Target>())); }, "target"},
      {"log level", [] { set_log_level(outside<LogLevel>()); }, "LogLevel"},
      {"load_csv: targets",
       [] { static_cast<void>(load_csv("none.csv", {.targets = outside<CsvTargets>()})); },
       "CsvTargets"},
      {"summary", [] { static_cast<void>(small_mlp().summary(outside<Detail>())); }, "Detail"},
      {"ProgressBar", [] { ProgressBar(stdout, outside<ProgressBar::Style>()); }, "Style"},
      {"type of a tensor",
       [] {
         IntegerModel model = integers();
         model.tensors[0].dtype = outside<DType>();
         Interpreter{std::move(model)};
       },
       "type"},
      {"operator",
       [] {
         IntegerModel model = integers();
         model.operators[0].code = static_cast<OpCode>(-7);
         Interpreter{std::move(model)};
       },
       "operator"},
  });
}

TEST(WrongCalls, NumbersThatNothingCanHold) {
  expect_refused({
      {"depth multiplier",
       [] {
         build_on({4, 4, 3}, DepthwiseConv2D(3, {}, {.depth_multiplier = kHuge}));
       },
       "DepthwiseConv2D \"depthwise_conv2d\""},
      {"units", [] { build_on({4}, Dense(kHuge)); }, "out of memory"},
      {"filters",
       [] {
         build_on({4, 4, 1}, Conv2D(kHuge, 3));
       },
       "Conv2D \"conv2d\""},
      {"kernel",
       [] {
         build_on({4, 4, 1}, Conv2D(2, kHuge, {}, {.padding = Padding::same}));
       },
       "Conv2D \"conv2d\""},
      {"strides",
       [] {
         build_on({4, 4, 1},
                  Conv2D(2, 3, {}, {.strides = {kHuge, kHuge}, .padding = Padding::same}));
       },
       "conv2d"},
      {"dilation",
       [] {
         build_on({4, 4, 1},
                  Conv2D(2, 3, {}, {.dilation = {kHuge, kHuge}, .padding = Padding::same}));
       },
       "conv2d"},
      {"filters over time",
       [] {
         build_on({4, 1}, Conv1D(kHuge, 3));
       },
       "out of memory"},
      {"kernel over time",
       [] {
         build_on({4, 1}, Conv1D(2, kHuge, {}, {.padding = Padding::same}));
       },
       "out of memory"},
      {"transposed filters",
       [] {
         build_on({4, 4, 1}, TransposedConv2D(kHuge, 3));
       },
       "TransposedConv2D \"transposed_conv2d\""},
      {"transposed kernel",
       [] {
         build_on({4, 4, 1}, TransposedConv2D(2, kHuge));
       },
       "TransposedConv2D \"transposed_conv2d\""},
      {"transposed strides",
       [] {
         build_on({4, 4, 1}, TransposedConv2D(2, 3, {}, {.strides = {kHuge, kHuge}}));
       },
       "transposed_conv2d"},
      {"separable",
       [] {
         Sequential model(
             "m", Input({4, 4, 3}),
             SeparableConv2D(2, 3, {}, {.depth_multiplier = kHuge, .name = "separable"}));
         model.build(0);
       },
       "DepthwiseConv2D \"separable_depthwise\""},
      {"pool",
       [] {
         build_on({4, 4, 1}, MaxPool2D({.size = {kHuge, kHuge}, .padding = Padding::same}));
       },
       "max_pool2d"},
      {"upsampling",
       [] {
         build_on({4, 4, 1}, UpSampling2D({kHuge, kHuge}));
       },
       "up_sampling2d"},
      {"padding",
       [] {
         build_on({4, 4, 1}, ZeroPadding2D({.top = kHuge, .left = kHuge}));
       },
       "zero_padding2d"},
      {"reshape",
       [] {
         build_on({4}, Reshape({kHuge, kHuge, -1}));
       },
       "63 bits"},
      {"examples",
       [] {
         build_on({kHuge, kHuge}, Flatten());
       },
       ""},
      {"threads", [] { set_num_threads(1000000000); }, "set_num_threads: expected 1 to"},
      {"batch of an interpreter", [] { Interpreter(integers(), {.batch = kHuge}); }, ""},
      {"batch of a loader", [] { train_with({.batch_size = 0}); }, "batch size"},
      {"one_hot",
       [] {
         one_hot(std::vector<std::int32_t>{0, 1}, kHuge);
       },
       ""},
  });
}

}  // namespace
}  // namespace octet::test::wrong_calls_values_test
