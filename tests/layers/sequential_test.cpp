#include <octet/layers/dropout.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::sequential_test {
namespace {

std::vector<std::string> layer_names(const Sequential& model) {
  std::vector<std::string> names;
  for (const auto& layer : model.layers()) names.push_back(layer->name());
  return names;
}

TEST(Sequential, NamesLayersAsKerasDoes) {
  const Sequential model("m", Input({4}), QuantizeLayer(), Dense(3), ReLU(), Dense(3), ReLU6(),
                         Flatten(), Dropout(0.1F), Dense(2), Softmax(),
                         ActivationLayer(Activation::tanh));
  EXPECT_EQ(
      layer_names(model),
      (std::vector<std::string>{"input_1", "quantize_layer", "dense", "re_lu", "dense_1", "re_lu6",
                                "flatten", "dropout", "dense_2", "softmax", "activation"}));
}

TEST(Sequential, AutomaticNamesAvoidThoseThatAreTaken) {
  Sequential model("m", Input({4}, "input_1"), Dense(3, Activation::none, "dense_1"));
  model.add(Dense(3)).add(Dense(3));
  EXPECT_EQ(layer_names(model),
            (std::vector<std::string>{"input_1", "dense_1", "dense", "dense_2"}));
  // Numbers that no automatic name has.
  Sequential other("m", Input({4}), Dense(3, Activation::none, "dense_0"),
                   Dense(3, Activation::none, "dense_01"));
  other.add(Dense(3)).add(Dense(3));
  EXPECT_EQ(layer_names(other),
            (std::vector<std::string>{"input_1", "dense_0", "dense_01", "dense", "dense_1"}));
}

TEST(Sequential, RefusesANameTwiceAndNoLayer) {
  Sequential model("m", Input({4}), Dense(3, Activation::none, "head"));
  expect_error([&] { model.add(Dense(2, Activation::none, "head")); }, "\"head\" twice");
  EXPECT_EQ(model.layers().size(), 2U);
  expect_error([&] { model.add(std::unique_ptr<Layer>()); }, "null");
}

TEST(Sequential, BuildsEachLayerOnTheOneInFront) {
  Sequential model("m", Input({2, 3}), Flatten(), Dense(5), Reshape({5, 1}));
  EXPECT_FALSE(model.built());
  model.build();
  EXPECT_TRUE(model.built());
  EXPECT_EQ(model.input_shape(), (Shape{2, 3}));
  EXPECT_EQ(model.output_shape(), (Shape{5, 1}));
  EXPECT_EQ(model.layers()[2]->input_shape(), (Shape{6}));
  EXPECT_EQ(model.forward(Tensor::zeros({7, 2, 3})).shape(), (Shape{7, 5, 1}));
}

TEST(Sequential, NeedsAnInputInFront) {
  Sequential model("nameless", Dense(3));
  expect_error([&] { model.build(); }, "expected an Input as the first layer, found Dense");
  Sequential empty("empty");
  expect_error([&] { empty.build(); }, "no layer");
}

TEST(Sequential, SaysThatItIsNotBuilt) {
  const Sequential model("m", Input({4}), Dense(3));
  for (const auto& body : std::vector<std::function<void()>>{
           [&] {
             model.forward(Tensor::zeros({1, 4}));
           },
           [&] {
             model.forward_logits(Tensor::zeros({1, 4}));
           },
           [&] { model.input_shape(); }, [&] { model.output_shape(); },
           [&] { model.save("never written"); }}) {
    expect_error(body, "call build() first");
  }
  EXPECT_FALSE(Sequential("empty").built());
}

TEST(Sequential, EachLayerDrawsFromAStreamOfItsOwn) {
  Sequential model("m", Input({4}), Dense(4), Dense(4));
  model.build(3);
  const auto kernels = model.parameters();
  EXPECT_NE(values_of(kernels[0].tensor), values_of(kernels[2].tensor));
  Sequential again("m", Input({4}), Dense(4), Dense(4));
  again.build(3);
  EXPECT_EQ(values_of(again.parameters()[2].tensor), values_of(kernels[2].tensor));
  again.build(4);
  EXPECT_NE(values_of(again.parameters()[2].tensor), values_of(kernels[2].tensor));
  again.build(3);
  EXPECT_EQ(values_of(again.parameters()[2].tensor), values_of(kernels[2].tensor));
}

TEST(Sequential, ForwardIsTheCompositionOfItsLayers) {
  Sequential model("m", Input({4}), Dense(3, Activation::tanh), Dense(2, Activation::softmax));
  model.build(1);
  const Tensor x = random_tensor({5, 4}, 2);
  Tensor expected = x;
  for (const auto& layer : model.layers()) expected = layer->forward(expected, {});
  expect_tensor(model.forward(x), {5, 2}, values_of(expected));
  EXPECT_TRUE(model.ends_in_softmax());
  const Tensor logits = model.forward_logits(x);
  expect_tensor(apply_activation(Activation::softmax, logits), {5, 2}, values_of(expected));
  EXPECT_NE(values_of(logits), values_of(expected));
}

TEST(Sequential, ForwardLogitsOfOneWithoutSoftmaxIsForward) {
  Sequential model("m", Input({4}), Dense(3, Activation::sigmoid));
  model.build(1);
  const Tensor x = random_tensor({5, 4}, 2);
  EXPECT_FALSE(model.ends_in_softmax());
  expect_tensor(model.forward_logits(x), {5, 3}, values_of(model.forward(x)));
}

TEST(Sequential, GathersNamedTensorsAndClearsGradients) {
  Sequential model("m", Input({4}), QuantizeLayer(), Dense(3), Dense(2, Activation::none, "head"));
  model.build();
  EXPECT_EQ(names_of(model.parameters()),
            (std::vector<std::string>{"dense/kernel", "dense/bias", "head/kernel", "head/bias"}));
  EXPECT_EQ(names_of(model.state()),
            (std::vector<std::string>{"quantize_layer/min", "quantize_layer/max",
                                      "quantize_layer/zero_point"}));
  EXPECT_EQ(names_of(model.counters()),
            (std::vector<std::string>{"quantize_layer/updates", "quantize_layer/frozen"}));
  EXPECT_EQ(model.saved_tensors().size(), 9U);
  model.forward(random_tensor({2, 4}, 1), training()).backward(Tensor::ones({2, 2}));
  for (const auto& [name, tensor] : model.parameters()) EXPECT_TRUE(tensor.grad().defined());
  model.zero_grad();
  for (const auto& [name, tensor] : model.parameters()) EXPECT_FALSE(tensor.grad().defined());
}

TEST(Sequential, TakesOneInput) {
  expect_error(
      [] { Sequential("m", Input({4}, "first"), Input({4}, "second"), Dense(3)); },
      "Sequential \"m\": expected an Input that reads no layer, found \"second\", one behind "
      "\"first\"");
  expect_error([] { Sequential("m", Input({4}), Dense(3), Input({3})); },
               "found one behind \"dense\"");
}

TEST(Sequential, FindsLayersByName) {
  Sequential model("m", Input({4}), Dense(3, Activation::none, "head"));
  EXPECT_EQ(model.layer("head").type(), "Dense");
  expect_error([&] { model.layer("tail"); }, "tail");
}

TEST(Sequential, ACopySharesNothing) {
  Sequential model("m", Input({4}), QuantizeLayer(), Dense(3), Dropout(0.5F), Dense(2));
  model.build(1);
  model.forward(random_tensor({2, 4}, 1), training());
  const Tensor x = random_tensor({3, 4}, 2);
  const std::vector<float> before = values_of(model.forward(x));
  Sequential copy(model);
  EXPECT_EQ(values_of(copy.forward(x)), before);
  EXPECT_EQ(names_of(copy.saved_tensors()), names_of(model.saved_tensors()));
  for (auto& [name, tensor] : copy.saved_tensors()) std::ranges::fill(tensor.mutable_span(), 0.5F);
  EXPECT_EQ(values_of(model.forward(x)), before);
  Sequential assigned("other", Input({1}));
  assigned = model;
  EXPECT_EQ(assigned.name(), "m");
  EXPECT_EQ(values_of(assigned.forward(x)), before);
  for (const auto& [name, tensor] : assigned.parameters()) EXPECT_TRUE(tensor.requires_grad());
}

}  // namespace
}  // namespace octet::test::sequential_test
