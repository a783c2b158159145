#include <octet/core/tensor_internal.h>
#include <octet/layers/add.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/graph.h>
#include <octet/tests/layers/quantize/integer_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

// What layers and models refuse to read: another number of inputs, other shapes, batches of several
// sizes.

namespace octet::test::layer_inputs_test {
namespace {

/// The sum and the concatenation of two inputs.
Model two_inputs() {
  Model model("m");
  const Value x = model.input({3}, "x");
  const Value y = model.input({3}, "y");
  model.output(model.add(Add(Activation::none, "sum"), {x, y}));
  model.output(model.add(Concatenate(-1, "both"), {x, y}));
  model.build();
  return model;
}

TEST(LayerInputs, OfAModelAreBatchesOfOneSize) {
  const Model real = two_inputs();
  Model quantized = quantize_model(real);
  const std::vector<Tensor> both = {random_tensor({9, 3}, 1), random_tensor({9, 3}, 2)};
  quantized.forward_all(both, calibration());
  for (const Index other : {Index{4}, Index{1}, Index{0}}) {
    const std::vector<Tensor> inputs = {both[0], random_tensor({other, 3}, 2)};
    for (const Model* model : {&real, static_cast<const Model*>(&quantized)}) {
      expect_throws<InvalidArgument>([&] { static_cast<void>(model->forward_all(inputs)); },
                                     {"\"m\"", "\"x\"", "9", "\"y\"", std::to_string(other)});
    }
  }
}

TEST(LayerInputs, GiveRangesTogether) {
  const Model real = two_inputs();
  const std::vector<Tensor> both = {random_tensor({9, 3}, 1), random_tensor({9, 3}, 2)};
  Model quantized = quantize_post_training(real, both);
  EXPECT_TRUE(has_ranges(quantized));
  Model calibrated = quantize_model(real);
  calibrated.forward_all(both, calibration());
  EXPECT_TRUE(std::ranges::equal(quantized.forward_all(both).front().span(),
                                 calibrated.forward_all(both).front().span()));
  const std::vector<Tensor> constant = {both[0], Tensor::ones({9, 3})};
  Model warned = quantize_model(real);
  EXPECT_NE(calibrate(warned, constant).front().find("input \"y\": all 9 samples hold the one"),
            std::string::npos);
  expect_throws<InvalidArgument>(
      [&] { static_cast<void>(quantize_post_training(real, both[0])); },
      {"quantize_post_training", "\"m\"", "expected 2 inputs", "found 1", "one tensor for each"});
  const std::vector<Tensor> unlike = {both[0], random_tensor({4, 3}, 2)};
  expect_throws<InvalidArgument>([&] { static_cast<void>(calibrate(quantized, unlike)); },
                                 {"calibrate", "one batch size", "9", "4", "\"y\""});
  const std::vector<Tensor> none = {both[0], Tensor()};
  expect_throws<InvalidArgument>([&] { static_cast<void>(calibrate(quantized, none)); },
                                 {"calibrate", "expected samples", "undefined"});
}

TEST(LayerInputs, OfALayerAreAsManyAsItWasBuiltFor) {
  const Tensor x = Tensor::ones({2, 3});
  const std::vector<Shape> shapes = {{3}, {3}};
  const auto refused = [&](Layer& layer, const std::string& name) {
    for (const std::size_t count : {0U, 1U, 3U}) {
      const std::vector<Tensor> inputs(count, x);
      expect_throws<InvalidArgument>(
          [&] { static_cast<void>(layer.forward_all(inputs, {})); },
          {"\"" + name + "\"", "2 inputs", "found " + std::to_string(count)});
    }
    expect_throws<InvalidArgument>([&] { static_cast<void>(layer.forward(x, {})); },
                                   {"\"" + name + "\""});
  };
  Add sum(Activation::none, "sum");
  sum.build_all(shapes, Random());
  refused(sum, "sum");
  Concatenate both(-1, "both");
  both.build_all(shapes, Random());
  refused(both, "both");
  QuantizeWrapper wrapper(sum.clone(), default_8bit());
  wrapper.build_all(shapes, Random());
  refused(wrapper, "quant_sum");
  expect_error(
      [&] {
        Add(Activation::none, "new").forward_all(std::vector{x, x}, {});
      },
      "Add \"new\": expected a layer with its tensors, found one that was not built");
}

TEST(LayerInputs, OfALayerHaveTheShapesItWasBuiltFor) {
  Add sum(Activation::none, "sum");
  sum.build_all(std::vector<Shape>{{3}, {3}}, Random());
  const auto run = [&](const Shape& a, const Shape& b) {
    static_cast<void>(sum.forward_all(std::vector{Tensor::ones(a), Tensor::ones(b)}, {}));
  };
  EXPECT_NO_THROW(run({2, 3}, {2, 3}));
  expect_error(
      [&] {
        run({2, 3}, {2, 1});
      },
      "Add \"sum\": expected input 1 of shape [batch, 3], found [2, 1]");
  expect_error([&] { run({3}, {2, 3}); }, "expected input 0 of shape [batch, 3], found [3]");
  expect_error(
      [&] {
        run({2, 3}, {1, 3});
      },
      "expected inputs of one batch size, found 2 of input 0 and 1 of input 1");
}

TEST(LayerInputs, OnCodesAreBatchesOfOneSize) {
  Add sum(Activation::none, "sum");
  sum.build_all(std::vector<Shape>{{3}, {3}}, Random());
  const QuantParams grid = QuantParams::per_tensor(0.1F, 0);
  for (const Index other : {Index{4}, Index{1}}) {
    const std::vector<Tensor> inputs = {on_grid(Tensor::ones({9, 3}), 0.1F, 0),
                                        on_grid(Tensor::ones({other, 3}), 0.1F, 0)};
    expect_throws<InvalidArgument>([&] { integer_step(sum, inputs, grid, "owner"); },
                                   {"owner", "9", std::to_string(other)});
  }
}

TEST(LayerInputs, ThatALayerDoesNotReadAreRefused) {
  const auto refused = [](Layer&& layer, const std::vector<Shape>& shapes,
                          const std::string& says) {
    expect_throws<InvalidArgument>([&] { layer.build_all(shapes, Random()); },
                                   {std::string(layer.type()), says});
  };
  refused(ReLU(), {{3}, {3}}, "expected one input, found 2");
  refused(Dense(2), {{3}, {3}, {3}}, "expected one input, found 3");
  refused(ReLU(), {}, "expected at least one input, found none");
}

/// Appends an operator to what `inputs` says, whether it takes that many or not.
class Appending : public Layer {
 public:
  Appending(OpCode code, std::size_t inputs) : Layer("own"), code_(code), inputs_(inputs) {}
  std::string_view type() const override { return "Appending"; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    return {graph.op(code_, std::vector<GraphValue>(inputs_, inputs[0]))};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Appending>(*this); }

 private:
  OpCode code_;
  std::size_t inputs_;
};

TEST(LayerInputs, OfAnOperatorAreAsManyAsItTakes) {
  const auto refused = [](OpCode code, std::size_t count, const std::string& part) {
    expect_throws<InvalidArgument>([&] { build_model(Input({4}), Appending(code, count)); },
                                   {"\"own\"", part, "found " + std::to_string(count)});
  };
  for (const std::size_t count : {0U, 1U, 3U})
    refused(OpCode::add, count, "ADD: expected 2 inputs");
  for (const std::size_t count : {0U, 2U}) {
    refused(OpCode::relu, count, "RELU: expected 1 input");
    refused(OpCode::tanh, count, "TANH: expected 1 input");
  }
  refused(OpCode::fully_connected, 1, "FULLY_CONNECTED: expected 2 to 3 inputs");
}

}  // namespace
}  // namespace octet::test::layer_inputs_test
