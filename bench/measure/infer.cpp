#include <fmt/core.h>
#include <octet/bench/measure/measure.h>
#include <octet/bench/measure/reference.h>
#include <octet/bench/networks.h>
#include <octet/bench/timing.h>
#include <octet/core/kernels/isa.h>

#include <ctime>

namespace octet::bench {
namespace {

/// Microseconds of invoke() under "<prefix>_b<batch>".
void add_invokes(nlohmann::json& result, const std::string& prefix,
                 const std::shared_ptr<const IntegerModel>& model) {
  for (const Index batch : {1, 32, 10'000}) {
    Interpreter interpreter(model, {.batch = batch});
    std::ranges::fill(interpreter.input_bytes(), std::byte{0});
    result[fmt::format("{}_b{}", prefix, batch)] =
        1e6 * time_calls([&] { interpreter.invoke(); }).median;
  }
}

}  // namespace

nlohmann::json measure_inference(const std::filesystem::path& run,
                                 const std::filesystem::path& data) {
  const std::filesystem::path file = run / "mnist_int8.tflite";
  const auto model = std::make_shared<const IntegerModel>(read_tflite(file));
  nlohmann::json result = {{"acc", evaluate(*model, load_idx_test(data)).accuracy}};
  add_invokes(result, "us", model);
  const Sequential trained = load_model(run / "checkpoints" / "last.ckpt");
  add_invokes(result, "us_float",
              std::make_shared<const IntegerModel>(
                  lower(trained, {.input = IoType::float32, .output = IoType::float32})));
  result["set_up_ms"] = 1e3 * time_calls([&] { Interpreter{model}; }).median;
  result["open_ms"] = 1e3 * time_calls([&] { Interpreter{read_tflite(file)}; }).median;
  return result;
}

nlohmann::json measure_invokes(const InferenceRequest& request) {
  const Reference of = reference(request.network);
  Interpreter interpreter(integers_of(of), {.batch = request.batch});
  const Random noise(1);
  std::uint64_t i = 0;
  for (std::byte& code : interpreter.input_bytes()) code = static_cast<std::byte>(noise.bits(i++));
  const auto invoke = [&] { interpreter.invoke(); };
  const Timing wall = time_calls(invoke);
  const Timing processor =
      time_calls(invoke, [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; });
  return {{"network", of.name},
          {"batch", request.batch},
          {"us", 1e6 * wall.median},
          {"min", 1e6 * wall.best},
          {"cpu_us", 1e6 * processor.median},
          {"cpu_min", 1e6 * processor.best},
          {"isa", to_string(kernels().isa)}};
}

nlohmann::json measure_peak() {
  const Peak& peaks = peak();
  return {{"float_gflops", peaks.float_ops_per_second / 1e9},
          {"int8_gops", peaks.int8_ops_per_second / 1e9},
          {"read_gbs", peaks.read_bytes_per_second / 1e9},
          {"copy_gbs", peaks.copied_bytes_per_second / 1e9},
          {"us_b1", 1e6 * inference_floor({}, 1.0)},
          {"us_b32", 1e6 * inference_floor({}, 32.0)},
          {"us_b10000", 1e6 * inference_floor({}, 10'000.0)},
          {"isa", to_string(kernels().isa)}};
}

}  // namespace octet::bench
