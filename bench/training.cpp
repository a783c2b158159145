#include <octet/bench/bench.h>
#include <octet/bench/networks.h>

// Training through Trainer::fit, float and quantized: steps of several batch sizes (a hundred of
// them timed together), of a wide network, and an epoch of as many images as MNIST has. The floor
// is the products at the peak of the processor.

namespace octet::bench {
namespace {

constexpr std::size_t kSteps = 100;
constexpr std::size_t kWideSteps = 5;
constexpr std::size_t kEpochImages = 60'000;
const Shapes kWide{.hidden = {2048, 2048}};

/// Fits `steps` steps again and again; an iteration is one step, or all of them as one epoch.
void fit(benchmark::State& state, Sequential& model, const Shapes& shapes, std::size_t images,
         bool each_step) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const Dataset data = noise(images, shapes.inputs);
  const double parts = each_step ? static_cast<double>(images) / static_cast<double>(batch) : 1.0;
  Trainer trainer(model, Adam(), {.batch_size = batch});
  for (auto _ : state) {
    // Seconds of the steps alone, without what comes before and after an epoch.
    state.SetIterationTime(trainer.fit(data, 1).back().seconds / parts);
  }
  count_floor(state,
              static_cast<double>(images) / parts * training_floor(shapes, is_quantized(model)));
}

template <bool quantized>
Sequential network(const Shapes& shapes) {
  Sequential model = mlp(shapes);
  if constexpr (quantized) return quantize_model(model);
  return model;
}

template <bool quantized>
void step(benchmark::State& state) {
  Sequential model = network<quantized>({});
  fit(state, model, {}, static_cast<std::size_t>(state.range(0)) * kSteps, true);
}

template <bool quantized>
void step_wide(benchmark::State& state) {
  Sequential model = network<quantized>(kWide);
  fit(state, model, kWide, static_cast<std::size_t>(state.range(0)) * kWideSteps, true);
}

template <bool quantized>
void epoch(benchmark::State& state) {
  Sequential model = network<quantized>({});
  fit(state, model, {}, kEpochImages, false);
}

constexpr auto kMicro = benchmark::kMicrosecond;
constexpr auto kMilli = benchmark::kMillisecond;

void batches_of_training(benchmark::internal::Benchmark* timed) {
  timed->Arg(32)->Arg(128)->Arg(512)->UseManualTime()->Unit(kMicro);
}

BENCHMARK_TEMPLATE(step, false)->Name("step_float")->Apply(batches_of_training);
BENCHMARK_TEMPLATE(step, true)->Name("step_qat")->Apply(batches_of_training);
BENCHMARK_TEMPLATE(step_wide, false)
    ->Name("step_wide_float")
    ->Arg(256)
    ->UseManualTime()
    ->Unit(kMicro);
BENCHMARK_TEMPLATE(step_wide, true)->Name("step_wide_qat")->Arg(256)->UseManualTime()->Unit(kMicro);
BENCHMARK_TEMPLATE(epoch, false)->Name("epoch_float")->Arg(128)->UseManualTime()->Unit(kMilli);
BENCHMARK_TEMPLATE(epoch, true)->Name("epoch_qat")->Arg(128)->UseManualTime()->Unit(kMilli);

}  // namespace
}  // namespace octet::bench
