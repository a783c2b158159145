#include <fmt/core.h>
#include <octet/bench/bench.h>
#include <octet/bench/networks.h>
#include <octet/core/file.h>
#include <unistd.h>

#include <filesystem>

// The int8 model of the example in the interpreter, samples in and out as stated. The floor is the
// model's products at the int8 peak, or reading its weights where that takes longer.

namespace octet::bench {
namespace {

template <IoType io>
void invoke(benchmark::State& state) {
  const auto batch = static_cast<double>(state.range(0));
  Interpreter interpreter(lowered({}, io), {.batch = state.range(0)});
  std::ranges::fill(interpreter.input_bytes(), std::byte{0});
  for (auto _ : state) {
    interpreter.invoke();
    benchmark::ClobberMemory();
  }
  state.counters["image/s"] = benchmark::Counter(batch * static_cast<double>(state.iterations()),
                                                 benchmark::Counter::kIsRate);
  count_floor(state, inference_floor({}, batch));
}

void set_up(benchmark::State& state) {
  const auto model = std::make_shared<const IntegerModel>(lowered({}, IoType::int8));
  for (auto _ : state) benchmark::DoNotOptimize(Interpreter(model));
}

void set_up_from_file(benchmark::State& state) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("octet_bench_{}.tflite", ::getpid());
  write_file_atomic(path, to_tflite(lowered({}, IoType::int8)));
  for (auto _ : state) benchmark::DoNotOptimize(Interpreter(read_tflite(path)));
  std::filesystem::remove(path);
}

void batches_of_inference(benchmark::internal::Benchmark* timed) {
  timed->Arg(1)->Arg(8)->Arg(32)->Arg(128)->Arg(1000)->Arg(10000);
}

BENCHMARK_TEMPLATE(invoke, IoType::int8)->Name("invoke_int8")->Apply(batches_of_inference);
BENCHMARK_TEMPLATE(invoke, IoType::float32)->Name("invoke_float")->Apply(batches_of_inference);
BENCHMARK(set_up);
BENCHMARK(set_up_from_file);

}  // namespace
}  // namespace octet::bench
