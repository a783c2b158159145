// Training without Trainer: the whole loop in plain sight, in floats and then in integers.
#include <fmt/core.h>
#include <octet/octet.h>

#include <exception>

namespace {

using namespace octet;

/// One epoch. Returns the mean loss.
double train_epoch(Model& model, DataLoader& loader, Index epoch, const Loss& loss,
                   Optimizer& optimizer) {
  double total = 0.0;
  loader.start_epoch(epoch);
  for (Batch batch; loader.next(batch);) {
    // Layers such as Dropout draw from `random`: one stream per step, so that runs are repeatable.
    const auto step = static_cast<std::uint64_t>(epoch) * loader.batches() +
                      static_cast<std::uint64_t>(loader.position().batch);
    const ForwardContext context{.mode = ForwardContext::Mode::training,
                                 .random = Random(/*seed=*/0).fork(step)};
    const Tensor output = model.forward_logits(batch.features, context);
    Tensor value = loss(output, batch.targets);
    model.zero_grad();
    value.backward();
    // Gradients are here, none is applied: the place for clip_gradients(model.parameters(), 1.0).
    optimizer.step(model.parameters());
    total += static_cast<double>(value.item()) * static_cast<double>(batch.targets.size());
  }
  return total / static_cast<double>(loader.examples());
}

void train(Model& model, const DataSplit& data, Optimizer& optimizer, int epochs) {
  DataLoader loader(data.train, {.batch_size = 128, .seed = 0});
  const Loss loss = sparse_categorical_cross_entropy();
  for (Index epoch = 0; epoch < epochs; ++epoch) {
    double mean_loss = 0.0;
    // Optional: keeps Octet's threads awake between the many short loops of an epoch.
    parallel_region([&] { mean_loss = train_epoch(model, loader, epoch, loss, optimizer); });
    fmt::print("epoch {}: loss {:.4f}, test accuracy {:.2f} %\n", epoch + 1, mean_loss,
               100.0 * evaluate(model, data.test).accuracy);
  }
}

bool run() {
  const DataSplit data = make_digits(/*seed=*/0, /*train_count=*/10000, /*test_count=*/1000);
  Sequential model("digits", Input({28, 28}), Flatten(), Dense(64, Activation::relu),
                   Dense(10, Activation::softmax));
  model.build(/*seed=*/0);
  Adam adam(1e-3F);
  train(model, data, adam, /*epochs=*/2);

  // Quantized layers need the ranges of their activations before the first step.
  Sequential quantized = quantize_model(model);
  calibrate(quantized, data.train.features(0, 1000));
  Adam slower(1e-4F);
  train(quantized, data, slower, /*epochs=*/1);

  // The last step has moved the weights: their ranges are taken once more before they are shipped.
  refresh_kernel_ranges(quantized);
  write_tflite(lower(quantized), "training_loop_int8.tflite");
  const Labels trained = evaluate(quantized, data.test).predictions;
  const Labels shipped = evaluate(read_tflite("training_loop_int8.tflite"), data.test).predictions;
  fmt::print("the file and the trained model agree on all images: {}\n", shipped == trained);
  return shipped == trained;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "training_loop: {}\n", error.what());
    return 1;
  }
}
