// A layer that several places of a model use: one set of parameters, one gradient, one buffer.

#include <octet/compress/adaround.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/architecture.h>
#include <octet/octet.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/saved_and_shipped.h>
#include <octet/train/layer_differences.h>

namespace octet::test::reused_layer_test {
namespace {

/// Both halves of what siamese networks compute, joined: f(x A) and f(x B) by one f. `joins` by a
/// Concatenate instead of an Add.
Model siamese(bool joins = false, Activation function = Activation::relu) {
  Model model("siamese");
  const Value x = model.input({6});
  const Value left = model.add(Dense(8, Activation::none, "a"), x);
  const Value right = model.add(Dense(8, Activation::none, "b"), x);
  const Value first = model.add(Dense(7, function, "head"), left);
  const Value second = model.reuse(first, {right});
  const Value both =
      joins ? model.add(Concatenate(), {first, second}) : model.add(Add(), {first, second});
  model.output(model.add(Dense(3, Activation::softmax), both));
  model.build(/*seed=*/3);
  return model;
}

TEST(ReusedLayer, ComputesWithTheTensorsOfTheLayerAndSumsTheGradients) {
  Model model("m");
  const Value x = model.input({3});
  const Value y = model.add(Dense(3), x);
  model.output(model.reuse(y, {y}));
  model.build(1);
  EXPECT_EQ(names_of(model.parameters()), (std::vector<std::string>{"dense/kernel", "dense/bias"}));
  EXPECT_EQ(model.layers().back()->name(), "dense_1");
  const Tensor kernel = model.layer("dense").weights()->kernel;
  const Tensor bias = model.layer("dense").weights()->bias;
  const Tensor samples = Tensor::normal({4, 3}, Random(2), 0.0F, 1.0F);
  sum(model.forward(samples, training())).backward();
  const Tensor found = kernel.grad().clone();
  model.zero_grad();
  const Tensor once = matmul(samples, kernel) + bias;
  const Tensor twice = matmul(once, kernel) + bias;
  sum(twice).backward();
  for (Index i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found.data()[i], kernel.grad().data()[i], 1e-5F);
  }
}

TEST(ReusedLayer, IsTrainedShippedAndLoadedToTheLastBit) {
  const Dataset train = clouds(200, 1, 6, 3, 0.2F);
  const Dataset test = clouds(300, 2, 6, 3, 0.2F);
  for (const bool joins : {false, true}) {
    for (const QuantizeOptions& options :
         {QuantizeOptions{}, QuantizeOptions{.rounding = Rounding::double_rounding},
          QuantizeOptions{.rounding = Rounding::single_rounding, .weight_bits = 4}}) {
      Model quantized = quantize_model(siamese(joins), options);
      Trainer trainer(quantized, Adam(0.01F));
      trainer.fit(train, test, 10);
      expect_saved_and_shipped(quantized, trainer, test);
    }
  }
}

TEST(ReusedLayer, OfALearnedScaleIsTrained) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Model quantized = quantize_model(siamese(), {.simulation = simulation,
                                                 .weight_scales = Scales::lsq,
                                                 .activation_scales = Scales::lsq_plus});
    Trainer trainer(quantized, Adam(0.01F));
    trainer.fit(clouds(200, 1, 6, 3, 0.2F), 12);
    EXPECT_GT(trainer.history().back().train_accuracy, 0.9);
  }
}

TEST(ReusedLayer, IsOneTensorInFiles) {
  Model quantized = quantize_model(siamese());
  calibrate(quantized, clouds(60, 1, 6, 3).features(0, 60));
  refresh_kernel_ranges(quantized);
  for (const IntegerModel& model : {lower(quantized), lower_float(siamese())}) {
    std::size_t kernels = 0;
    std::vector<std::string> results;
    for (const ModelTensor& tensor : model.tensors) {
      kernels += tensor.name == "head/kernel" ? 1 : 0;
      if (tensor.data.empty()) results.push_back(tensor.name);
    }
    EXPECT_EQ(kernels, 1U);
    EXPECT_EQ(std::ranges::count(results, "head"), 1);
    EXPECT_EQ(std::ranges::count(results, "head_1"), 1);
  }
}

TEST(ReusedLayer, ObservesWhatAllUsesGive) {
  const Calibration calibrations[] = {Calibration::min_max, Calibration::moving_average};
  for (const Calibration calibration : calibrations) {
    Model quantized = quantize_model(siamese(), {.activation_calibration = calibration});
    const Tensor samples = clouds(60, 1, 6, 3).features(0, 60);
    calibrate(quantized, samples);
    const Model floats = siamese();
    float most = 0.0F;
    floats.forward_all(std::vector<Tensor>{samples}, [&](std::size_t i, const auto& steps) {
      if (!floats.layers()[i]->name().starts_with("head")) return;
      for (const float value : steps.back().span()) most = std::max(most, value);
    });
    EXPECT_NEAR(tensor_named(quantized.state(), "quant_head/post_activation_max").item(), most,
                0.02F * most)
        << to_string(calibration);
  }
}

TEST(ReusedLayer, OfALearnedScaleKeepsItWhileNothingIsTrained) {
  Model quantized = quantize_model(siamese(), {.activation_scales = Scales::lsq});
  const Tensor samples = clouds(60, 1, 6, 3).features(0, 60);
  calibrate(quantized, samples);
  const auto range = [&] {
    return tensor_named(quantized.state(), "quant_head/post_activation_max").item();
  };
  const float start = range();
  for (int i = 0; i < 5; ++i) quantized.forward(samples, training());
  EXPECT_EQ(range(), start);
  // Its first pass would change what the backward pass has read.
  Model without_start = quantize_model(siamese(), {.activation_scales = Scales::lsq});
  EXPECT_THROW(without_start.forward(samples, training()), InvalidArgument);
}

TEST(ReusedLayer, IsMarkedWhereItIsAdded) {
  Model model = siamese();
  model.layer("head_1").set_quantization({.in_float = true});
  EXPECT_THROW(quantize_model(model), InvalidArgument);
}

TEST(ReusedLayer, OutlivesTheModelThatItIsCopiedFrom) {
  auto model = std::make_unique<Model>(siamese());
  std::unique_ptr<Layer> copy = model->layer("head_1").clone();
  model.reset();
  Model other("other");
  const Value x = other.input({8});
  const Value head = other.add(Dense(7, Activation::none, "head"), x);
  other.output(other.add(Add(), {head, other.add(std::move(copy), {x})}));
  other.build();
  EXPECT_EQ(other.parameters().size(), 2U);
  EXPECT_THROW(other.add(ReusedLayer("input_1"), {x}), InvalidArgument);
}

TEST(ReusedLayer, IsLeftAloneByWhatLooksAtOneReader) {
  // A clamp or a batch normalization behind one use does not belong to the other.
  Model model("m");
  const Value x = model.input({6});
  const Value first = model.add(Dense(6, Activation::none, "head"), x);
  const Value clamped = model.add(ReLU(), model.add(BatchNorm(), first));
  model.output(model.add(Dense(2), model.reuse(clamped, {model.reuse(first, {clamped})})));
  model.build(3);
  const Tensor samples = clouds(60, 1, 6, 3).features(0, 60);
  Model quantized = quantize_post_training(model, samples);
  EXPECT_EQ(compare_networks(quantized, lower(quantized), clouds(60, 1, 6, 3)).total().differing,
            0U);
  EXPECT_EQ(quantized.layer("quant_head").activation(), Activation::none);
  EXPECT_EQ(folded_batch_norm(quantized.layer("quant_head")), nullptr);

  Model equalized = siamese();
  const Equalization result = cross_layer_equalization(equalized);
  EXPECT_TRUE(result.pairs.empty());
  EXPECT_TRUE(std::ranges::any_of(result.left_out, [](const auto& left) {
    return left.layer == "head" && left.reason == "it is used several times";
  }));
  Model corrected = quantize_post_training(siamese(), samples);
  const auto names = [](const auto& all) {
    std::vector<std::string> found;
    found.reserve(all.size());
    for (const auto& each : all) found.push_back(each.layer);
    return found;
  };
  EXPECT_EQ(names(correct_biases(corrected, samples).left_out),
            std::vector<std::string>{"quant_head"});
  EXPECT_EQ(names(adaround(corrected, samples, {.steps = 1}).left_out),
            std::vector<std::string>{"quant_head"});
}

TEST(ReusedLayer, RefusesInputsOfOtherShapesAndOtherModels) {
  Model model("m");
  const Value x = model.input({6});
  const Value y = model.add(Dense(5, Activation::none, "head"), x);
  EXPECT_THROW(model.reuse(x, {y}), InvalidArgument);
  EXPECT_THROW(model.reuse(Model("other").input({6}), {y}), InvalidArgument);
  model.output(model.reuse(y, {y}));
  EXPECT_EQ(message_of<InvalidArgument>([&] { model.build(); }),
            "layer \"head_1\": expected inputs of the shapes that \"head\" was built for, [6], "
            "found [5]");
  EXPECT_THROW(static_cast<void>(ReusedLayer("head").layer()), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::reused_layer_test
