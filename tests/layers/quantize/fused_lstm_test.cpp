// LSTM as UNIDIRECTIONAL_SEQUENCE_LSTM: what is trained is what the file computes.

#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/layers/layers.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/layers/drawn_layers.h>
#include <octet/tests/layers/quantize/random_lstms.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace octet::test::fused_lstm_test {
namespace {

std::ptrdiff_t fused_operators(const IntegerModel& model) {
  return std::ranges::count(model.operators, OpCode::unidirectional_sequence_lstm, &Operator::code);
}

TEST(FusedLstm, RandomNetworksComputeWhatTheirFilesDo) {
  expect_random_networks_ship<RandomLstms>(random_networks(60), [](const RandomLstms&) {
    return QuantizeOptions{.rounding = Rounding::double_rounding};
  });
}

TEST(FusedLstm, RandomNetworksOnInt16ComputeWhatTheirFilesDo) {
  expect_random_networks_ship<RandomLstms>(random_networks(60), [](const RandomLstms&) {
    return QuantizeOptions{.rounding = Rounding::q15, .activation_bits = 16};
  });
}

TEST(FusedLstm, RandomNetworksLearnTheirScales) {
  expect_random_networks_ship<RandomLstms>(random_networks(20), [](const RandomLstms&) {
    return QuantizeOptions{.rounding = Rounding::double_rounding,
                           .weight_bits = 4,
                           .weight_scales = Scales::lsq,
                           .activation_scales = Scales::lsq};
  });
}

// The operator on real values is the layer made of single operators, and so are its gradients.
TEST(FusedLstm, ComputesTheFormulasAndTheirGradients) {
  const Shape shape{5, 4};
  for (const bool all : {true, false}) {
    const LSTM apart = drawn(LSTM(3, {.return_sequences = all, .fused = true}), {shape});
    LSTM fused = apart;
    fused.quantize_for(Rounding::double_rounding);
    LSTM plain = apart;
    const Tensor x = Tensor::uniform(shape.with_batch(6), Random(3), -2.0F, 2.0F);
    const auto gradients_of = [&](Layer& layer) {
      Tensor own = x.detach().set_requires_grad(true);
      const Tensor y = layer.forward(own, training(1));
      mean(square(y)).backward();
      std::vector<Tensor> found{y.detach(), own.grad()};
      for (const auto& [name, tensor] : layer.parameters()) found.push_back(tensor.grad());
      return found;
    };
    const std::vector<Tensor> expected = gradients_of(plain);
    const std::vector<Tensor> found = gradients_of(fused);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].shape(), expected[i].shape());
      for (std::size_t at = 0; at < found[i].span().size(); ++at) {
        ASSERT_NEAR(found[i].span()[at], expected[i].span()[at], 1e-6F) << i << " at " << at;
      }
    }
  }
}

Model small(LSTMOptions options, Index steps = 4) {
  Model model("small");
  model.output(model.add(LSTM(3, std::move(options)), model.input({steps, 2})));
  model.build(4);
  return model;
}

Model quantized_of(const Model& model, Rounding rounding) {
  QuantizeOptions options{.rounding = rounding};
  if (rounding == Rounding::q15) options.activation_bits = 16;
  Model quantized = quantize_model(model, options);
  const Shape shape = model.layers().front()->output_shape();
  calibrate(quantized, Tensor::uniform(shape.with_batch(50), Random(9), -2.0F, 2.0F));
  return quantized;
}

/// The length of what two tensors differ by, as a share of the second's.
double distance(const Tensor& found, const Tensor& expected) {
  double apart = 0.0;
  double whole = 0.0;
  for (std::size_t i = 0; i < expected.span().size(); ++i) {
    apart += std::pow(double{found.span()[i]} - double{expected.span()[i]}, 2.0);
    whole += std::pow(double{expected.span()[i]}, 2.0);
  }
  return std::sqrt(apart / whole);
}

// Gradients made of what the integers' kernel has computed of the gates are the gradients of the
// layer that is made of single operators, as near as their roundings are.
TEST(FusedLstm, GradientsFollowFromIntegers) {
  for (const Rounding rounding : {Rounding::double_rounding, Rounding::q15}) {
    for (const bool all : {true, false}) {
      // What ranges were taken from: nothing is clipped.
      const Tensor x = Tensor::uniform({50, 9, 2}, Random(9), -2.0F, 2.0F);
      const auto gradients_of = [&](bool fused) {
        Model model = quantized_of(small({.return_sequences = all, .fused = fused}, 9), rounding);
        Tensor own = x.detach().set_requires_grad(true);
        mean(square(model.forward(own, training(1)))).backward();
        std::vector<NamedTensor> found{{"x", own.grad()}};
        for (const auto& [name, tensor] : model.parameters()) {
          found.push_back({name, tensor.grad()});
        }
        return found;
      };
      const std::vector<NamedTensor> expected = gradients_of(false);
      const std::vector<NamedTensor> found = gradients_of(true);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].tensor.shape(), expected[i].tensor.shape());
        EXPECT_LT(distance(found[i].tensor, expected[i].tensor),
                  rounding == Rounding::q15 ? 0.05 : 0.1)
            << found[i].name;
      }
    }
  }
}

TEST(FusedLstm, IsOneOperatorWhereTheRoundingModeHasIt) {
  const Model model = small({.fused = true});
  EXPECT_EQ(fused_operators(lower_float(model)), 0);
  for (const Rounding rounding : kContracts) {
    const bool has = rounding == Rounding::double_rounding || rounding == Rounding::q15;
    EXPECT_EQ(fused_operators(lower(quantized_of(model, rounding))), has ? 1 : 0)
        << to_string(rounding);
  }
  EXPECT_EQ(fused_operators(lower(quantized_of(small({}), Rounding::double_rounding))), 0);
  Bidirectional both(LSTM(3, {.fused = true}));
  Model turned("turned");
  turned.output(turned.add(both, turned.input({4, 2})));
  turned.build(1);
  expect_same_as_shipped(quantized_of(turned, Rounding::double_rounding),
                         Tensor::uniform({5, 4, 2}, Random(2)));
}

// As near to the layer in float as the integers of single operators are, over many steps too.
TEST(FusedLstm, StaysNearTheLayerInFloat) {
  for (const Index steps : {4, 120}) {
    const Model model = small({.return_sequences = true, .fused = true}, steps);
    const Tensor x = Tensor::uniform({40, steps, 2}, Random(6), -2.0F, 2.0F);
    const Tensor expected = model.forward(x);
    for (const Rounding rounding : {Rounding::double_rounding, Rounding::q15}) {
      const Tensor found = quantized_of(model, rounding).forward(x);
      float apart = 0.0F;
      for (std::size_t i = 0; i < found.span().size(); ++i) {
        apart = std::max(apart, std::abs(found.span()[i] - expected.span()[i]));
      }
      EXPECT_LT(apart, 0.05F) << to_string(rounding) << ", " << steps << " steps";
    }
  }
}

// First states of any scale are no operator's own.
TEST(FusedLstm, IsMadeOfSingleOperatorsBehindOtherStates) {
  Model model("given");
  const Value x = model.input({4, 2});
  const Value first = model.add(Dense(3), model.input({5}));
  model.output(model.add(LSTM(3, {.fused = true}), {x, first, first}));
  model.build(3);
  Model quantized = quantize_model(model, {.rounding = Rounding::double_rounding});
  const std::vector<Tensor> batch = {Tensor::uniform({9, 4, 2}, Random(1)),
                                     Tensor::uniform({9, 5}, Random(2))};
  calibrate(quantized, batch);
  const IntegerModel lowered = lower(quantized);
  EXPECT_EQ(fused_operators(lowered), 0);
}

TEST(FusedLstm, FilesSayThatStatesBeginAnew) {
  const IntegerModel lowered =
      lower(quantized_of(small({.fused = true}), Rounding::double_rounding));
  const std::vector<std::uint8_t> file = to_tflite(lowered);
  const IntegerModel read = from_tflite(file);
  EXPECT_EQ(read.inputs.size(), 1U);
  EXPECT_EQ(read.outputs.size(), 1U);
  EXPECT_EQ(to_tflite(read), file);
  const std::vector<std::string> warnings = runtime_warnings(read);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("reset the variable tensors in front of each sequence"),
            std::string::npos);
}

template <class Run>
std::string message_of(Run&& run) {
  try {
    run();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(FusedLstm, WhatTheOperatorLacksIsRefused) {
  for (const auto& [options, found] :
       {std::pair{LSTMOptions{.masked = true, .fused = true}, "masked"},
        std::pair{LSTMOptions{.recurrent_dropout = 0.1F, .fused = true}, "recurrent_dropout"},
        std::pair{LSTMOptions{.truncation = 2, .fused = true}, "truncation"},
        std::pair{LSTMOptions{.go_backwards = true, .fused = true}, "go_backwards"}}) {
    const std::string message = message_of([&, &given = options] { LSTM(3, given); });
    EXPECT_NE(message.find(std::string("fused without ") + found), std::string::npos) << message;
  }
  EXPECT_NE(message_of([] { GRU(3, {.fused = true}); }).find("which LSTM alone has"),
            std::string::npos);
  const Model model = quantized_of(small({.fused = true}), Rounding::double_rounding);
  EXPECT_NE(message_of([&] { to_onnx(lower(model)); }).find("LSTMOptions::fused"),
            std::string::npos);
}

}  // namespace
}  // namespace octet::test::fused_lstm_test
