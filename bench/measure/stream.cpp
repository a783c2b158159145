#include <octet/bench/measure/measure.h>
#include <octet/bench/measure/reference.h>
#include <octet/bench/timing.h>
#include <octet/core/file.h>
#include <octet/core/kernels/isa.h>

#include <ctime>

namespace octet::bench {
namespace {

using nlohmann::json;

constexpr int kSteps = 20;

json describe(const IntegerModel& model, const std::vector<std::int32_t>& ends) {
  json list = json::array();
  for (const std::int32_t end : ends) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(end)];
    const bool quantized = tensor.is_quantized();
    list.push_back({{"dtype", to_string(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"zero_point", quantized ? tensor.quantization.zero_point() : 0}});
  }
  return list;
}

json numbers_of(std::span<const std::byte> bytes) {
  json list = json::array();
  for (const std::byte b : bytes) list.push_back(static_cast<int>(b));
  return list;
}

/// Bytes of noise: any int8, or floats in [-1, 1).
void fill_with_noise(std::span<std::byte> bytes, DType dtype, const Random& noise) {
  if (dtype != DType::float32) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(noise.bits(i));
    return;
  }
  const Tensor x =
      Tensor::uniform({static_cast<Index>(bytes.size() / sizeof(float))}, noise, -1.0F, 1.0F);
  std::ranges::copy(std::as_bytes(x.span()), bytes.begin());
}

/// The first steps of a sequence: bytes of each input and of what it gives.
json sequence_of(StreamingInterpreter& stream, std::size_t results) {
  const IntegerModel& model = stream.interpreter().model();
  const DType dtype = model.tensors[static_cast<std::size_t>(model.inputs[0])].dtype;
  json steps = json::array();
  stream.reset();
  for (int i = 0; i < kSteps; ++i) {
    fill_with_noise(stream.interpreter().input_bytes(0), dtype,
                    Random(static_cast<std::uint64_t>(i)));
    const json input = numbers_of(stream.interpreter().input_bytes(0));
    stream.step();
    json outputs = json::array();
    for (std::size_t k = 0; k < results; ++k) {
      outputs.push_back(numbers_of(std::as_const(stream).interpreter().output_bytes(k)));
    }
    steps.push_back({{"input", input}, {"outputs", outputs}});
  }
  return steps;
}

}  // namespace

nlohmann::json measure_stream(const StreamRequest& request) {
  const Reference of = reference(request.network);
  const StepModel one = step_model(request.quantized ? quantized(of) : make_network(of));
  const IntegerModel model = request.quantized ? lower(one) : lower_float(one.model);
  StreamingInterpreter stream(model, one.states);
  const std::size_t results = model.outputs.size() - one.states.size();
  if (!request.prefix.empty()) {
    const std::string prefix = request.prefix.string();
    write_tflite(model, prefix + ".tflite");
    write_onnx(model, prefix + ".onnx",
               {.style = OnnxStyle::standard, .float_io = !request.quantized});
    json states = json::array();
    for (const CarriedState& s : one.states) states.push_back({s.input, s.output});
    const json about = {{"inputs", describe(model, model.inputs)},
                        {"outputs", describe(model, model.outputs)},
                        {"states", states},
                        {"steps", sequence_of(stream, results)}};
    write_file_atomic(prefix + ".json", about.dump());
    if (request.quantized) write_c_source(model, request.prefix.parent_path() / "net");
  }
  stream.reset();
  const auto step = [&] { stream.step(); };
  const Timing wall = time_calls(step);
  const Timing processor =
      time_calls(step, [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; });
  return {{"network", of.name},
          {"us", 1e6 * wall.median},
          {"min", 1e6 * wall.best},
          {"cpu_us", 1e6 * processor.median},
          {"cpu_min", 1e6 * processor.best},
          {"isa", to_string(kernels().isa)}};
}

}  // namespace octet::bench
