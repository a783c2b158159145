// Layers over sequences: what is trained is what is shipped.

#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/ops/reduce.h>
#include <octet/layers/architecture.h>
#include <octet/octet.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/saved_and_shipped.h>
#include <octet/train/layer_differences.h>

#include <functional>

namespace octet::test::sequences_test {
namespace {

constexpr Index kSteps = 5;
constexpr Index kFeatures = 4;

/// Networks over sequences of clouds, by name.
struct Network {
  std::string name;
  std::function<Model()> make;
};
std::vector<Network> networks() {
  const auto of = [](auto make_body) {
    return [make_body] {
      Model model("m");
      const Value x = model.input({kSteps * kFeatures});
      const Value sequence = model.add(Reshape({kSteps, kFeatures}), x);
      model.output(model.add(Dense(3, Activation::softmax), make_body(model, sequence)));
      model.build(/*seed=*/4);
      return model;
    };
  };
  return {
      {"gru", of([](Model& m, const Value& x) { return m.add(GRU(6), x); })},
      {"two_grus", of([](Model& m, const Value& x) {
         const Value states = m.add(GRU(5, {.return_sequences = true}), x);
         return m.add(GRU(4), {states, m.add(Dense(4), m.add(Flatten(), x))});
       })},
      {"lstm", of([](Model& m, const Value& x) {
         return m.add(LSTM(6), m.add(SimpleRNN(5, {.return_sequences = true}), x));
       })},
      {"rnn_joined", of([](Model& m, const Value& x) {
         const Value states = m.add(SimpleRNN(5, {.return_sequences = true}), x);
         return m.add(Flatten(), m.add(Concatenate(), {states, m.add(Dense(3), x)}));
       })},
      {"causal", of([](Model& m, const Value& x) {
         const Conv1DLayerOptions causal{.dilation = 2, .padding = Padding::causal};
         Value y = m.add(ReLU(), m.add(BatchNorm(), m.add(Conv1D(6, 2, {}, causal), x)));
         y = m.add(SeparableConv1D(6, 3, Activation::relu, {.padding = Padding::causal}), y);
         return m.add(GlobalAveragePool1D(), y);
       })},
      {"attention", of([](Model& m, const Value& x) {
         const Value y = m.add(Add(), {x, m.add(MultiHeadAttention(2, 3), x)});
         return m.add(Flatten(), y);
       })},
      {"svdf", of([](Model& m, const Value& x) {
         const Value y = m.add(SVDF(6, 3, Activation::relu, {.rank = 2}), x);
         return m.add(Flatten(),
                      m.add(SVDF(5, 2, Activation::none, {.padding = Padding::valid}), y));
       })},
      {"masked", of([](Model& m, const Value& x) {
         const Value mask = m.add(Slice({.axis = 1, .begin = 0, .size = 1}), x);
         const GRUOptions options{.return_sequences = true,
                                  .masked = true,
                                  .dropout = 0.1F,
                                  .recurrent_dropout = 0.1F,
                                  .truncation = 3};
         const Value states = m.add(Bidirectional(GRU(5, options)), {x, mask});
         return m.add(LSTM(4, {.masked = true, .recurrent_dropout = 0.1F}), {states, mask});
       })},
      {"bidirectional", of([](Model& m, const Value& x) {
         const Value states = m.add(Bidirectional(GRU(4, {.return_sequences = true})), x);
         return m.add(Bidirectional(SimpleRNN(5), {.merge_mode = MergeMode::ave}), states);
       })},
      {"transformer", of([](Model& m, const Value& x) {
         const Value placed = m.add(PositionEmbedding(), m.add(Dense(8), x));
         const Value y = m.add(LayerNormalization(), placed);
         const Value sum = m.add(Add(), {placed, m.add(MultiHeadAttention(2, 4), y)});
         const Value wide = m.add(GELU(), m.add(Dense(12), m.add(RMSNormalization(), sum)));
         return m.add(Flatten(), m.add(Add(), {sum, m.add(Dense(8), wide)}));
       })},
      {"merges", of([](Model& m, const Value& x) {
         const Value middle = m.add(Cropping1D(1, 1), x);
         const Value a = m.add(SiLU(), m.add(Dense(8), middle));
         const Value b = m.add(ELU(), m.add(Dense(8), middle));
         const Value most = m.add(Maximum(), {a, m.add(Minimum(), {m.add(Dense(8), middle), b})});
         const Value mean = m.add(Average(), {most, m.add(Subtract(Activation::relu), {a, b})});
         const Value told = m.add(RepeatVector(3), m.add(Dense(8), m.add(Flatten(), x)));
         return m.add(Flatten(), m.add(Multiply(), {mean, told}));
       })},
      {"functions", of([](Model& m, const Value& x) {
         const Value share = m.add(ActivationLayer(Activation::sigmoid), m.add(Dense(8), x));
         const Value logs = m.add(MathFunction(UnaryFunction::log), share);
         const Value roots =
             m.add(MathFunction(UnaryFunction::sqrt), m.add(Dense(8, Activation::relu), x));
         const Value powers = m.add(MathFunction(UnaryFunction::exp), roots);
         return m.add(Flatten(), m.add(Subtract(), {m.add(Add(), {logs, roots}), powers}));
       })},
      {"parts", of([](Model& m, const Value& x) {
         const std::vector<Value> parts = m.split(x, 2);
         const Value left = m.add(Dense(6, Activation::relu), parts[0]);
         const Value sum = m.add(Add(), {left, m.add(Dense(6), parts[1])});
         const Value turned = m.add(Permute({2, 1}), sum);
         return m.add(Flatten(), m.add(Slice({.begin = 1, .size = kSteps - 1}), turned));
       })},
  };
}

TEST(Sequences, AreTrainedShippedAndLoadedToTheLastBit) {
  const Dataset train = clouds(200, 1, kSteps * kFeatures, 3, 0.2F);
  const Dataset test = clouds(200, 2, kSteps * kFeatures, 3, 0.2F);
  for (const Network& network : networks()) {
    for (const QuantizeOptions& options :
         {QuantizeOptions{}, QuantizeOptions{.rounding = Rounding::single_rounding},
          QuantizeOptions{.rounding = Rounding::double_rounding, .weight_bits = 4},
          QuantizeOptions{.per_channel = true,
          .weight_scales = Scales::lsq,
          .activation_scales = Scales::lsq_plus}}) {
      SCOPED_TRACE(fmt::format("{}, {}", network.name, to_string(options.rounding)));
      // Learned scales cannot be shared, and may move the zero point of squares and of roots.
      const bool learns = options.weight_scales == Scales::lsq;
      if (learns && (network.name == "rnn_joined" || network.name == "merges" ||
                     network.name == "bidirectional" || network.name == "masked" ||
                     network.name == "functions")) {
        continue;
      }
      Model model = network.make();
      Trainer(model, Adam(0.01F)).fit(train, 12);
      Model quantized = quantize_model(model, options);
      Trainer trainer(quantized, Adam(0.005F));
      trainer.fit(train, test, 3);
      const IntegerModel read =
          expect_saved_and_shipped(quantized, trainer, test, 0.85, OnnxStyle::standard);
      for (const Operator& op : read.operators) {
        EXPECT_EQ(read.tensors[static_cast<std::size_t>(op.outputs[0])].dtype, DType::int8);
      }
    }
  }
}

TEST(Sequences, OfSixteenBitsAreTrainedShippedAndLoadedToTheLastBit) {
  const Dataset train = clouds(200, 1, kSteps * kFeatures, 3, 0.2F);
  const Dataset test = clouds(200, 2, kSteps * kFeatures, 3, 0.2F);
  for (const Network& network : networks()) {
    // MAXIMUM, ELU, LOG, RSQRT, AVERAGE_POOL_2D and others take int8 alone.
    if (network.name == "transformer" || network.name == "merges" || network.name == "causal" ||
        network.name == "functions") {
      continue;
    }
    SCOPED_TRACE(network.name);
    Model model = network.make();
    Trainer(model, Adam(0.01F)).fit(train, 12);
    Model quantized = quantize_model(model, {.rounding = Rounding::q15, .activation_bits = 16});
    Trainer trainer(quantized, Adam(0.005F));
    trainer.fit(train, test, 3);
    EXPECT_GT(*trainer.history().back().test_accuracy, 0.85);
    const ScratchDirectory scratch;
    trainer.save_checkpoint(scratch.path() / "c");
    const Bytes shipped = exported_bytes(trainer);
    EXPECT_EQ(to_tflite(lower(load_model(scratch.path() / "c"))), shipped);
    const IntegerModel read = from_tflite(shipped);
    EXPECT_EQ(compare_networks(quantized, read, test).total().differing, 0U);
    // What a softmax of attention gives is float.
    if (network.name == "attention") continue;
    for (const Operator& op : read.operators) {
      const DType found = read.tensors[static_cast<std::size_t>(op.outputs[0])].dtype;
      const bool is_end = op.code == OpCode::softmax || op.code == OpCode::dequantize;
      EXPECT_EQ(found, is_end ? DType::float32 : DType::int16) << to_string(op.code);
    }
  }
}

TEST(Sequences, TakeMemoryThatGrowsLinearlyWithTheirLength) {
  const KeepThreads guard;
  set_num_threads(1);
  const auto bytes_of_step = [](Index steps, bool quantized) {
    Model model("m");
    model.output(model.add(LSTM(32), model.input({steps, 8})));
    model.build(/*seed=*/1);
    const Tensor x = random_tensor({4, steps, 8}, 1);
    if (quantized) {
      model = quantize_model(model);
      calibrate(model, x);
    }
    constexpr std::size_t kMost = std::size_t{1} << 40U;
    const AllocationLimit limit(kMost, "a step");
    sum(model.forward(x, training(1))).backward();
    return static_cast<double>(kMost - limit.left());
  };
  for (const bool quantized : {false, true}) {
    const double first = bytes_of_step(50, quantized) - bytes_of_step(25, quantized);
    const double second = bytes_of_step(100, quantized) - bytes_of_step(50, quantized);
    EXPECT_NEAR(second / first, 2.0, 0.1);
  }
}

TEST(GRU, HasOneScaleForAValueAtAllStepsAndOneTensorForAKernel) {
  Model quantized = quantize_model(networks()[0].make());
  calibrate(quantized, clouds(60, 1, kSteps * kFeatures).features(0, 60));
  refresh_kernel_ranges(quantized);
  EXPECT_EQ(fmt::format("{}", fmt::join(names_of(quantized.layer("quant_gru").state()), " ")),
            "output_min output_max output_zero_point kernel_z_min kernel_z_max input_z_min "
            "input_z_max input_z_zero_point kernel_r_min kernel_r_max input_r_min input_r_max "
            "input_r_zero_point kernel_n_min kernel_n_max input_n_min input_n_max "
            "input_n_zero_point recurrent_kernel_z_min recurrent_kernel_z_max recurrent_z_min "
            "recurrent_z_max recurrent_z_zero_point recurrent_kernel_r_min "
            "recurrent_kernel_r_max recurrent_r_min recurrent_r_max recurrent_r_zero_point "
            "recurrent_kernel_n_min recurrent_kernel_n_max recurrent_n_min recurrent_n_max "
            "recurrent_n_zero_point sum_z_min sum_z_max sum_z_zero_point sum_r_min sum_r_max "
            "sum_r_zero_point reset_min reset_max reset_zero_point sum_n_min sum_n_max "
            "sum_n_zero_point difference_min difference_max difference_zero_point kept_min "
            "kept_max kept_zero_point");
  const IntegerModel model = lower(quantized);
  std::size_t constants = 0;
  for (const ModelTensor& tensor : model.tensors) {
    constants += tensor.dtype == DType::int8 && !tensor.data.empty() ? 1 : 0;
  }
  EXPECT_EQ(constants, 7U);  // Three kernels of each kind, and the Dense's.
  const ModelTensor& last = model.tensors[static_cast<std::size_t>(
      std::ranges::find(model.tensors, "gru", &ModelTensor::name) - model.tensors.begin())];
  const auto first = std::ranges::find(model.tensors, "gru/h", &ModelTensor::name);
  ASSERT_NE(first, model.tensors.end());
  EXPECT_EQ(first->quantization, last.quantization);
}

TEST(GRU, QuantizedWithoutTrainingKeepsItsMemory) {
  const Model model = networks()[0].make();
  const Dataset data = clouds(200, 1, kSteps * kFeatures, 3, 0.2F);
  for (const Calibration calibration : {Calibration::min_max, Calibration::moving_average}) {
    Model quantized = quantize_post_training(model, data.features(0, 200),
                                             {.activation_calibration = calibration});
    const Tensor real = model.forward(data.features(0, 50));
    const Tensor found = quantized.forward(data.features(0, 50));
    for (Index i = 0; i < real.size(); ++i) {
      EXPECT_NEAR(found.data()[i], real.data()[i], 0.05F);
    }
  }
}

}  // namespace
}  // namespace octet::test::sequences_test
