// Mistakes of a caller that no type rules out: each is refused by an exception that says what was
// wrong, and nothing crashes. The sanitizers run it too.

#include <gtest/gtest.h>
#include <octet/core/error.h>
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
#include <octet/layers/lower.h>
#include <octet/layers/quantize/learned_quantizers.h>
#include <octet/layers/quantize/post_training.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>
#include <octet/train/data/csv.h>
#include <octet/train/progress_bar.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace octet::test::wrong_calls_test {
namespace {

constexpr Index kHuge = Index{1} << 60;

/// Of any enumeration.
template <class Enum>
constexpr Enum outside() {
  return static_cast<Enum>(99);
}

struct WrongCall {
  std::string name;
  std::function<void()> call;
  /// A part of the message.
  std::string says;
};

void expect_refused(const std::vector<WrongCall>& calls) {
  for (const auto& [name, call, says] : calls) {
    try {
      call();
      ADD_FAILURE() << name << ": was not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos)
          << name << ": " << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": no exception of Octet's: " << error.what();
    }
  }
}

Model calibrated(const QuantizeOptions& options = {}) {
  Model model = quantize_model(small_mlp(), options);
  calibrate(model, clouds(20).features(0, 20));
  return model;
}

const IntegerModel& integers() {
  static const IntegerModel model = lower(calibrated());
  return model;
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

/// A layer, a quantizer and an observer whose clone() forgets to return the copy.
class Unclonable : public Dense {
 public:
  Unclonable() : Dense(3, Activation::none, DenseOptions{.name = "own"}) {}
  std::unique_ptr<Layer> clone() const override { return nullptr; }
};

class UnclonableObserver : public Observer {
 public:
  std::unique_ptr<Observer> clone() const override { return nullptr; }
  void observe(const Tensor& x) override { set_updates(static_cast<float>(x.dim(0))); }
};

class UnclonableQuantizer : public LastValueQuantizer {
 public:
  UnclonableQuantizer() : LastValueQuantizer(QuantSpec{}) {}
  std::unique_ptr<Quantizer> clone() const override { return nullptr; }
};

class UnclonableOptimizer : public Sgd {
 public:
  std::unique_ptr<Optimizer> clone() const override { return nullptr; }
};

Sequential with_unclonable() {
  Sequential model("m", Input({4}), Unclonable());
  model.build(0);
  return model;
}

/// A quantizer of an observer of its own.
class Observed : public Quantizer {
 public:
  explicit Observed(std::unique_ptr<Observer> observer)
      : Quantizer(QuantSpec{}, std::move(observer)) {}
  std::string_view type() const override { return "Observed"; }
  std::unique_ptr<Quantizer> clone() const override { return std::make_unique<Observed>(*this); }
};

class OwnConfig : public Default8BitQuantizeConfig {
 public:
  explicit OwnConfig(bool of_observer) : of_observer_(of_observer) {}
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    if (of_observer_) return std::make_unique<Observed>(std::make_unique<UnclonableObserver>());
    return std::make_unique<UnclonableQuantizer>();
  }

 private:
  bool of_observer_;
};

// NOLINTBEGIN(performance-unnecessary-copy-initialization): copies are what is tested
void copy_quantized(bool of_observer) {
  Sequential model("m", Input({4}), Dense(3, Activation::none, DenseOptions{.name = "own"}));
  quantize_annotate_layer(model.layer("own"), std::make_shared<OwnConfig>(of_observer));
  model.build(0);
  const Model quantized = quantize_apply(model);
  const Model copy(quantized);
}

TEST(WrongCalls, ClonesThatAreNull) {
  const Sequential model = with_unclonable();
  expect_refused({
      {"copy of a model", [&] { Model copy(model); }, "\"own\""},
      {"quantize_model", [&] { quantize_model(model); }, "\"own\""},
      {"lower_float", [&] { static_cast<void>(lower_float(model)); }, "\"own\""},
      {"FoldedBatchNorm",
       [] {
         const FoldedBatchNorm folded(std::make_unique<Unclonable>(),
                                      std::make_unique<BatchNorm>());
         const FoldedBatchNorm copy(folded);
       },
       "\"own\""},
      {"QuantizeWrapper",
       [] {
         const QuantizeWrapper wrapper(std::make_unique<Unclonable>(), default_8bit());
         const QuantizeWrapper copy(wrapper);
       },
       "\"quant_own\""},
      {"Quantizer", [] { copy_quantized(false); }, "\"LastValue\""},
      {"Observer", [] { copy_quantized(true); }, "quant_own"},
      {"Optimizer",
       [] {
         Sequential small = small_mlp();
         Trainer trainer(small, UnclonableOptimizer());
       },
       "an optimizer, found none"},
  });
}

// NOLINTEND(performance-unnecessary-copy-initialization)

TEST(WrongCalls, NothingWhereSomethingIsExpected) {
  Sequential model = small_mlp();
  expect_refused({
      {"layer", [] { Sequential("m").add(std::unique_ptr<Layer>()); }, "found null"},
      {"wrapped layer", [] { QuantizeWrapper(nullptr, default_8bit()); }, "found null"},
      {"config of a wrapper", [] { QuantizeWrapper(std::make_unique<Dense>(2), nullptr); },
       "found null"},
      {"observer", [] { Observed quantizer(nullptr); }, "found null"},
      {"start of a learned range", [] { LsqQuantizer quantizer(nullptr); }, "null"},
      {"reader of a data set", [] { static_cast<void>(Dataset::from_reader("d", nullptr)); },
       "found null"},
      {"optimizer", [&] { Trainer(model, std::unique_ptr<Optimizer>()); }, "found none"},
      {"loss", [&] { Trainer(model, Adam(), {.loss = {}}); }, "found none"},
      {"callback", [&] { Trainer(model, Adam()).add_callback(std::shared_ptr<Callback>()); },
       "found null"},
      {"score of the best", [] { BestCheckpoint("best", {}); }, "score"},
      {"stream", [] { ProgressBar(nullptr); }, "found null"},
      {"model of an interpreter", [] { Interpreter(std::shared_ptr<const IntegerModel>()); },
       "found a null pointer"},
      {"kernel",
       [] {
         static_cast<void>(conv2d(Tensor::ones({1, 4, 4, 1}), Tensor()));
       },
       ""},
      {"features", [&] { static_cast<void>(predict(model, Tensor())); },
       "predict: expected features"},
      {"input", [&] { static_cast<void>(model.forward(Tensor())); }, ""},
      {"samples",
       [] {
         Model quantized = quantize_model(small_mlp());
         calibrate(quantized, Tensor());
       },
       ""},
      {"loss of nothing", [] { Tensor().backward(); }, ""},
      {"log-softmax of nothing", [] { static_cast<void>(octet::softmax(Tensor())); }, ""},
  });
}

TEST(WrongCalls, WhatWasMovedFrom) {
  Sequential model = small_mlp();
  Trainer trainer(model, Adam());
  Trainer moved = std::move(trainer);
  Interpreter interpreter(integers());
  const Interpreter taken = std::move(interpreter);
  Sequential source = small_mlp();
  const Sequential target = std::move(source);
  const ScratchDirectory scratch;
  // NOLINTBEGIN(bugprone-use-after-move): what is tested
  expect_refused({
      {"fit", [&] { trainer.fit(clouds(10), 1); }, "moved from"},
      {"save_checkpoint", [&] { trainer.save_checkpoint(scratch.path() / "c"); }, "moved from"},
      {"load_checkpoint",
       [&] {
         moved.save_checkpoint(scratch.path() / "c");
         trainer.load_checkpoint(scratch.path() / "c");
       },
       "moved from"},
      {"run", [&] { interpreter.run(std::vector<float>(6)); }, "moved"},
      {"forward",
       [&] {
         static_cast<void>(source.forward(Tensor::ones({1, 6})));
       },
       "no tensors"},
      {"quantize_model", [&] { quantize_model(source); }, "without tensors"},
      {"build", [&] { source.build(0); }, "found no layer"},
  });
  // NOLINTEND(bugprone-use-after-move)
}

TEST(WrongCalls, AModelMovedToItselfIsAsItWas) {
  Sequential model = small_mlp();
  const Tensor x = clouds(4).features(0, 4);
  const Tensor expected = model.forward(x);
  Sequential& same = model;
  model = std::move(same);
  ASSERT_EQ(model.layers().size(), 3U);
  const Tensor found = model.forward(x);
  EXPECT_TRUE(std::ranges::equal(std::as_const(found).span(), std::as_const(expected).span()));
}

}  // namespace
}  // namespace octet::test::wrong_calls_test
