#include <fmt/format.h>
#include <octet/bench/bench.h>
#include <octet/bench/networks.h>
#include <octet/core/file.h>
#include <unistd.h>

#include <filesystem>

// The int8 model of the example in the interpreter, samples in and out as stated. The floor is the
// model's multiply-adds at the int8 peak.

namespace octet::bench {
namespace {

constexpr double kOperations = 2.0 * (784 * 256 + 256 * 128 + 128 * 10);

IntegerModel lowered(IoType io) {
  Sequential model = quantize_model(mlp());
  calibrate(model, noise(128).features(0, 128));
  refresh_kernel_ranges(model);
  return lower(model, {.input = io, .output = io});
}

void invoke(benchmark::State& state, IoType io) {
  Interpreter interpreter(lowered(io), {.batch = state.range(0)});
  std::ranges::fill(interpreter.input_bytes(), std::byte{0});
  for (auto _ : state) {
    interpreter.invoke();
    benchmark::ClobberMemory();
  }
  count_operations(state, kOperations * static_cast<double>(state.range(0)),
                   peak().int8_ops_per_second);
}

void invoke_int8(benchmark::State& state) { invoke(state, IoType::int8); }
void invoke_float(benchmark::State& state) { invoke(state, IoType::float32); }

void set_up(benchmark::State& state) {
  const auto model = std::make_shared<const IntegerModel>(lowered(IoType::int8));
  for (auto _ : state) benchmark::DoNotOptimize(Interpreter(model));
}

void set_up_from_file(benchmark::State& state) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("octet_bench_{}.tflite", ::getpid());
  write_file_atomic(path, to_tflite(lowered(IoType::int8)));
  for (auto _ : state) benchmark::DoNotOptimize(Interpreter(read_tflite(path)));
  std::filesystem::remove(path);
}

BENCHMARK(invoke_int8)->Arg(1)->Arg(32)->Arg(128)->Arg(10000);
BENCHMARK(invoke_float)->Arg(1)->Arg(10000);
BENCHMARK(set_up);
BENCHMARK(set_up_from_file);

}  // namespace
}  // namespace octet::bench
