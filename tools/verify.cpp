#include <fmt/core.h>
#include <octet/application/data.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/random.h>
#include <octet/deploy/example_metadata.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/train/layer_differences.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "load_examples.h"
#include "npz_data.h"
#include "show.h"
#include "verify_models.h"

namespace octet::tools {
namespace {

using nlohmann::ordered_json;

using Models = std::array<VerifyModel, 2>;

Models open_both(const VerifyOptions& options) {
  Models models;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_c_source(options.files[i])) {
      models[i] = open_model(options.files[i], options.contracts[i].chosen());
    }
  }
  // C source takes codes: the other model says which code a real is.
  for (std::size_t i = 0; i < 2; ++i) {
    if (is_c_source(options.files[i])) {
      const LayerCodes* other =
          is_c_source(options.files[1 - i]) ? nullptr : models[1 - i].codes.get();
      models[i] = open_c_source(options.files[i], options.contracts[i].chosen(), other);
    }
  }
  return models;
}

/// Samples [begin, end) of input number `k`: codes drawn evenly from all 256, as the real values
/// that they stand for by the scale and zero point of `input`.
Tensor random_samples(const CodeLayer& input, std::size_t k, std::size_t begin, std::size_t end) {
  constexpr std::uint32_t kCodes = 256;
  const Random random = k == 0 ? Random(0) : Random(0).fork(k);
  Tensor samples({static_cast<Index>(end - begin), input.size});
  const std::span<float> values = samples.mutable_span();
  const std::size_t first = begin * static_cast<std::size_t>(input.size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto code = static_cast<std::int32_t>(random.below(first + i, kCodes)) - 128;
    values[i] = static_cast<float>(code - input.zero_point) * input.scale;
  }
  return samples;
}

/// The test examples of --data, made as those that one of the models says it was trained on, or of
/// its named arrays.
Dataset samples_of(const VerifyOptions& options) {
  for (const std::string& file : options.files) {
    if (std::filesystem::path(file).extension() != ".tflite") continue;
    const IntegerModel model = read_tflite(file, {.hybrid = HybridWeights::as_floats});
    if (!is_npz(options.data) && !model.metadata.contains(kDataKey)) continue;
    return application::prepared_for(
        file, model, load_test_for(file, model, options.data, options.data_options).examples);
  }
  return application::load_test(options.data, options.data_options).examples;
}

/// What both models ran on, and what came of it.
struct Verification {
  std::string data;
  NetworkDifference difference;
};

Verification compare(const VerifyOptions& options, const Models& models, Compare what) {
  // The file that knows scales: a C source does not.
  const std::size_t known = is_c_source(options.files[0]) ? 1 : 0;
  LayerCodes& a = *models[0].codes;
  LayerCodes& b = *models[1].codes;
  if (options.data.empty()) {
    const LayerCodes& of = *models[known].codes;
    const auto samples = [&](std::size_t begin, std::size_t end) {
      std::vector<Tensor> inputs;
      for (std::size_t k = 0; k < of.input_layers().size(); ++k) {
        inputs.push_back(random_samples(of.layers()[of.input_layers()[k]], k, begin, end));
      }
      return inputs;
    };
    const std::size_t count = options.random > 0 ? options.random : kDefaultSamples;
    return {"random values", compare_networks(a, b, count, samples, what)};
  }
  if (is_c_source(options.files[known])) {
    throw InvalidArgument(
        "verify: C source on its own does not say which quantized value a pixel is; compare two of "
        "them on "
        "--random samples, or one with a .tflite file");
  }
  const Dataset data = samples_of(options);
  return {data.name(), compare_networks(a, b, data, what)};
}

ordered_json to_json(const LayerDifference& d) {
  return {{"compared", d.compared},
          {"differing", d.differing},
          {"share", d.share()},
          {"largest", d.largest},
          {"largest_in_float", d.largest_in_float},
          {"mean", d.mean()}};
}

void print_json(const VerifyOptions& options, const Models& models,
                const Verification& verification, bool layers) {
  const NetworkDifference& result = verification.difference;
  ordered_json json;
  for (std::size_t i = 0; i < 2; ++i) {
    ordered_json model{{"file", options.files[i]}, {"kind", models[i].kind}};
    if (models[i].has_layers) model["rounding"] = to_string(models[i].codes->rounding());
    json[i == 0 ? "a" : "b"] = std::move(model);
  }
  json["data"] = verification.data;
  json["samples"] = result.samples;
  json["differing_predictions"] = result.differing_predictions;
  json["total"] = to_json(result.total());
  if (layers) {
    json["layers"] = ordered_json::array();
    for (const LayerDifference& layer : result.layers) {
      ordered_json entry{{"name", layer.name}};
      entry.update(to_json(layer));
      json["layers"].push_back(std::move(entry));
    }
  }
  show_json(json);
}

void print_text(const VerifyOptions& options, const Models& models,
                const Verification& verification, bool layers) {
  const NetworkDifference& result = verification.difference;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string rounding =
        models[i].has_layers ? fmt::format(", rounding {}", to_string(models[i].codes->rounding()))
                             : "";
    show("{}: {} ({}{})\n", i == 0 ? "A" : "B", options.files[i], models[i].kind, rounding);
  }
  show("{} samples of {}\n", result.samples, verification.data);
  if (layers) {
    show("\n{:<28} {:>12} {:>10} {:>10} {:>8} {:>10}\n", "layer", "outputs", "differ", "%",
         "largest", "mean");
    for (const LayerDifference& layer : result.layers) {
      show("{:<28} {:>12} {:>10} {:>10.5f} {:>8} {:>10.2e}\n", printable(layer.name, 28),
           layer.compared, layer.differing, 100 * layer.share(), layer.largest, layer.mean());
    }
    show("\n");
  }
  const LayerDifference total = result.total();
  const std::string in_float =
      total.largest_in_float > 0.0F ? fmt::format(", in float {:.2e}", total.largest_in_float) : "";
  show("{} that differ: {} of {} ({:.5f} %), largest difference {}, mean {:.2e}{}\n",
       layers ? "layer outputs" : "outputs", total.differing, total.compared, 100 * total.share(),
       total.largest, total.mean(), in_float);
  show("predictions that differ: {} of {}\n", result.differing_predictions, result.samples);
}

}  // namespace

bool verify(const VerifyOptions& options) {
  if (options.threads > 0) set_num_threads(options.threads);
  const Models models = open_both(options);
  bool layers = options.layers;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!layers || models[i].has_layers) continue;
    show_error("octet: '{}' is C source and shows its outputs alone, no layers\n",
               options.files[i]);
    layers = false;
  }
  const Verification result = compare(options, models, layers ? Compare::layers : Compare::outputs);
  const auto print = options.json ? print_json : print_text;
  print(options, models, result, layers);
  return result.difference.total().differing == 0;
}

}  // namespace octet::tools
