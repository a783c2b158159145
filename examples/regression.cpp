// Fits sin(x) with a small network, ships it in int8, and states the error of both.
#include <fmt/core.h>
#include <octet/octet.h>

#include <cmath>
#include <exception>
#include <numbers>

namespace {

using namespace octet;

/// `count` points of y = sin(x), x between -pi and pi.
Dataset sine(Index count, std::uint64_t seed) {
  constexpr float kPi = std::numbers::pi_v<float>;
  const Tensor x = Tensor::uniform({count, 1}, Random(seed), -kPi, kPi);
  Tensor y({count, 1});
  for (Index i = 0; i < count; ++i) y.mutable_data()[i] = std::sin(x.data()[i]);
  return Dataset::from_tensors("sine", x, y);
}

/// Whether both errors are below 1e-3 and the file computes what was trained, to the last bit.
bool run() {
  const Dataset train = sine(4000, /*seed=*/0);
  const Dataset test = sine(1000, /*seed=*/1);
  const TrainerOptions options{.loss = mean_squared_error(), .batch_size = 64};

  Sequential model("sine", Input({1}), Dense(32, Activation::tanh), Dense(32, Activation::tanh),
                   Dense(1));
  model.build(/*seed=*/0);
  Trainer trainer(model, Adam(cosine_decay(5e-3F, /*steps=*/30 * 63)), options);
  const EpochRecord in_float = trainer.fit(train, test, /*epochs=*/30).back();

  Sequential quantized = quantize_model(model);
  Trainer qat(quantized, Adam(cosine_decay(1e-3F, /*steps=*/20 * 63)), options);
  const EpochRecord in_integers = qat.fit(train, test, /*epochs=*/20).back();
  qat.export_int8("sine_int8.tflite");

  const IntegerModel file = read_tflite("sine_int8.tflite");
  const double float_error = find_metric(in_float, "test_loss").value();
  const double trained_error = find_metric(in_integers, "test_loss").value();
  const double shipped_error =
      measure(file, test, {loss_metric("mean squared error", mean_squared_error())})[0].value;
  fmt::print(
      "mean squared error on {} points: {:.2e} in float, {:.2e} trained in integers, "
      "{:.2e} in the file\n",
      test.size(), float_error, trained_error, shipped_error);
  fmt::print("points at which the file differs from the trained network: {}\n",
             in_integers.differing_predictions.value());
  return float_error < 1e-3 && shipped_error < 1e-3 && shipped_error == trained_error &&
         in_integers.differing_predictions == 0U;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "regression: {}\n", error.what());
    return 1;
  }
}
