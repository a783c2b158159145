// The bytes of a trained model depend neither on the number of threads nor on the run.

#include <octet/layers/dropout.h>
#include <octet/tests/train/training.h>

namespace octet::test::determinism_test {
namespace {

/// Larger than one chunk of any parallel loop, and no multiple of a vector.
Sequential wide_model(bool dropout) {
  Sequential model("wide", Input({203}), Dense(301, Activation::relu));
  if (dropout) model.add(Dropout(0.25F));
  model.add(Dense(67, Activation::relu6)).add(Dense(5, Activation::softmax));
  model.build(3);
  return model;
}

struct Outcome {
  Bytes model;
  Bytes exported;
  std::string history;

  bool operator==(const Outcome&) const = default;
};

template <class O>
Outcome train(Sequential model, const O& optimizer, int threads) {
  set_num_threads(threads);
  const Dataset data = clouds(230, 5, 203, 5, 1.5F);
  Trainer trainer(model, optimizer, {.batch_size = 97, .clip_norm = 1.0});
  trainer.fit(data, data.head(101), 2);
  return {bytes_of(model), is_quantized(model) ? exported_bytes(trainer) : Bytes(),
          history_csv(trainer.history(), false)};
}

template <class O>
void expect_same_on_any_threads(const Model& model, const O& optimizer) {
  const KeepThreads keep;
  const Outcome one = train(model, optimizer, 1);
  EXPECT_NE(one.model, bytes_of(model));
  for (const int threads : {2, 4, 1}) {
    EXPECT_TRUE(train(model, optimizer, threads) == one) << threads << " threads";
  }
}

TEST(Determinism, FloatTraining) {
  expect_same_on_any_threads(wide_model(false), Adam(3e-3F));
  expect_same_on_any_threads(wide_model(true), AdamW(3e-3F));
  expect_same_on_any_threads(wide_model(true), Sgd(3e-3F, {.momentum = 0.9F, .nesterov = true}));
}

TEST(Determinism, TrainingOnIntegers) {
  expect_same_on_any_threads(quantize_model(wide_model(false), {.per_channel = true}), Adam(3e-3F));
  expect_same_on_any_threads(
      quantize_model(wide_model(true), {.rounding = Rounding::single_rounding}), Adam(3e-3F));
}

TEST(Determinism, TrainingOnFakeQuantization) {
  for (const bool per_channel : {false, true}) {
    expect_same_on_any_threads(
        quantize_model(wide_model(true),
                       {.simulation = Simulation::fake_quant, .per_channel = per_channel}),
        Adam(3e-3F));
  }
}

TEST(Determinism, TheSeedDecides) {
  const KeepThreads keep;
  const auto bytes = [](std::uint64_t seed) {
    Sequential model = wide_model(true);
    const Dataset data = clouds(60, 5, 203, 5, 1.5F);
    Trainer trainer(model, Adam(), {.batch_size = 16, .seed = seed});
    trainer.fit(data, 1);
    return bytes_of(model);
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
}

}  // namespace
}  // namespace octet::test::determinism_test
