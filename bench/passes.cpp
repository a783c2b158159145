#include <octet/bench/bench.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/fake_quant.h>

#include <vector>

// The loops of a step that are no products, on the sizes that they have there.

namespace octet::bench {
namespace {

constexpr std::size_t kPixels = 128 * 784;
constexpr std::size_t kWeights = 784 * 256;
constexpr CodeGrid kGrid{1.0F / 255.0F, -128, -128, 127};

/// Runs `run` and counts `bytes` read and written.
template <class Run>
void pass(benchmark::State& state, std::size_t bytes, Run run) {
  for (auto _ : state) {
    run(kernels().passes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, static_cast<double>(bytes));
}

void bytes_to_unit(benchmark::State& state) {
  const std::vector<std::uint8_t> in(kPixels, 7);
  std::vector<float> out(kPixels);
  pass(state, 5 * kPixels,
       [&](const Passes& p) { p.bytes_to_unit(in.data(), kPixels, out.data()); });
}

void quantize(benchmark::State& state) {
  const std::vector<float> in = floats(kPixels);
  std::vector<std::int8_t> out(kPixels);
  pass(state, 5 * kPixels,
       [&](const Passes& p) { p.quantize_even(in.data(), kPixels, kGrid, out.data()); });
}

void dequantize(benchmark::State& state) {
  const std::vector<std::int8_t> in(kPixels, 5);
  std::vector<float> out(kPixels);
  pass(state, 5 * kPixels, [&](const Passes& p) {
    p.dequantize(in.data(), kPixels, kGrid.scale, kGrid.zero_point, out.data());
  });
}

void requantize(benchmark::State& state) {
  const std::vector<std::int32_t> in(128 * 256, 12345);
  std::vector<std::int8_t> out(in.size());
  pass(state, 5 * in.size(), [&](const Passes& p) {
    p.requantize(in.data(), in.size(), 1e-3F, {1.0F, 0, -128, 127}, out.data());
  });
}

void min_max(benchmark::State& state) {
  const std::vector<float> in = floats(kWeights);
  float least = 0.0F;
  float largest = 0.0F;
  bool finite = false;
  pass(state, 4 * kWeights,
       [&](const Passes& p) { p.min_max(in.data(), kWeights, &least, &largest, &finite); });
}

void pack_kernel(benchmark::State& state) {
  const std::vector<float> in = floats(kWeights);
  const std::vector<float> scales = {1.0F / 127.0F};
  pass(state, 5 * kWeights,
       [&](const Passes&) { PackedS8::quantize(in.data(), 784, 256, scales, -127, 127); });
}

void adam(benchmark::State& state) {
  std::vector<float> w = floats(kWeights);
  std::vector<float> m(kWeights);
  std::vector<float> v(kWeights);
  const std::vector<float> g(kWeights, 1e-3F);
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 1.0F, 1e-7F};
  MinMax limits;
  pass(state, 28 * kWeights, [&](const Passes& p) {
    p.adam(w.data(), m.data(), v.data(), g.data(), kWeights, step, &limits);
  });
}

/// TensorFlow's fake quantization of a kernel, as Simulation::fake_quant trains.
void fake_quant(benchmark::State& state) {
  const std::vector<float> in = floats(kWeights);
  std::vector<float> out(kWeights);
  const NudgedRange range = nudge(-1.0F, 1.0F, 8, true, "kernel");
  pass(state, 8 * kWeights, [&](const Passes&) { fake_quant_divide(in, range, out); });
}

void window_gradient(benchmark::State& state) {
  const std::vector<float> in = floats(kPixels);
  const std::vector<float> gradient(kPixels, 1.0F);
  std::vector<float> out(kPixels);
  const GradientWindow window{-0.5F, 0.5F, -1.0F, 1.0F};
  pass(state, 12 * kPixels, [&](const Passes& p) {
    p.window_gradient(in.data(), gradient.data(), kPixels, window, out.data());
  });
}

BENCHMARK(bytes_to_unit);
BENCHMARK(quantize);
BENCHMARK(dequantize);
BENCHMARK(requantize);
BENCHMARK(fake_quant);
BENCHMARK(window_gradient);
BENCHMARK(min_max);
BENCHMARK(pack_kernel);
BENCHMARK(adam);

}  // namespace
}  // namespace octet::bench
