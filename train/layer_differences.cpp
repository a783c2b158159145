#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/train/layer_differences.h>
#include <octet/train/samples_per_pass.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace octet {
namespace {

constexpr std::size_t kMostPerPass = 500;

LayerDifference compare_codes(std::span<const std::int16_t> a, std::span<const std::int16_t> b) {
  LayerDifference result;
  result.compared = a.size();
  if (std::ranges::equal(a, b)) return result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int32_t distance = std::abs(std::int32_t{a[i]} - std::int32_t{b[i]});
    result.differing += distance != 0 ? 1U : 0U;
    result.largest = std::max(result.largest, distance);
    result.sum += static_cast<std::uint64_t>(distance);
  }
  return result;
}

LayerDifference compare_floats(std::span<const float> a, std::span<const float> b) {
  LayerDifference result;
  result.compared = a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i])) continue;
    ++result.differing;
    result.largest_in_float = std::max(result.largest_in_float, std::abs(a[i] - b[i]));
  }
  return result;
}

/// Throws InvalidArgument where a network gives another number of values than it says, which
/// nothing could be compared with.
void check_count(std::string_view what, const std::string& name, Index size, std::size_t samples,
                 std::size_t found) {
  if (found == samples * static_cast<std::size_t>(size)) return;
  throw InvalidArgument(
      fmt::format("compare: expected {} {} of layer \"{}\" for each of {} samples, found {} in all",
                  size, what, name, samples, found));
}

/// The codes of one layer for `samples` samples.
std::span<const std::int16_t> codes_of(const LayerCodes& network, std::size_t layer,
                                       std::size_t samples) {
  const CodeLayer& shape = network.layers()[layer];
  const std::span<const std::int16_t> codes = network.codes(layer);
  check_count("quantized values", shape.name, shape.size, samples, codes.size());
  return codes;
}

/// The values of an output in float.
std::span<const float> floats_of(const LayerCodes& network, std::size_t samples) {
  const std::span<const float> floats = network.floats();
  const FloatOutput& output = *network.float_output();
  check_count("values in float", output.name, output.size, samples, floats.size());
  return floats;
}

/// Which value of a sample is in front: the first of its largest.
template <class T>
std::ptrdiff_t prediction(std::span<const T> values, std::size_t sample, std::size_t size) {
  const auto row = values.subspan(sample * size, size);
  return std::ranges::max_element(row) - row.begin();
}

/// Notes the samples in which the predictions of an output differ.
template <class T>
void note_predictions(std::span<const T> a, std::span<const T> b, std::vector<bool>& differs) {
  const std::size_t size = a.size() / differs.size();
  for (std::size_t i = 0; i < differs.size(); ++i) {
    if (prediction(a, i, size) != prediction(b, i, size)) differs[i] = true;
  }
}

void check_layers(const std::vector<CodeLayer>& a, const std::vector<CodeLayer>& b) {
  if (a.size() != b.size()) {
    throw InvalidArgument(fmt::format(
        "compare: the models have {} and {} layers, so there is no way to match them; compare "
        "their outputs alone",
        a.size(), b.size()));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size == b[i].size) continue;
    throw InvalidArgument(fmt::format(
        "compare: layer {} is \"{}\" of {} values per sample in one model, \"{}\" of {} "
        "in the other",
        i, a[i].name, a[i].size, b[i].name, b[i].size));
  }
}

void check_ends(const LayerCodes& a, const LayerCodes& b) {
  if (a.float_output().has_value() != b.float_output().has_value()) {
    throw InvalidArgument(fmt::format(
        "compare: the output of one model is computed by layers in float, \"{}\", that of the "
        "other is integers",
        (a.float_output() ? a : b).float_output()->name));
  }
  const auto check_sizes = [&](std::string_view what, const std::vector<Index>& x,
                               const std::vector<Index>& y) {
    if (x.size() != y.size()) {
      throw InvalidArgument(
          fmt::format("compare: expected two models with as many {}s, found {} and {}", what,
                      x.size(), y.size()));
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k] == y[k]) continue;
      throw InvalidArgument(fmt::format(
          "compare: a sample's {}{} has {} {} in one model, {} in the other", what,
          x.size() == 1 ? "" : fmt::format(" {}", k + 1), x[k],
          what == "output" && a.float_output() ? "values in float" : "quantized values", y[k]));
    }
  };
  const auto sizes = [](const LayerCodes& of, const std::vector<std::size_t>& layers) {
    std::vector<Index> result;
    for (const std::size_t layer : layers) result.push_back(of.layers()[layer].size);
    return result;
  };
  const auto outputs = [&](const LayerCodes& of) {
    return of.float_output() ? std::vector{of.float_output()->size} : sizes(of, of.output_layers());
  };
  check_sizes("input", sizes(a, a.input_layers()), sizes(b, b.input_layers()));
  check_sizes("output", outputs(a), outputs(b));
}

/// The layers that are compared: all, or those that outputs are made of.
std::vector<std::size_t> compared_layers(const LayerCodes& network, Compare what) {
  if (what == Compare::outputs) {
    return network.float_output() ? std::vector<std::size_t>() : network.output_layers();
  }
  std::vector<std::size_t> all(network.layers().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// What a sample takes in both: every layer's quantized values, and their real values in a
/// simulation, or as samples.
std::size_t sample_bytes(const LayerCodes& a, const LayerCodes& b) {
  std::size_t codes = 0;
  for (const LayerCodes* network : {&a, &b}) {
    for (const CodeLayer& layer : network->layers()) {
      codes += static_cast<std::size_t>(layer.size);
    }
  }
  return codes * (sizeof(std::int16_t) + sizeof(float));
}

}  // namespace

LayerDifference& LayerDifference::operator+=(const LayerDifference& other) {
  compared += other.compared;
  differing += other.differing;
  largest = std::max(largest, other.largest);
  largest_in_float = std::max(largest_in_float, other.largest_in_float);
  sum += other.sum;
  return *this;
}

double LayerDifference::share() const {
  return compared == 0 ? 0.0 : static_cast<double>(differing) / static_cast<double>(compared);
}

double LayerDifference::mean() const {
  return compared == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(compared);
}

LayerDifference NetworkDifference::total() const {
  LayerDifference total;
  total.name = "total";
  for (const LayerDifference& layer : layers) total += layer;
  return total;
}

NetworkDifference compare_networks(LayerCodes& a, LayerCodes& b, const Dataset& data,
                                   Compare what) {
  const auto features = [&](std::size_t begin, std::size_t end) {
    return data.batch(begin, end).inputs();
  };
  return compare_networks(a, b, data.size(), features, what);
}

NetworkDifference compare_networks(LayerCodes& a, LayerCodes& b, std::size_t samples,
                                   MakeSamples make_samples, Compare what) {
  check_ends(a, b);
  if (what == Compare::layers) check_layers(a.layers(), b.layers());
  const bool in_float = a.float_output().has_value();
  const std::vector<std::size_t> layers_a = compared_layers(a, what);
  const std::vector<std::size_t> layers_b = compared_layers(b, what);
  NetworkDifference result;
  result.samples = samples;
  for (const std::size_t layer : layers_a) {
    result.layers.emplace_back().name = a.layers()[layer].name;
  }
  if (in_float) result.layers.emplace_back().name = a.float_output()->name;
  const std::size_t per_pass = samples_per_pass("compare", sample_bytes(a, b), kMostPerPass);
  const auto compare_piece = [&](std::size_t begin) {
    const std::size_t end = std::min(samples, begin + per_pass);
    const std::size_t rows = end - begin;
    const std::vector<Tensor> piece = make_samples(begin, end);
    a.run(piece);
    b.run(piece);
    for (std::size_t i = 0; i < layers_a.size(); ++i) {
      result.layers[i] +=
          compare_codes(codes_of(a, layers_a[i], rows), codes_of(b, layers_b[i], rows));
    }
    std::vector<bool> differs(rows);
    if (in_float) {
      const auto x = floats_of(a, rows);
      const auto y = floats_of(b, rows);
      result.layers.back() += compare_floats(x, y);
      note_predictions(x, y, differs);
    } else {
      for (std::size_t k = 0; k < a.output_layers().size(); ++k) {
        note_predictions(codes_of(a, a.output_layers()[k], rows),
                         codes_of(b, b.output_layers()[k], rows), differs);
      }
    }
    result.differing_predictions += static_cast<std::uint64_t>(std::ranges::count(differs, true));
  };
  parallel_region([&] {
    for (std::size_t i = 0; i < samples; i += per_pass) compare_piece(i);
  });
  return result;
}

NetworkDifference compare_networks(const Model& model, const IntegerModel& shipped,
                                   const Dataset& data) {
  SimulatedCodes simulated(model);
  InterpretedCodes interpreted(shipped);
  return compare_networks(simulated, interpreted, data);
}

}  // namespace octet
