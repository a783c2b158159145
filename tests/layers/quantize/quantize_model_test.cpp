#include <octet/layers/conv2d.h>
#include <octet/layers/dropout.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

namespace octet::test::quantize_model_test {
namespace {

TEST(QuantizeModel, WrapsEveryLayerBehindAQuantizedInput) {
  const Sequential model = build_model(Input({2, 3}), Flatten(), Dense(5, Activation::relu),
                                       Dropout(0.1F), Dense(2, Activation::softmax));
  Sequential quantized = quantize_model(model);
  EXPECT_EQ(quantized.name(), model.name());
  EXPECT_EQ(
      layer_lines(quantized),
      (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                "quant_flatten QuantizeWrapper", "quant_dense QuantizeWrapper",
                                "quant_dropout QuantizeWrapper", "quant_dense_1 QuantizeWrapper"}));
  EXPECT_TRUE(quantized.built());
  EXPECT_TRUE(is_quantized(quantized));
  EXPECT_FALSE(is_quantized(model));
  EXPECT_FALSE(has_ranges(quantized));
  EXPECT_TRUE(quantized.ends_in_softmax());
}

TEST(QuantizeModel, KeepsStateInThisOrder) {
  const auto state_of = [](Activation activation) {
    Sequential quantized = quantize_model(build_model(Input({4}), Dense(3, activation)));
    return names_of(quantized.layer("quant_dense").state());
  };
  for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6}) {
    EXPECT_EQ(state_of(activation),
              (std::vector<std::string>{"kernel_min", "kernel_max", "post_activation_min",
                                        "post_activation_max", "post_activation_zero_point"}));
  }
  for (const Activation activation : {Activation::softmax, Activation::sigmoid, Activation::tanh}) {
    EXPECT_EQ(state_of(activation),
              (std::vector<std::string>{"kernel_min", "kernel_max", "pre_activation_min",
                                        "pre_activation_max", "pre_activation_zero_point"}));
  }
  Sequential quantized = quantize_model(build_model(Input({4}), ReLU()));
  EXPECT_EQ(names_of(quantized.layer("quantize_layer").state()),
            (std::vector<std::string>{"min", "max", "zero_point"}));
  EXPECT_EQ(names_of(quantized.layer("quant_re_lu").state()),
            (std::vector<std::string>{"output_min", "output_max", "output_zero_point"}));
}

TEST(QuantizeModel, AddsThreeValuesToTheInputAndFiveToADense) {
  const Sequential model = build_model(Input({4}), Dense(3, Activation::relu));
  Sequential quantized = quantize_model(model);
  EXPECT_EQ(count_elements(quantized.layer("quantize_layer").state()), 3);
  EXPECT_EQ(count_elements(quantized.layer("quant_dense").state()), 5);
  EXPECT_EQ(count_elements(quantized.parameters()), count_elements(model.parameters()));
  Sequential channels = quantize_model(model, {.per_channel = true});
  EXPECT_EQ(count_elements(channels.layer("quant_dense").state()), 3 + 3 + 3);
  EXPECT_EQ(tensor_named(channels.state(), "quant_dense/kernel_min").shape(), (Shape{3}));
}

TEST(QuantizeModel, FusesAClampBehindADenseWithoutActivation) {
  for (const Activation activation : {Activation::relu, Activation::relu6}) {
    Sequential quantized = quantize_model(
        build_model(Input({4}), Dense(3), ActivationLayer(activation, "clamp"), Dense(2)));
    EXPECT_EQ(
        layer_lines(quantized),
        (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                  "quant_dense QuantizeWrapper", "quant_dense_1 QuantizeWrapper"}));
    const QuantizeWrapper& wrapper = dense_wrapper(quantized, "quant_dense");
    EXPECT_EQ(wrapper.wrapped().activation(), activation);
    EXPECT_NE(wrapper.kernel_quantizer(), nullptr);
  }
}

TEST(QuantizeModel, ALayerInFloatIsInFloatWhereverItIsUsed) {
  Model model("m");
  const Value once =
      model.add(in_float(Dense(4, Activation::none, "real")), model.input({4}, "input"));
  model.output(model.reuse(once, {once}));
  model.build(1);
  EXPECT_EQ(layer_lines(quantize_model(model)),
            (std::vector<std::string>{"input InputLayer", "quantize_layer QuantizeLayer",
                                      "real Dense", "real_1 ReusedLayer"}));
}

TEST(QuantizeModel, FusesNothingElse) {
  Sequential quantized = quantize_model(
      build_model(Input({4}), ReLU("first"), Dense(4, Activation::relu), ReLU("second"), Dense(4),
                  Dropout(0.1F), ReLU("third"), Dense(2), Softmax()));
  EXPECT_EQ(
      layer_lines(quantized),
      (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                "quant_first QuantizeWrapper", "quant_dense QuantizeWrapper",
                                "quant_second QuantizeWrapper", "quant_dense_1 QuantizeWrapper",
                                "quant_dropout QuantizeWrapper", "quant_third QuantizeWrapper",
                                "quant_dense_2 QuantizeWrapper", "quant_softmax QuantizeWrapper"}));
  EXPECT_EQ(dense_wrapper(quantized, "quant_dense_2").wrapped().activation(), Activation::none);
  EXPECT_TRUE(quantized.ends_in_softmax());
  EXPECT_TRUE(quantized.layer("quant_softmax").quantizers().empty());
}

TEST(QuantizeModel, CopiesTheWeightsAndLeavesTheOriginalAlone) {
  const Sequential model = build_model(Input({4}), Dense(3), ReLU(), Dense(2, Activation::softmax));
  const Tensor x = random_tensor({5, 4}, 1);
  const std::vector<float> before = values_of(model.forward(x));
  Sequential quantized = quantize_model(model);
  const auto originals = model.parameters();
  const auto copies = quantized.parameters();
  ASSERT_EQ(names_of(copies),
            (std::vector<std::string>{"quant_dense/kernel", "quant_dense/bias",
                                      "quant_dense_1/kernel", "quant_dense_1/bias"}));
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(values_of(copies[i].tensor), values_of(originals[i].tensor));
  }
  quantized.forward(x, training());
  for (auto& [name, tensor] : quantized.saved_tensors())
    std::ranges::fill(tensor.mutable_span(), 0.5F);
  EXPECT_EQ(values_of(model.forward(x)), before);
  EXPECT_EQ(layer_lines(model), (std::vector<std::string>{"input_1 InputLayer", "dense Dense",
                                                          "re_lu ReLU", "dense_1 Dense"}));
}

TEST(QuantizeModel, AfterCalibrationIsCloseToTheFloatModel) {
  Sequential model =
      build_model(Input({16}), Dense(32), ReLU(), Dense(16, Activation::tanh), Dense(4));
  const Tensor x = random_tensor({64, 16}, 2);
  const Tensor expected = model.forward(x);
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    for (const bool per_channel : {false, true}) {
      Sequential quantized =
          quantize_model(model, {.simulation = simulation, .per_channel = per_channel});
      calibrate(quantized, x);
      EXPECT_TRUE(has_ranges(quantized));
      const Tensor found = quantized.forward(x);
      for (std::size_t i = 0; i < expected.span().size(); ++i) {
        EXPECT_NEAR(found.span()[i], expected.span()[i], 0.06F);
      }
    }
  }
}

TEST(QuantizeModel, RefusesWhatItCannotQuantize) {
  const Sequential unbuilt("bare", Input({4}), Dense(3));
  expect_error([&] { quantize_model(unbuilt); }, "quantize_model: model");
  expect_error([&] { quantize_model(unbuilt); }, "\"bare\"");
  Sequential quantized = quantize_model(build_model(Input({4}), Dense(3)));
  expect_error([&] { quantize_model(quantized); }, "quantized already");
  const Sequential own = build_model(Input({4}), Doubling("mine"));
  expect_error([&] { quantize_model(own); }, "\"mine\" of type Doubling");
  expect_error([&] { quantize_model(own); }, "leave it in float with in_float()");
  // A mark without a config does not help either.
  Sequential marked("m", Input({4}));
  marked.add(quantize_annotate_layer(Doubling("mine")));
  marked.build();
  expect_error([&] { quantize_model(marked); }, "\"mine\" of type Doubling");
  expect_error([&] { quantize_model(build_model(Input({4}), Dense(3)), {.weight_bits = 1}); },
               "2 to 8");
}

TEST(QuantizeModel, BuiltAnewStartsAnew) {
  Sequential quantized = quantize_model(build_model(Input({4}), Dense(3), ReLU(), Flatten()));
  calibrate(quantized, random_tensor({5, 4}, 1));
  quantized.build(7);
  EXPECT_FALSE(has_ranges(quantized));
  Sequential fresh("m", Input({4}), QuantizeLayer(), Dense(3));
  fresh.build(7);
  EXPECT_EQ(values_of(quantized.parameters()[0].tensor), values_of(fresh.parameters()[0].tensor));
}

TEST(QuantizeModel, FreezesRangesButThoseOfKernels) {
  Sequential quantized = quantize_model(build_model(Input({4}), Dense(3), ReLU("r"), ReLU()));
  calibrate(quantized, random_tensor({5, 4}, 1));
  const auto before = quantized.state();
  std::vector<std::vector<float>> values;
  values.reserve(before.size());
  for (const auto& [name, tensor] : before) values.push_back(values_of(tensor));
  freeze_ranges(quantized, true);
  for (const auto& [name, tensor] : quantized.parameters()) {
    for (float& v : Tensor(tensor).mutable_span()) v *= 2.0F;
  }
  quantized.forward(random_tensor({5, 4}, 2, -9.0F, 9.0F), training());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_kernel = before[i].name.find("kernel") != std::string::npos;
    EXPECT_EQ(values_of(before[i].tensor) != values[i], is_kernel) << before[i].name;
  }
  freeze_ranges(quantized, false);
  quantized.forward(random_tensor({5, 4}, 2, -9.0F, 9.0F), training());
  EXPECT_NE(values_of(before[0].tensor), values[0]);
}

TEST(QuantizeModel, RefreshesKernelRangesFromTheKernelsAsTheyAre) {
  Sequential quantized = quantize_model(build_model(Input({2}), Dense(1)));
  fill(tensor_named(quantized.parameters(), "quant_dense/kernel"), {3.0F, -4.0F});
  refresh_kernel_ranges(quantized);
  EXPECT_EQ(tensor_named(quantized.state(), "quant_dense/kernel_max").item(), 4.0F);
  EXPECT_EQ(tensor_named(quantized.state(), "quant_dense/kernel_min").item(), -4.0F);
  EXPECT_FALSE(has_ranges(quantized));
}

TEST(QuantizeModel, RefusesUnitsThatReadMoreThanAnInt32SumHolds) {
  constexpr Index kMost = 131071;
  const auto dense = [](Index inputs) {
    return build_model(Input({inputs}), Dense(1, Activation::none, DenseOptions{.name = "wide"}));
  };
  EXPECT_NO_THROW(quantize_model(dense(kMost)));
  Conv2D large(1, {363, 363}, Activation::none, {.name = "wide"});
  for (const Sequential& model :
       {dense(kMost + 1), build_model(Input({363, 363, 1}), std::move(large))}) {
    expect_throws<InvalidArgument>([&] { quantize_model(model); },
                                   {"layer \"quant_wide\"", "at most 131071 values",
                                    model.input_shape().rank() == 1 ? "131072" : "131769"});
  }
  // Codes of 16 bits are added up in int64.
  EXPECT_NO_THROW(
      quantize_model(dense(kMost + 1), {.rounding = Rounding::q15, .activation_bits = 16}));
  // As the message says.
  Model in_reals = quantize_model(build_model(
      Input({kMost + 1}), in_float(Dense(1, Activation::none, DenseOptions{.name = "wide"}))));
  calibrate(in_reals, Tensor::ones({1, kMost + 1}));
  EXPECT_EQ(lower(in_reals).operators.back().code, OpCode::fully_connected);
}

TEST(QuantizeModel, DisabledComputesTheFloatModel) {
  const Sequential model = build_model(Input({4}), Dense(3), ReLU(), Dropout(0.0F), ReLU("again"),
                                       Dense(3, Activation::tanh), Dense(2, Activation::softmax));
  const Tensor x = random_tensor({5, 4}, 1);
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Sequential quantized = quantize_model(model, {.simulation = simulation});
    enable_quantization(quantized, false);
    expect_close(quantized.forward(x, training()), model.forward(x));
    EXPECT_TRUE(has_ranges(quantized));
    enable_quantization(quantized, true);
    EXPECT_NE(values_of(quantized.forward(x)), values_of(model.forward(x)));
  }
}

TEST(QuantizeModel, CalibrationChangesNoParameterAndDropsNothing) {
  const Sequential model = build_model(Input({40}), Dropout(0.5F), Dense(1));
  Sequential quantized = quantize_model(model);
  fill(tensor_named(quantized.parameters(), "quant_dense/kernel"), std::vector<float>(40, 1.0F));
  calibrate(quantized, Tensor::ones({2, 40}));
  // With half of the inputs dropped and the rest doubled the sum would be another.
  EXPECT_NEAR(tensor_named(quantized.state(), "quant_dense/post_activation_max").item(), 40.0F,
              0.01F);
  EXPECT_EQ(values_of(tensor_named(quantized.parameters(), "quant_dense/kernel")),
            std::vector<float>(40, 1.0F));
}

}  // namespace
}  // namespace octet::test::quantize_model_test
