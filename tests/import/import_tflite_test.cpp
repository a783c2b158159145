#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/compress/post_training.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/examples/networks/networks.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/sequential.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/svdf_models.h>
#include <octet/tests/train/data/idx_files.h>

#include <algorithm>
#include <cmath>

namespace octet::test::import_tflite_test {
namespace {

/// The largest difference between two results, relative to the largest value.
float difference(const Tensor& a, std::span<const float> b) {
  EXPECT_EQ(a.span().size(), b.size());
  float scale = 1e-30F;
  float worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    scale = std::max(scale, std::abs(b[i]));
    worst = std::max(worst, std::abs(a.span()[i] - b[i]));
  }
  return worst / scale;
}

constexpr float kMost = 1e-5F;

/// Through a file and back: the same results, and the same file again.
void expect_round_trip(const Model& model, const Tensor& x) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "a.tflite";
  write_tflite(lower_float(model), path);
  const Model imported = import_tflite(path);
  const Tensor expected = model.forward(x);
  EXPECT_LE(difference(imported.forward(x), expected.span()), kMost);
  const auto operators = [](const IntegerModel& lowered) {
    std::vector<OpCode> codes;
    for (const Operator& op : lowered.operators) {
      const auto shape = [&](std::int32_t i) {
        return lowered.tensors[static_cast<std::size_t>(i)].shape;
      };
      // A RESHAPE to the same shape, which a model may end in, becomes no layer.
      const bool is_identity =
          op.code == OpCode::reshape && shape(op.inputs[0]) == shape(op.outputs[0]);
      if (!is_identity) codes.push_back(op.code);
    }
    return codes;
  };
  EXPECT_EQ(operators(lower_float(imported)), operators(lower_float(model)));
}

/// Statistics and biases that a trained network has.
void unsettle(const Model& model) {
  std::uint64_t stream = 0;
  std::vector<NamedTensor> all = model.parameters();
  append(all, model.state());
  for (NamedTensor& tensor : all) {
    if (tensor.tensor.rank() != 1) continue;
    const bool positive = tensor.name.ends_with("variance");
    const Tensor values = Tensor::uniform(tensor.tensor.shape(), octet::Random(7).fork(stream++),
                                          positive ? 0.5F : -0.5F, 1.5F);
    std::ranges::copy(values.span(), tensor.tensor.mutable_data());
  }
}

Tensor examples(const Model& model, Index count) {
  return Tensor::uniform(model.input_shape().with_batch(count), octet::Random(3), -1, 1);
}

TEST(ImportTflite, RandomNetsComeBackAsTheyWere) {
  for (std::uint32_t seed = 500; seed < 540; ++seed) {
    SCOPED_TRACE(seed);
    octet::test::RandomNet net(seed);
    expect_round_trip(net.model(), net.batch(5));
  }
}

TEST(ImportTflite, NetworksComeBackAsTheyWere) {
  std::vector<Model> models;
  models.push_back(networks::lenet5({28, 28, 1}, 10));
  models.push_back(networks::resnet8({32, 32, 3}, 10));
  models.push_back(networks::dscnn({49, 10, 1}, 12));
  models.push_back(networks::mobilenet_v1({96, 96, 3}, 2));
  models.push_back(networks::autoencoder(640));
  for (Model& model : models) {
    SCOPED_TRACE(model.name());
    model.build(1);
    unsettle(model);
    expect_round_trip(model, examples(model, 2));
  }
}

TEST(ImportTflite, EveryKindOfLayerComesBack) {
  Model model("all");
  const Value x = model.input({8, 6, 3}, "x");
  Value a = model.add(
      Conv2D(4, {3, 2}, Activation::relu,
             {.strides = {2, 1}, .padding = Padding::same, .use_bias = false, .name = "conv"}),
      x);
  a = model.add(ZeroPadding2D({.top = 1, .bottom = 2, .left = 0, .right = 3}), a);
  a = model.add(DepthwiseConv2D(3, Activation::relu6, {.dilation = {2, 2}, .depth_multiplier = 2}),
                a);
  a = model.add(TransposedConv2D(5, {3, 2}, Activation::relu, {.strides = {2, 2}}), a);
  a = model.add(LeakyReLU(0.1F), a);
  a = model.add(Conv2D(6, 1, Activation::sigmoid), a);
  a = model.add(UpSampling2D({2, 1}), a);
  a = model.add(Resizing({7, 9}, ResizeCoordinates::align_corners), a);
  Value b =
      model.add(AveragePool2D({.size = {2, 2}, .stride = {1, 1}, .padding = Padding::same}), a);
  b = model.add(HardSwish(), b);
  a = model.add(MaxPool2D({.size = {3, 3}, .stride = {1, 1}, .padding = Padding::same}), a);
  Value c = model.add(Multiply(), std::vector{a, b});
  c = model.add(Concatenate(), std::vector{c, model.add(Add(Activation::relu), std::vector{a, b})});
  c = model.add(ActivationLayer(Activation::tanh), c);
  const Value pooled = model.add(GlobalAveragePool2D(), c);
  Value d = model.add(Reshape({4, 3}), pooled);
  d = model.add(Conv1D(3, 2, Activation::relu), d);
  d = model.add(Flatten(), d);
  d = model.add(Concatenate(), std::vector{d, pooled});
  model.output(model.add(Dense(4, Activation::softmax, "head"), d));
  model.build(5);
  unsettle(model);
  expect_round_trip(model, examples(model, 3));
  const Model imported = import_float_model(lower_float(model));
  EXPECT_EQ(imported.layer("conv").type(), "Conv2D");
  EXPECT_EQ(imported.layer("head").type(), "Softmax");
  EXPECT_EQ(imported.layers().front()->name(), "x");
}

/// Runs the file's operators themselves.
void expect_as_interpreted(const IntegerModel& source) {
  source.validate();
  const Model imported = import_float_model(source);
  const Tensor x = examples(imported, 1);
  Interpreter interpreter(source);
  std::ranges::copy(x.span(), interpreter.input<float>().begin());
  interpreter.invoke();
  EXPECT_LE(difference(imported.forward(x), interpreter.output<float>()), kMost);
}

/// Layer normalization as the TensorFlow converter spells it out, with a fused RELU, of 4 features
/// whose means have the weights `part`.
IntegerModel spelled_out(float part) {
  RawModelBuilder b;
  const auto reals = [&](const char* name, std::vector<std::int32_t> shape) {
    return b.activation(name, std::move(shape), DType::float32);
  };
  const auto constant = [&](const char* name, const std::vector<float>& values) {
    return b.constant(name, {static_cast<std::int32_t>(values.size())}, DType::float32, values);
  };
  const auto part_of_mean = b.constant("part", {1, 4}, DType::float32, std::vector<float>(4, part));
  const auto mean_of = [&](std::int32_t x, const char* name) {
    const auto mean = reals(name, {1, 1});
    b.op(OpCode::fully_connected, {x, part_of_mean, -1}, mean,
         FullyConnectedAttributes{.keep_num_dims = true});
    return mean;
  };
  const auto op = [&](OpCode code, std::int32_t x, std::int32_t y, const char* name,
                      std::int32_t features) {
    const auto result = reals(name, {1, features});
    b.op(code, {x, y}, result);
    return result;
  };
  const auto x = reals("x", {1, 4});
  const auto mean = mean_of(x, "mean");
  const auto centered = op(OpCode::sub, x, mean, "centered", 4);
  const auto square = op(OpCode::mul, centered, centered, "square", 4);
  const auto sum =
      op(OpCode::add, mean_of(square, "variance"), constant("epsilon", {0.25F}), "sum", 1);
  const auto root = reals("root", {1, 1});
  b.op(OpCode::rsqrt, {sum}, root);
  const auto factor = op(OpCode::mul, root, constant("gamma", {1, 2, 3, 4}), "factor", 4);
  const auto scaled = op(OpCode::mul, x, factor, "scaled", 4);
  const auto shifted = op(OpCode::mul, mean, factor, "shifted", 4);
  const auto rest = op(OpCode::sub, constant("beta", {4, 3, 2, 1}), shifted, "rest", 4);
  const auto y = reals("y", {1, 4});
  b.op(OpCode::add, {scaled, rest}, y, BinaryAttributes{.activation = FusedActivation::relu});
  b.model.inputs = {x};
  b.model.outputs = {y};
  return b.model;
}

TEST(ImportTflite, LayerNormalizationIsOneLayer) {
  const IntegerModel source = spelled_out(0.25F);
  expect_as_interpreted(source);
  const Model imported = import_float_model(source);
  ASSERT_EQ(imported.layers().size(), 3U);
  EXPECT_EQ(imported.layers()[1]->type(), "LayerNormalization");
  EXPECT_EQ(imported.layer("y").type(), "ReLU");
  // Other sums than means are none.
  EXPECT_THROW(import_float_model(spelled_out(0.26F)), FormatError);
}

TEST(ImportTflite, TakesOperatorsThatOctetDoesNotWrite) {
  RawModelBuilder b;
  const auto reals = [&](const char* name, std::vector<std::int32_t> shape) {
    return b.activation(name, std::move(shape), DType::float32);
  };
  const auto constant = [&](std::vector<std::int32_t> shape, const std::vector<float>& values) {
    return b.constant("c", std::move(shape), DType::float32, values);
  };
  const std::int32_t x = reals("model/x;0", {1, 4, 3, 2});
  const std::int32_t scaled = reals("scaled", {1, 4, 3, 2});
  const std::int32_t moved = reals("moved", {1, 4, 3, 2});
  const std::int32_t lowered = reals("lowered", {1, 4, 3, 2});
  const std::int32_t padded = reals("padded", {1, 5, 3, 2});
  const std::int32_t mean = reals("mean", {1, 1, 1, 2});
  const std::int32_t squeezed = reals("squeezed", {1, 2});
  const std::int32_t dense = reals("scaled", {1, 3});
  b.op(OpCode::mul, {x, constant({2}, {-1.5F, 3})}, scaled);
  b.op(OpCode::add, {constant({1, 1, 1, 2}, {0.25F, -7}), scaled}, moved,
       BinaryAttributes{.activation = FusedActivation::relu6});
  b.op(OpCode::sub, {moved, constant({2}, {0.5F, 1})}, lowered);
  b.op(OpCode::pad,
       {lowered,
        b.constant("p", {4, 2}, DType::int32, std::vector<std::int32_t>{0, 0, 1, 0, 0, 0, 0, 0})},
       padded);
  b.op(OpCode::mean,
       {padded, b.constant("axes", {2}, DType::int32, std::vector<std::int32_t>{2, 1})}, mean,
       MeanAttributes{.keep_dims = true});
  b.op(OpCode::squeeze, {mean}, squeezed, SqueezeAttributes{.squeeze_dims = {1, 2}});
  b.op(OpCode::fully_connected,
       {squeezed, constant({3, 2}, {1, 2, 3, 4, 5, 6}), constant({3}, {1, 0, -1})}, dense,
       FullyConnectedAttributes{.activation = FusedActivation::relu});
  b.model.inputs = {x};
  b.model.outputs = {dense};
  expect_as_interpreted(b.model);
}

TEST(ImportTflite, PadsChannelsToo) {
  using Pads = std::vector<std::int32_t>;
  for (const Pads& pads : {Pads{0, 0, 0, 1, 2, 0, 1, 3}, Pads{0, 0, 0, 0, 0, 0, 0, 1}}) {
    RawModelBuilder b;
    const std::int32_t x = b.activation("x", {1, 4, 3, 2}, DType::float32);
    const std::int32_t y =
        b.activation("y", {1, 4 + pads[2] + pads[3], 3 + pads[4] + pads[5], 2 + pads[6] + pads[7]},
                     DType::float32);
    b.op(OpCode::pad, {x, b.constant("p", {4, 2}, DType::int32, pads)}, y);
    b.model.inputs = {x};
    b.model.outputs = {y};
    expect_as_interpreted(b.model);
  }
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 4, 3}, DType::float32);
  const std::int32_t y = b.activation("y", {1, 7, 4}, DType::float32);
  const Pads pads = {0, 0, 1, 2, 1, 0};
  b.op(OpCode::pad, {x, b.constant("p", {3, 2}, DType::int32, pads)}, y);
  b.model.inputs = {x};
  b.model.outputs = {y};
  expect_as_interpreted(b.model);
}

TEST(ImportTflite, MergesAndFunctionsOfOneValue) {
  RawModelBuilder b;
  std::int32_t x = b.activation("x", {1, 6}, DType::float32);
  b.model.inputs = {x};
  const auto append = [&](OpCode code, std::vector<std::int32_t> inputs,
                          const OperatorAttributes& attributes = NoAttributes{}) {
    const std::int32_t y =
        b.activation(fmt::format("y{}", b.model.tensors.size()), {1, 6}, DType::float32);
    b.op(code, std::move(inputs), y, attributes);
    return y;
  };
  const std::int32_t elu = append(OpCode::elu, {x});
  const std::int32_t gelu = append(OpCode::gelu, {x}, GeluAttributes{.approximate = true});
  const std::int32_t most = append(OpCode::maximum, {elu, gelu});
  const std::int32_t least = append(OpCode::minimum, {most, x});
  const auto constant = [&](const std::vector<float>& values) {
    return b.constant("c", {static_cast<std::int32_t>(values.size())}, DType::float32, values);
  };
  const std::int32_t above = append(OpCode::maximum, {least, constant({-0.25F})});
  const std::int32_t below =
      append(OpCode::minimum, {constant({0, 1, 0.5F, -0.1F, 0.2F, 3}), above});
  const std::int32_t apart = append(OpCode::sub, {constant({0.75F}), below}, BinaryAttributes{});
  b.model.outputs = {
      append(OpCode::sub, {apart, elu}, BinaryAttributes{.activation = FusedActivation::relu6})};
  expect_as_interpreted(b.model);
}

TEST(ImportTflite, NamesEveryOperatorThatItCannotTake) {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 2, 3}, DType::float32);
  const std::int32_t y = b.activation("y", {1, 2, 3}, DType::float32);
  const std::int32_t z = b.activation("z", {1, 2, 3}, DType::float32);
  const std::int32_t w = b.activation("w", {1, 2, 3}, DType::float32);
  b.op(OpCode::relu, {x}, y);
  b.op(OpCode::relu_n1_to_1, {y}, z);
  b.op(OpCode::maximum, {b.constant("c", {2, 1}, DType::float32, std::vector<float>{1, 2}), z}, w);
  b.model.inputs = {x};
  b.model.outputs = {w};
  const std::string message = message_of<FormatError>([&] { import_float_model(b.model); });
  expect_mentions(message, "1 of 3 operators can be imported");
  expect_mentions(message, "operator 1 (RELU_N1_TO_1, \"z\"): no layer computes it");
  expect_mentions(message, "operator 2 (MAXIMUM, \"w\"): of a constant of shape");
}

TEST(ImportTflite, RefusesAResultThatIsAConstant) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 1}, DType::float32)};
  b.model.outputs = {b.constant("two", {1, 1}, DType::float32, std::vector<float>{2})};
  expect_mentions(message_of<FormatError>([&] { import_float_model(b.model); }), "\"two\"");
}

/// The floats of a quantized file are those of its integers, but for the rounding of activations.
TEST(ImportTflite, AQuantizedFileBecomesAFloatModel) {
  Sequential model("m", Input({6, 6, 2}), Conv2D(4, 3, Activation::relu), DepthwiseConv2D(3),
                   GlobalAveragePool2D(), Dense(3));
  model.build();
  for (NamedTensor& parameter : model.parameters()) {
    if (parameter.name.ends_with("bias")) std::ranges::fill(parameter.tensor.mutable_span(), 0.7F);
  }
  const Tensor x = examples(model, 8);
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "int8.tflite";
  write_tflite(lower(quantize_post_training(model, x)), path);
  const Model imported = import_tflite(path);
  Interpreter interpreter(read_tflite(path), {.batch = x.dim(0)});
  const auto expected = interpreter.run(x.span());
  EXPECT_LE(difference(imported.forward(x), expected), 0.03F);
  EXPECT_GT(difference(imported.forward(x), expected), 0.0F);
  EXPECT_THROW(import_tflite(scratch.path() / "none"), IoError);
}

/// A step of a file with an SVDF, and what it is imported as: the largest difference of the results
/// and of the states behind it.
float difference_of_svdf(const Svdf& s) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "svdf.tflite";
  write_tflite(svdf_model(s), path);
  const Model imported = import_tflite(path);
  Draw draw(2);
  std::vector<Tensor> inputs;
  for (const std::int32_t size : {s.features, s.filters() * s.memory}) {
    Tensor values = Tensor::zeros({s.batch, size});
    for (float& value : values.mutable_span()) {
      value = s.x.scale() * static_cast<float>(draw.between(-100, 100));
    }
    inputs.push_back(values);
  }
  const std::vector<std::span<const float>> given{inputs[0].span(), inputs[1].span()};
  const auto expected = Interpreter(read_tflite(path)).run_all(given);
  const std::vector<Tensor> results = imported.forward_all(inputs);
  EXPECT_EQ(results.size(), 2U);
  return std::max(difference(results[0], expected[0]), difference(results[1], expected[1]));
}

TEST(ImportTflite, AStepOfAnSvdfGivesItsNextState) {
  Draw draw(4);
  Svdf s{.memory = 4, .units = 5, .attributes = {.rank = 3}, .state = DType::float32};
  s.attributes.activation = FusedActivation::relu6;
  EXPECT_LE(difference_of_svdf(with_weights(s, draw)), kMost);
  s.state = DType::int16;
  s.attributes.activation = FusedActivation::none;
  s.y = quant(0.5F, 3);
  s.state_scale = 0.001F;
  const float rounded = difference_of_svdf(with_weights(s, draw));
  EXPECT_LE(rounded, 0.02F);
  EXPECT_GT(rounded, 0.0F);
  s.state = DType::float32;
  s.attributes.activation = FusedActivation::relu_n1_to_1;
  expect_throws<FormatError>([&] { import_float_model(svdf_model(with_weights(s, draw))); },
                             {R"(operator 0 (SVDF, "y"))", "no layer computes it"});
}

}  // namespace
}  // namespace octet::test::import_tflite_test
