#include <octet/bench/bench.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/gemm_s8.h>

#include <vector>

// The products of a training step of 784-256-128-10 at batch 128, and of 784-2048-2048-10 at 256.

namespace octet::bench {
namespace {

void product(benchmark::State& state, Transpose a_order, Transpose b_order) {
  const Index m = state.range(0);
  const Index n = state.range(1);
  const Index k = state.range(2);
  const std::vector<float> a = floats(static_cast<std::size_t>(m * k));
  const std::vector<float> b = floats(static_cast<std::size_t>(k * n));
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const Index a_stride = a_order == Transpose::no ? k : m;
  const Index b_stride = b_order == Transpose::no ? n : k;
  for (auto _ : state) {
    gemm_f32(m, n, k, {a.data(), a_stride, a_order}, {b.data(), b_stride, b_order}, c.data(), n,
             false);
    benchmark::ClobberMemory();
  }
  count_operations(state, 2.0 * static_cast<double>(m * n * k), peak().float_ops_per_second);
}

void forward(benchmark::State& state) { product(state, Transpose::no, Transpose::no); }
void kernel_gradient(benchmark::State& state) { product(state, Transpose::yes, Transpose::no); }
void input_gradient(benchmark::State& state) { product(state, Transpose::no, Transpose::yes); }

void forward_int8(benchmark::State& state) {
  const Index m = state.range(0);
  const Index n = state.range(1);
  const Index k = state.range(2);
  const std::vector<std::int8_t> x(static_cast<std::size_t>(m * k), 3);
  const std::vector<std::int8_t> w(static_cast<std::size_t>(n * k), -5);
  const PackedS8 packed(w.data(), n, k);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(m * n));
  for (auto _ : state) {
    gemm_s8(m, x.data(), k, packed, sums.data());
    benchmark::ClobberMemory();
  }
  count_operations(state, 2.0 * static_cast<double>(m * n * k), peak().int8_ops_per_second);
}

BENCHMARK(forward)
    ->Args({128, 256, 784})
    ->Args({128, 128, 256})
    ->Args({128, 10, 128})
    ->Args({256, 2048, 784})
    ->Args({256, 2048, 2048});
BENCHMARK(kernel_gradient)
    ->Args({784, 256, 128})
    ->Args({256, 128, 128})
    ->Args({128, 10, 128})
    ->Args({2048, 2048, 256});
BENCHMARK(input_gradient)->Args({128, 256, 128})->Args({128, 128, 10})->Args({256, 2048, 2048});
BENCHMARK(forward_int8)
    ->Args({1, 256, 784})
    ->Args({32, 256, 784})
    ->Args({128, 256, 784})
    ->Args({128, 128, 256})
    ->Args({128, 10, 128})
    ->Args({256, 2048, 2048})
    ->Args({10000, 256, 784});

}  // namespace
}  // namespace octet::bench
