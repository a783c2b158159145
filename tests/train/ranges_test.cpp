// RangeFreeze and QuantizationDelay: what moves, and when.

#include <octet/core/tensor_internal.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>

#include <algorithm>

namespace octet::test::ranges_test {
namespace {

using detail::TensorAccess;

/// The state of the quantizers, by name, before each step and after the last.
std::vector<std::map<std::string, float>> states_while(Trainer& trainer, const Dataset& data,
                                                       int epochs) {
  std::vector<std::map<std::string, float>> states;
  const auto take = [&states](const Model& model) {
    auto& now = states.emplace_back();
    for (const auto& [name, tensor] : model.state()) now[name] = tensor.data()[0];
  };
  trainer.add_callback({.on_step_begin = [&](Trainer& at, std::uint64_t) { take(at.model()); }});
  trainer.fit(data, epochs);
  take(trainer.model());
  return states;
}

bool is_kernel(const std::string& name) { return name.find("kernel_") != std::string::npos; }

TEST(RangeFreeze, StopsActivationsAndLeavesKernels) {
  const Dataset data = clouds(40);
  Sequential model = quantize_model(small_mlp());
  Trainer trainer(model, Adam(0.02F), {.batch_size = 8});
  trainer.add_callback(std::make_shared<RangeFreeze>(6));
  const auto states = states_while(trainer, data, 2);
  ASSERT_EQ(states.size(), 11U);
  for (std::size_t step = 0; step + 1 < states.size(); ++step) {
    for (const auto& [name, value] : states[step]) {
      const bool moved = states[step + 1].at(name) != value;
      if (step >= 6 && !is_kernel(name)) {
        EXPECT_FALSE(moved) << name << " at step " << step;
      }
    }
  }
  // Before the freeze they do move; kernels go on.
  EXPECT_NE(states[5].at("quant_dense/post_activation_max"),
            states[6].at("quant_dense/post_activation_max"));
  EXPECT_NE(states[9].at("quant_dense/kernel_max"), states[10].at("quant_dense/kernel_max"));
}

TEST(RangeFreeze, FromTheStartKeepsWhatCalibrationFound) {
  const Dataset data = clouds(40);
  Sequential frozen_model = quantize_model(small_mlp());
  Trainer frozen(frozen_model, Adam(0.02F), {.batch_size = 8});
  frozen.add_callback(std::make_shared<RangeFreeze>(0));
  const auto states = states_while(frozen, data, 1);
  EXPECT_GT(states.front().at("quant_dense/post_activation_max"), 0.0F);
  for (const auto& [name, value] : states.front()) {
    if (!is_kernel(name)) {
      EXPECT_EQ(states.back().at(name), value) << name;
    }
  }
}

Bytes parameter_bytes(const Model& model) {
  Archive archive;
  int index = 0;  // the layers of the two models have other names
  for (const auto& [name, tensor] : model.parameters()) {
    archive.add(std::to_string(index++), tensor);
  }
  return archive.to_bytes();
}

TEST(QuantizationDelay, TrainsInFloatUntilItsStep) {
  const Dataset data = clouds(40);
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    std::map<std::uint64_t, Bytes> in_float;
    std::map<std::uint64_t, Bytes> delayed;
    const auto train = [&](Sequential& model, std::map<std::uint64_t, Bytes>& at_step) {
      Trainer trainer(model, Sgd(0.05F, {.momentum = 0.9F}), {.batch_size = 8});
      trainer.add_callback(std::make_shared<QuantizationDelay>(7));
      trainer.add_callback({.on_step_begin = [&](Trainer& at, std::uint64_t step) {
        at_step[step] = parameter_bytes(at.model());
      }});
      trainer.fit(data, 2);
    };
    Sequential plain = small_mlp();
    Sequential quantized = quantize_model(plain, {.simulation = simulation});
    train(plain, in_float);
    train(quantized, delayed);
    ASSERT_EQ(delayed.size(), 10U);
    for (std::uint64_t step = 0; step < 10; ++step) {
      EXPECT_EQ(delayed[step] == in_float[step], step <= 7) << step;
    }
  }
}

TEST(QuantizationDelay, ObservesRangesMeanwhile) {
  const Dataset data = clouds(40);
  Sequential model = quantize_model(small_mlp());
  Trainer trainer(model, Sgd(0.05F), {.batch_size = 8});
  trainer.add_callback(std::make_shared<QuantizationDelay>(1000));
  const auto states = states_while(trainer, data, 1);
  for (std::size_t step = 0; step + 1 < states.size(); ++step) {
    EXPECT_NE(states[step].at("quant_dense/post_activation_max"),
              states[step + 1].at("quant_dense/post_activation_max"));
  }
  // While it is delayed the simulation computes in float: the outputs lie on no grid.
  EXPECT_EQ(model.forward_logits(data.features(0, 4)).quantization(), nullptr);
  enable_quantization(model, true);
  EXPECT_NE(model.forward_logits(data.features(0, 4)).quantization(), nullptr);
}

}  // namespace
}  // namespace octet::test::ranges_test
