// survey_models FOLDER CASES: what becomes of the .onnx and .tflite files in FOLDER that others
// made. Each is loaded, quantized, calibrated and trained for three steps; the integers of the last
// one have to be those that its exported model computes. CASES/cases.json and CASES/N.bin get that,
// one sample and what our floats, or the integers of a quantized file, are for it, for
// survey_models.mjs.
//
// FOLDER/options.tsv may say how files are read: in each line a file's name and, behind tabs, what
// octet import takes: --to, NAME, --shape, NAME=1,3,48,192. --pixels, 255 says that its inputs are
// photographs with pixels in [0, 255], which are drawn without noise; others are in [-1, 1].
// --indices, 100 says that its inputs are whole numbers below 100. --refused, WORDS says that a
// file cannot be read, and what the error says.

#include <octet/core/file.h>
#include <octet/core/ops/ops.h>
#include <octet/core/ops/resize.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/layers/input.h>
#include <octet/octet.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using namespace octet;
namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// How a file is read, and what its inputs are drawn from.
struct Reading {
  ImportOptions options;
  /// The refusal of a file that cannot be read.
  std::string refused;
  /// How many indices there are, where inputs are such; else 0.
  Index indices = 0;
  /// The largest value of a pixel; 0 for inputs that are no photographs.
  float pixels = 0.0F;
};

std::map<std::string, Reading> readings_in(const fs::path& folder) {
  std::map<std::string, Reading> all;
  std::ifstream file(folder / "options.tsv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::getline(words, name, '\t');
    Reading& reading = all[name];
    ImportOptions& options = reading.options;
    for (std::string key, value;
         std::getline(words, key, '\t') && std::getline(words, value, '\t');) {
      if (key == "--from") options.from.push_back(value);
      if (key == "--to") options.to.push_back(value);
      if (key == "--indices") reading.indices = std::stol(value);
      if (key == "--refused") reading.refused = value;
      if (key == "--pixels") reading.pixels = std::stof(value);
      if (key != "--shape") continue;
      const std::size_t equals = value.rfind('=');
      std::istringstream extents(value.substr(equals + 1));
      for (std::string extent; std::getline(extents, extent, ',');) {
        options.shapes[value.substr(0, equals)].push_back(std::stol(extent));
      }
    }
  }
  return all;
}

/// What a case gives and takes, as JSON, and its bytes.
class Case {
 public:
  void add(const char* key, std::string_view dtype, std::span<const Index> shape,
           std::span<const std::byte> bytes) {
    json[key].push_back(
        {{"dtype", dtype}, {"shape", std::vector<Index>(shape.begin(), shape.end())}});
    std::ranges::transform(bytes, std::back_inserter(data),
                           [](std::byte b) { return static_cast<std::uint8_t>(b); });
  }

  ordered_json json;
  std::vector<std::uint8_t> data;
};

/// A tensor of that shape; photographs change from one pixel to the next by little.
Tensor draw_input(const Shape& shape, const Reading& reading, const Random& random) {
  const float pixels = reading.pixels;
  if (reading.indices > 0) {
    Tensor x = Tensor::uniform(shape, random, 0.0F, static_cast<float>(reading.indices));
    for (float& index : x.mutable_span()) {
      index = std::min(std::floor(index), static_cast<float>(reading.indices - 1));
    }
    return x;
  }
  if (pixels == 0.0F || shape.rank() != 4) return Tensor::uniform(shape, random, -1.0F, 1.0F);
  constexpr Index kPatch = 16;
  const Shape patches({shape[0], shape[1] / kPatch + 1, shape[2] / kPatch + 1, shape[3]});
  return resize_bilinear(Tensor::uniform(patches, random, 0.0F, pixels), {shape[1], shape[2]});
}

std::vector<Tensor> draw_inputs(const Model& model, const Reading& reading, Index examples,
                                std::uint64_t seed) {
  std::vector<Tensor> inputs;
  for (const auto& layer : model.layers()) {
    if (!is_input(*layer)) continue;
    const Shape shape = layer->output_shape().with_batch(examples);
    inputs.push_back(draw_input(shape, reading, Random(seed++)));
  }
  return inputs;
}

/// Does nothing to a model without parameters, but for its ranges.
void train(Model& model, const Reading& reading, int steps) {
  if (model.parameters().empty()) steps = 0;
  constexpr float kRate = 1e-4F;
  for (int step = 0; step < steps; ++step) {
    model.zero_grad();
    const auto seed = static_cast<std::uint64_t>(100 + step);
    Tensor loss;
    for (const Tensor& y : model.forward_all(draw_inputs(model, reading, 2, seed),
                                             {.mode = ForwardContext::Mode::training})) {
      const Tensor part = mean(square(y));
      loss = loss.defined() ? loss + part : part;
    }
    loss.backward();
    for (auto& [name, tensor] : model.parameters()) {
      if (!tensor.grad().defined()) continue;
      const auto gradient = tensor.grad().span();
      const auto values = tensor.mutable_span();
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] -= kRate * std::clamp(gradient[i], -1.0F, 1.0F);
      }
    }
  }
  refresh_kernel_ranges(model);
}

/// "0 of 10": outputs of the trained model that its exported integers do not give.
std::string quantized_steps(const Model& model, const Reading& reading) {
  Model quantized = quantize_model(model);
  quantized.forward_all(draw_inputs(model, reading, 4, 50),
                        {.mode = ForwardContext::Mode::calibration});
  train(quantized, reading, 3);
  const std::vector<Tensor> inputs = draw_inputs(model, reading, 1, 5);
  const std::vector<Tensor> trained = quantized.forward_all(inputs);
  Interpreter interpreter(lower(quantized));
  std::vector<std::span<const float>> samples;
  for (const Tensor& x : inputs) samples.push_back(x.span());
  const auto shipped = interpreter.run_all(samples);
  std::size_t differ = 0;
  std::size_t all = 0;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const auto expected = trained[i].span();
    all += expected.size();
    for (std::size_t k = 0; k < expected.size(); ++k) differ += shipped.at(i).at(k) != expected[k];
  }
  return std::to_string(differ) + " of " + std::to_string(all);
}

bool is_quantized(const IntegerModel& model) {
  return std::ranges::any_of(model.tensors, [](const ModelTensor& tensor) {
    return !tensor.is_constant() && tensor.is_quantized();
  });
}

/// Runs a quantized file on bytes drawn at random, or on reals in [-1, 1].
void run_codes(const IntegerModel& model, Case& made) {
  Interpreter interpreter(model, {.batch = 1});
  const auto shape_of = [](const TensorDetails& details) {
    return std::vector<Index>(details.shape.begin(), details.shape.end());
  };
  std::size_t i = 0;
  for (const TensorDetails& details : interpreter.get_input_details()) {
    const std::span<std::byte> bytes = interpreter.input_bytes(i++);
    const bool is_float = details.dtype == DType::float32;
    const auto count =
        static_cast<Index>(bytes.size()) / static_cast<Index>(size_of(details.dtype));
    const Tensor drawn =
        Tensor::uniform({count}, Random(i), is_float ? -1.0F : 0.0F, is_float ? 1.0F : 256.0F);
    if (is_float) {
      std::ranges::copy(std::as_bytes(drawn.span()), bytes.begin());
    } else {
      std::ranges::transform(drawn.span(), bytes.begin(), [](float value) {
        return static_cast<std::byte>(std::min(static_cast<int>(value), 255));
      });
    }
    made.add("inputs", to_string(details.dtype), shape_of(details), bytes);
  }
  interpreter.invoke();
  i = 0;
  for (const TensorDetails& details : interpreter.get_output_details()) {
    made.add("outputs", to_string(details.dtype), shape_of(details), interpreter.output_bytes(i++));
  }
}

/// `int32`: whether the file has its inputs, which are indices, as integers.
void run_floats(Model& model, const Reading& reading, bool int32, Case& made) {
  const std::vector<Tensor> inputs = draw_inputs(model, reading, 1, 5);
  const auto add = [&](const char* key, const Tensor& tensor) {
    made.add(key, "float32", std::vector<Index>(tensor.shape().begin(), tensor.shape().end()),
             std::as_bytes(tensor.span()));
  };
  for (const Tensor& x : inputs) {
    if (!int32) {
      add("inputs", x);
      continue;
    }
    const std::vector<std::int32_t> indices(x.span().begin(), x.span().end());
    made.add("inputs", "int32", std::vector<Index>(x.shape().begin(), x.shape().end()),
             std::as_bytes(std::span(indices)));
  }
  for (const Tensor& y : model.forward_all(inputs)) add("outputs", y);
}

Case survey(const fs::path& file, const Reading& reading) {
  const ImportOptions& options = reading.options;
  Case made;
  made.json = {{"file", fs::absolute(file).string()},
               {"from", options.from},
               {"to", options.to},
               {"shapes", options.shapes}};
  made.json["stopped"] = "";
  made.json["refused"] = reading.refused;
  try {
    const bool is_onnx = file.extension() == ".onnx";
    bool codes = false;
    bool int32 = false;
    if (!is_onnx) {
      const IntegerModel source = read_tflite(
          file, {.hybrid = HybridWeights::as_floats, .from = options.from, .to = options.to});
      codes = is_quantized(source);
      int32 =
          source.tensors.at(static_cast<std::size_t>(source.inputs.at(0))).dtype == DType::int32;
      if (codes) run_codes(source, made);
      made.json["loads"] = codes;
    }
    made.json["kind"] = codes ? "codes" : "floats";
    Model model = is_onnx ? import_onnx(file, options) : import_tflite(file, options);
    made.json["loads"] = true;
    if (!codes) run_floats(model, reading, int32, made);
    made.json["steps"] = quantized_steps(model, reading);
  } catch (const std::exception& error) {
    made.json["stopped"] = error.what();
  }
  return made;
}

void write_survey(const fs::path& folder, const fs::path& to) {
  fs::create_directories(to);
  const auto readings = readings_in(folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".onnx" || extension == ".tflite") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  ordered_json cases = ordered_json::array();
  for (const fs::path& file : files) {
    const auto how = readings.find(file.filename().string());
    Case made = survey(file, how == readings.end() ? Reading() : how->second);
    made.json["bin"] = std::to_string(cases.size()) + ".bin";
    write_file_atomic(to / made.json["bin"].get<std::string>(), made.data);
    std::printf(
        "%s: %s\n", file.filename().c_str(),
        made.json["stopped"] != ""
            ? made.json["stopped"].get<std::string>().c_str()
            : (made.json["steps"].get<std::string>() + " values differ after three steps").c_str());
    std::fflush(stdout);
    cases.push_back(std::move(made.json));
    write_file_atomic(to / "cases.json", cases.dump(1) + "\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  if (argc != 3) {
    std::fputs("usage: survey_models FOLDER CASES\n", stderr);
    return 2;
  }
  if (!fs::is_directory(argv[1])) {
    std::fprintf(stderr, "survey_models: there is no folder %s\n", argv[1]);
    return kSkipped;
  }
  try {
    write_survey(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "survey_models: %s\n", error.what());
    return 1;
  }
}
