#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/architecture.h>
#include <octet/layers/lower.h>
#include <octet/layers/pool2d.h>

#include <octet/runtime/interpreter.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_nets.h>

#include <cmath>

// Activations of 16 bits, contract q15: training, the interpreter and the file give the same bits.

namespace octet::test::int16_activations_test {
namespace {

QuantizeOptions int16_options(int weight_bits = 8, bool per_channel = false) {
  return {.rounding = Rounding::q15,
          .weight_bits = weight_bits,
          .activation_bits = 16,
          .per_channel = per_channel};
}

/// What the file gives for x, as real values.
std::vector<float> shipped(const IntegerModel& model, const Tensor& x) {
  Interpreter interpreter(from_tflite(to_tflite(model)), {.batch = x.dim(0)});
  EXPECT_EQ(interpreter.rounding(), Rounding::q15);
  return interpreter.run(x.span());
}

/// Training computes what the file does, whatever types the ends of that have.
void expect_same(Model& model, const Tensor& x) {
  const Tensor y = model.forward(x);
  const std::vector<float> expected(y.span().begin(), y.span().end());
  for (const IoType io : {IoType::int8, IoType::float32}) {
    ASSERT_EQ(shipped(lower(model, {.input = io, .output = io}), x), expected);
  }
}

/// Every result between the layers is int16.
void expect_int16(const IntegerModel& model) {
  std::size_t count = 0;
  for (const Operator& op : model.operators) {
    const ModelTensor& y = model.tensors[static_cast<std::size_t>(op.outputs[0])];
    ASSERT_NE(y.dtype, DType::int8) << y.name;
    if (definition(op.code).multiply_adds == nullptr) continue;
    ASSERT_EQ(y.dtype, DType::int16) << y.name;
    EXPECT_EQ(y.quantization.zero_point(), 0);
    ASSERT_EQ(op.inputs.size(), 3U);
    EXPECT_EQ(model.tensors[static_cast<std::size_t>(op.inputs[2])].dtype, DType::int64);
    ++count;
  }
  EXPECT_GT(count, 0U);
}

TEST(Int16Activations, TrainingInterpreterAndFileOf100RandomNets) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Sequential model(net.model());
    try {
      model = quantize_model(model, int16_options(2 + static_cast<int>(seed % 7), seed % 2 == 0));
    } catch (const InvalidArgument& error) {
      // A clamp of its own that no layer can end in.
      ASSERT_NE(std::string(error.what()).find("found RELU"), std::string::npos) << error.what();
      continue;
    }
    calibrate(model, net.batch(9));
    train_a_little(model, net, 3);
    if (HasFatalFailure()) return;
    const IntegerModel lowered = lower(model);
    expect_int16(lowered);
    expect_same(model, net.batch(17));
    if (HasFatalFailure()) return;
    ++compared;
  }
  EXPECT_GT(compared, 50U);
}

TEST(Int16Activations, TrainingInterpreterAndFileOf60RandomConvolutions) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sequential model = quantize_model(
        seed % 2 == 0 ? random_images_net(seed) : random_sequences_net(seed), int16_options());
    calibrate(model, images_for(model, 20, seed));
    train_a_little(model, seed);
    if (HasFatalFailure()) return;
    expect_int16(lower(model));
    expect_same(model, images_for(model, 9, seed + 7));
    if (HasFatalFailure()) return;
  }
}

Sequential small_net() {
  Sequential model("net", Input({6}), Dense(20, Activation::relu), Dense(9, Activation::relu6),
                   Dense(4, Activation::softmax));
  model.build(3);
  return model;
}

TEST(Int16Activations, StepsReachTheEndsOfTheRange) {
  Tensor x = random_tensor({2, 6}, 1, -0.4F, 0.4F);
  x.mutable_span()[3] = -0.75F;
  x.mutable_span()[5] = 0.5F;
  for (const auto& [factor, steps] : {std::pair{1.0F, 32768.0F}, std::pair{-1.0F, 32767.0F}}) {
    Sequential model = quantize_model(small_net(), int16_options());
    calibrate(model, x * factor);
    const QuantParams grid = model.layers()[1]->quantizers()[0]->params();
    EXPECT_FLOAT_EQ(grid.scale(), 0.75F / steps);
    EXPECT_EQ(grid.zero_point(), 0);
    EXPECT_EQ(grid.qmin, -32768);
    EXPECT_EQ(grid.qmax, 32767);
  }
}

/// Values beyond the range of the input are clamped to the same codes as the file clamps them.
TEST(Int16Activations, ClampsInputsAsTheFile) {
  Sequential model = quantize_model(small_net(), int16_options());
  calibrate(model, random_tensor({20, 6}, 1, -1.0F, 1.0F));
  expect_same(model, random_tensor({50, 6}, 2, -3.0F, 3.0F));
}

/// Results are so fine that gradients are nearly those of the float network.
TEST(Int16Activations, GradientsAreThoseOfTheFloatFunction) {
  Sequential of_float = small_net();
  Sequential model = quantize_model(of_float, int16_options());
  const Tensor x = random_tensor({30, 6}, 4, -1.0F, 1.0F);
  calibrate(model, x);
  for (Sequential* each : {&of_float, &model}) {
    mean(square(each->forward_logits(x, training(1)))).backward();
  }
  const auto expected = of_float.parameters();
  const auto found = model.parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t p = 0; p < found.size(); ++p) {
    const auto want = expected[p].tensor.grad();
    const auto got = found[p].tensor.grad();
    double norm = 0;
    double error = 0;
    for (std::size_t i = 0; i < want.span().size(); ++i) {
      norm += std::pow(double{want.span()[i]}, 2);
      error += std::pow(double{got.span()[i]} - double{want.span()[i]}, 2);
    }
    EXPECT_GT(norm, 0) << found[p].name;
    // What is left is the rounding of the weights to 8 bits.
    EXPECT_LT(std::sqrt(error / norm), 0.03) << found[p].name;
  }
}

/// A layer that gives nothing but 0 has a range of nothing: its scale is the least that runtimes
/// take.
TEST(Int16Activations, DeadLayersAreShippedAsTheyAreTrained) {
  Sequential net("net", Input({6}), Dense(5, Activation::relu), Dense(4));
  net.build(3);
  Tensor bias = net.layers()[1]->weights()->bias;
  for (float& b : bias.mutable_span()) b = -100.0F;
  Sequential model = quantize_model(net, int16_options());
  Tensor x = random_tensor({20, 6}, 1, -1.0F, 1.0F);
  calibrate(model, x);
  train_a_little(model, 2, [&] { return x; });
  const IntegerModel lowered = lower(model);
  const float scale = lowered.tensors[static_cast<std::size_t>(lowered.operators[0].outputs[0])]
                          .quantization.scale();
  EXPECT_GT(scale, model.layers()[2]->quantizers()[1]->params().scale());
  expect_same(model, x);
}

TEST(Int16Activations, ThreadsChangeNothing) {
  const test::KeepThreads keep;
  Sequential net("net", Input({12, 13, 3}), Conv2D(16, 3, Activation::relu), DepthwiseConv2D(3),
                 Flatten(), Dense(70, Activation::relu), Dense(9));
  net.build(3);
  std::vector<std::vector<std::uint8_t>> files;
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    Sequential model = quantize_model(net, int16_options());
    calibrate(model, images_for(model, 60, 6));
    train_a_little(model, 3, [&] { return images_for(model, 60, 7); });
    if (HasFatalFailure()) return;
    const Tensor y = model.forward(images_for(model, 90, 8));
    results.emplace_back(y.span().begin(), y.span().end());
    files.push_back(to_tflite(lower(model)));
    expect_same(model, images_for(model, 90, 8));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(files[0], files[1]);
}

TEST(Int16Activations, AreKeptInFiles) {
  Sequential model = quantize_model(small_net(), int16_options(4, true));
  const Tensor x = random_tensor({20, 6}, 1, -1.0F, 1.0F);
  calibrate(model, x);
  Archive archive;
  add_architecture(archive, model);
  for (const auto& [name, tensor] : model.saved_tensors()) archive.add(name, tensor);
  Model loaded = model_from_archive(archive);
  EXPECT_EQ(to_tflite(lower(loaded)), to_tflite(lower(model)));
  expect_same(loaded, x);
}

TEST(Int16Activations, LeavesLayersInFloat) {
  Sequential net("net", Input({6}), Dense(20, Activation::relu), in_float(Dense(9)),
                 Dense(4, Activation::relu));
  net.build(3);
  Sequential model = quantize_model(net, int16_options());
  const Tensor x = random_tensor({20, 6}, 1, -1.0F, 1.0F);
  calibrate(model, x);
  expect_same(model, x);
}

TEST(Int16Activations, IsRefusedByNameBeforeTraining) {
  Sequential pooled("net", Input({8, 8, 1}), Conv2D(4, 3, Activation::relu), MaxPool2D({}, "pool"),
                    Flatten(), Dense(3));
  pooled.build(1);
  expect_throws<InvalidArgument>([&] { quantize_model(pooled, int16_options()); },
                                 {"\"pool\"", "MaxPool2D", "MAX_POOL_2D", "in_float()"});
  Sequential transposed("net", Input({4, 4, 2}), TransposedConv2D(3, 2));
  transposed.build(1);
  expect_throws<InvalidArgument>([&] { quantize_model(transposed, int16_options()); },
                                 {"TRANSPOSE_CONV"});
  const auto refused = [](QuantizeOptions options, const std::vector<std::string>& parts) {
    expect_throws<InvalidArgument>([&] { quantize_model(small_net(), options); }, parts);
  };
  QuantizeOptions options = int16_options();
  options.rounding = Rounding::fp32;
  refused(options, {"rounding q15 with 16", "fp32 with 16"});
  options = int16_options();
  options.activation_bits = 8;
  refused(options, {"q15 with 8"});
  options.activation_bits = 12;
  refused(options, {"2 to 8 activation bits, or 16, found 12"});
  options = int16_options();
  options.activation_calibration = Calibration::mse;
  refused(options, {"results", "percentile", "found mse"});
  options = int16_options();
  options.input_calibration = Calibration::entropy;
  refused(options, {"inputs", "percentile", "found entropy"});
  options = int16_options();
  options.activation_scales = Scales::lsq;
  refused(options, {"measured scales, found lsq"});

  Sequential model = quantize_model(small_net(), int16_options());
  calibrate(model, random_tensor({20, 6}, 1, -1.0F, 1.0F));
  expect_throws<InvalidArgument>([&] { lower(model, {.input = IoType::uint8}); },
                                 {"input", "uint8", "int16"});
  expect_throws<InvalidArgument>([&] { to_onnx(lower(model)); }, {"int16"});
}

}  // namespace
}  // namespace octet::test::int16_activations_test
