#include <octet/core/archive.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/add.h>
#include <octet/layers/architecture.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::model_test {
namespace {

/// Two branches of one layer, added and joined: x, relu(A x), B(relu(A x)), their sum and a concat.
Model residual() {
  Model model("residual");
  const Value x = model.input({4}, "x");
  const Value a = model.add(Dense(3, Activation::relu, "a"), x);
  const Value b = model.add(Dense(3, Activation::none, "b"), a);
  const Value sum = model.add(Add(Activation::relu, "sum"), {a, b});
  const Value both = model.add(Concatenate(-1, "both"), {sum, a});
  model.output(model.add(Dense(2, Activation::softmax, "end"), both));
  return model;
}

Model built_residual(std::uint64_t seed = 3) {
  Model model = residual();
  model.build(seed);
  return model;
}

TEST(Model, ComputesWhatItsGraphSays) {
  const Model model = built_residual();
  const Tensor x = random_tensor({5, 4}, 1);
  const Tensor a = model.layer("a").forward(x, {});
  const Tensor b = model.layer("b").forward(a, {});
  const Tensor both = concatenate({relu(a + b), a}, 1);
  const Tensor expected = model.layer("end").forward(both, {});
  expect_tensor(model.forward(x), {5, 2}, values_of(expected));
  EXPECT_EQ(model.layer("both").output_shape(), (Shape{6}));
  EXPECT_EQ(model.layer("end").input_shape(), (Shape{6}));
  EXPECT_TRUE(model.ends_in_softmax());
  expect_tensor(model.forward_logits(x), {5, 2},
                values_of(model.layer("end").forward_logits(both, {})));
}

TEST(Model, LogitsLeaveOutTheSoftmaxOfTheOutputAlone) {
  Sequential model("gated", Input({4}), Dense(3, Activation::softmax, "gate"),
                   Dense(2, Activation::softmax, "end"));
  model.build(7);
  const Tensor x = random_tensor({5, 4}, 2);
  const Tensor gate = model.layer("gate").forward(x, {});
  expect_tensor(model.forward_logits(x), {5, 2},
                values_of(model.layer("end").forward_logits(gate, {})));
}

TEST(Model, LogitsKeepASoftmaxThatAnotherLayerReads) {
  Model model("m");
  const Value x = model.input({4}, "x");
  const Value gate = model.add(Dense(3, Activation::softmax, "gate"), x);
  model.output(gate);
  model.output(model.add(Dense(2, Activation::softmax, "end"), gate));
  model.build(7);
  const Tensor input = random_tensor({5, 4}, 2);
  const Tensor read = model.layer("gate").forward(input, {});
  for (Model m :
       std::vector{model, quantize_model(model, {.simulation = Simulation::fake_quant})}) {
    if (is_quantized(m)) m.forward_all({&input, 1}, calibration());
    const std::vector<Tensor> outputs = m.forward_all({&input, 1}, ForwardContext{.logits = true});
    const float tolerance = is_quantized(m) ? 0.05F : 0.0F;
    expect_close(outputs[0], read, tolerance);
    expect_close(outputs[1], model.layer("end").forward_logits(read, {}), tolerance);
  }
}

TEST(Model, KnowsWhoReadsWhom) {
  const Model model = built_residual();
  EXPECT_EQ(model.readers(1), (std::vector<std::size_t>{2, 3, 4}));
  EXPECT_EQ(model.inputs_of(3), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(model.input_layers(), std::vector<std::size_t>{0});
  EXPECT_EQ(model.output_layers(), std::vector<std::size_t>{5});
  EXPECT_FALSE(model.is_chain());
  EXPECT_TRUE(Sequential("s", Input({2}), Dense(2)).is_chain());
}

TEST(Model, GradientsOfAForkAddUp) {
  Model model("m");
  const Value x = model.input({2});
  const Value a = model.add(Dense(2, Activation::none, "a"), x);
  model.output(model.add(Add(), {a, a}));
  model.build();
  const Tensor ones = Tensor::ones({1, 2});
  model.forward(ones).backward(ones);
  expect_tensor(model.layer("a").weights()->bias.grad(), {2}, {2, 2});
}

TEST(Model, TakesSeveralInputsAndGivesSeveralOutputs) {
  Model model("m");
  const Value x = model.input({3}, "x");
  const Value y = model.input({3}, "y");
  const Value sum = model.add(Add(), {x, y});
  model.output(sum);
  model.output(model.add(Concatenate(), {y, sum}));
  model.build();
  const std::vector<Tensor> inputs = {Tensor::from({1, 3}, {1, 2, 3}),
                                      Tensor::from({1, 3}, {10, 20, 30})};
  const std::vector<Tensor> outputs = model.forward_all(inputs);
  ASSERT_EQ(outputs.size(), 2U);
  expect_tensor(outputs[0], {1, 3}, {11, 22, 33});
  expect_tensor(outputs[1], {1, 6}, {10, 20, 30, 11, 22, 33});
  expect_error([&] { model.forward(inputs[0]); }, "\"m\" with 2 and 2; use forward_all()");
  expect_error([&] { model.forward_all({inputs.data(), 1}); }, "expected 2 inputs, found 1");
  expect_error([&] { model.input_shape(); }, "one input, found \"m\" with 2");
}

TEST(Model, SummaryShowsWhatEachLayerReads) {
  const std::string text = built_residual().summary();
  EXPECT_EQ(text.substr(0, text.find('\n', text.find("Layer (type)"))),
            "Model: \"residual\"\n" + std::string(98, '_') +
                "\nLayer (type)                    Output Shape         Param #     Connected to"
                "                     ");
  for (const char* line :
       {"\nx (InputLayer)                  [(None, 4)]          0           ",
        "\nb (Dense)                       (None, 3)            12          a   ",
        "\nsum (Add)                       (None, 3)            0           a   ",
        "\n                                                                 b   "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
  }
}

TEST(Model, ACopySharesNothing) {
  const Model model = built_residual();
  Model copy(model);  // NOLINT(performance-unnecessary-copy-initialization): is what is tested
  const Tensor x = random_tensor({2, 4}, 1);
  const std::vector<float> before = values_of(model.forward(x));
  EXPECT_EQ(values_of(copy.forward(x)), before);
  fill(copy.layer("b").weights()->bias, {9, 9, 9});
  EXPECT_EQ(values_of(model.forward(x)), before);
  EXPECT_NE(values_of(copy.forward(x)), before);
}

TEST(Model, IsDescribedAndMadeAnew) {
  const Model model = built_residual();
  Archive archive;
  for (const auto& [name, tensor] : model.saved_tensors()) archive.add(name, tensor);
  add_architecture(archive, model);
  const Model loaded = model_from_archive(archive);
  EXPECT_EQ(architecture_json(loaded), architecture_json(model));
  EXPECT_EQ(loaded.summary(), model.summary());
  const Tensor x = random_tensor({2, 4}, 1);
  EXPECT_EQ(values_of(loaded.forward(x)), values_of(model.forward(x)));
  expect_error([&] { Sequential chain(loaded); }, "\"residual\", which is a graph");
}

TEST(Model, AFileWithACycleOrAnUnknownLayerIsRefused) {
  std::string json = architecture_json(built_residual());
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string changed = json;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  // "b" reads "a"; here "a" reads "b", which stands behind it, or one that is nowhere.
  for (const char* other : {"b", "nowhere", "a"}) {
    const std::string changed =
        replaced("\"inputs\":[\"x\"]", "\"inputs\":[\"" + std::string(other) + "\"]");
    expect_throws<FormatError>([&] { model_from_json(changed); },
                               {"layer \"a\"", other, "without a cycle"});
  }
  expect_throws<FormatError>([&] { model_from_json(replaced("\"name\":\"b\"", "\"name\":\"a\"")); },
                             {"different names", "\"a\" twice"});
}

TEST(Model, RefusesABrokenGraph) {
  Model model("m");
  const Value x = model.input({4}, "x");
  expect_error([&] { model.build(); }, "\"m\": expected an output, found none");
  const Value a = model.add(Dense(3, Activation::none, "a"), x);
  const Value lost = model.add(Dense(3, Activation::none, "lost"), x);
  model.output(a);
  expect_error([&] { model.build(); }, "layer \"lost\" (Dense) is read by no layer");
  expect_error([&] { model.add(Dense(3, Activation::none, "a"), x); }, "\"a\" twice");
  expect_error([&] { model.output(a); }, "\"a\" is an output already");
  expect_error([&] { model.add(ReLU("r"), std::vector<Value>{}); }, "\"r\" (ReLU) to read a value");
  expect_error([&] { model.add(ReLU(), Value()); }, "expected a value of this model, found none");
  expect_error([&] { model.add(Input({3}, "inner"), a); }, "found \"inner\", one behind \"a\"");
  Model other("other");
  expect_error([&] { other.add(ReLU(), a); }, "found one of another model");
  const Model copy = model;
  expect_error([&] { Model(copy).output(lost); }, "found one of another model");
  expect_error([&] { Model("none").build(); },
               "expected an Input as the first layer, found no layer");
}

TEST(Model, RefusesForksOfDifferentShapes) {
  Model model("m");
  const Value x = model.input({4}, "x");
  const Value a = model.add(Dense(3, Activation::none, "a"), x);
  model.output(model.add(Add(Activation::none, "sum"), {x, a}));
  expect_error([&] { model.build(); },
               "Add \"sum\": expected two inputs of one shape, or with extents of 1 that are "
               "repeated, found [4] and [3]");
  Model second("m");
  const Value y = second.input({4, 2}, "y");
  const Value z = second.input({3, 5}, "z");
  second.output(second.add(Concatenate(0, "both"), {y, z}));
  expect_error([&] { second.build(); }, "differ along axis 0 alone, found [4, 2] and [3, 5]");
  expect_error([] { static_cast<void>(Add(Activation::softmax)); },
               "expected activation none, relu or relu6");
}

TEST(Concatenate, CountsItsAxisWithoutTheBatch) {
  for (const Index axis : {Index{0}, Index{-2}}) {
    Model model("m");
    const Value x = model.input({1, 2});
    const Value y = model.input({2, 2});
    model.output(model.add(Concatenate(axis), {x, y}));
    model.build();
    const std::vector<Tensor> inputs = {Tensor::from({2, 1, 2}, {1, 2, 3, 4}),
                                        Tensor::from({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12})};
    expect_tensor(model.forward_all(inputs).front(), {2, 3, 2},
                  {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12});
  }
  expect_error(
      [] {
        Model model("m");
        const Value x = model.input({2});
        model.output(model.add(Concatenate(1, "c"), {x, x}));
        model.build();
      },
      "Concatenate \"c\": expected an axis of examples [2], found 1");
}

// What the operator takes, so that no network trains that could not be lowered.
TEST(Concatenate, TakesAtMost16Inputs) {
  const auto build = [](std::size_t count) {
    Model model("m");
    const Value x = model.input({2});
    model.output(model.add(Concatenate(-1, "c"), std::vector<Value>(count, x)));
    model.build();
    return model;
  };
  EXPECT_EQ(build(16).output_shape(), (Shape{32}));
  expect_error([&] { build(17); }, "Concatenate \"c\": expected at most 16 inputs, found 17");
}

}  // namespace
}  // namespace octet::test::model_test
