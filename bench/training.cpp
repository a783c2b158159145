#include <octet/bench/bench.h>
#include <octet/bench/networks.h>

// An epoch of a hundred steps through Trainer::fit, float and quantized, of several batch sizes.
// The floor is the step's products at the peak of the processor.

namespace octet::bench {
namespace {

constexpr std::size_t kSteps = 100;
/// Multiply-adds of a step, for each image: forward, kernel gradients, and input gradients of all
/// but the first layer, two operations each.
constexpr double kForward = 2.0 * (784 * 256 + 256 * 128 + 128 * 10);
constexpr double kBackward = kForward + 2.0 * (256 * 128 + 128 * 10);

void epoch(benchmark::State& state, Sequential& model, bool quantized) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const Dataset data = noise(batch * kSteps);
  Trainer trainer(model, Adam(), {.batch_size = batch});
  int epochs = 0;
  for (auto _ : state) {
    // Seconds of the steps alone, without what comes before and after an epoch.
    state.SetIterationTime(trainer.fit(data, ++epochs).back().seconds);
  }
  const double images = static_cast<double>(batch * kSteps);
  const double forward_peak = quantized && peak().int8_ops_per_second > 0.0
                                  ? peak().int8_ops_per_second
                                  : peak().float_ops_per_second;
  const double floor = images * (kForward / forward_peak + kBackward / peak().float_ops_per_second);
  state.counters["step"] =
      benchmark::Counter(static_cast<double>(kSteps) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["floor_share"] = benchmark::Counter(
      floor * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void epoch_float(benchmark::State& state) {
  Sequential model = mlp();
  epoch(state, model, false);
}

void epoch_qat(benchmark::State& state) {
  Sequential model = quantize_model(mlp());
  epoch(state, model, true);
}

BENCHMARK(epoch_float)->Arg(32)->Arg(128)->Arg(512)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(epoch_qat)->Arg(32)->Arg(128)->Arg(512)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace octet::bench
