#pragma once

#include <octet/core/function_ref.h>
#include <octet/deploy/layer_codes.h>
#include <octet/train/data/dataset.h>

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// How far two networks differ at one layer, in quantized values or in the floats of an output.
struct LayerDifference {
  std::string name;
  std::uint64_t compared = 0;
  /// How many quantized values differ; of values in float, those that differ in any bit.
  std::uint64_t differing = 0;
  /// The largest difference of quantized values; 0 for values in float.
  std::int32_t largest = 0;
  /// The sum of all differences of quantized values; 0 for values in float.
  std::uint64_t sum = 0;
  /// The largest difference of values in float.
  float largest_in_float = 0.0F;

  /// Adds the differences of another layer, or of more samples.
  LayerDifference& operator+=(const LayerDifference& other);
  /// The share of outputs that differ, and the mean difference of quantized values over all
  /// outputs; 0 without outputs.
  double share() const;
  double mean() const;
};

/// What two networks gave for the same samples.
struct NetworkDifference {
  /// The inputs first: see LayerCodes::layers(). An output in float is the last one.
  std::vector<LayerDifference> layers;
  std::uint64_t samples = 0;
  /// Samples in which the place of the largest value of an output, the first of equal ones, is
  /// another one.
  std::uint64_t differing_predictions = 0;

  LayerDifference total() const;
};

enum class Compare { layers, outputs };

/// Runs both on all samples of `data` and compares their quantized values, layer by layer or those
/// of the outputs alone, and the values of an output that layers in float compute. Throws
/// InvalidArgument where they do not have the same number of inputs, outputs, layers, quantized
/// values and values in float, and where one sample takes more than 1 GiB of memory.
NetworkDifference compare_networks(LayerCodes& a, LayerCodes& b, const Dataset& data,
                                   Compare what = Compare::layers);

/// Makes samples [begin, end) of each input as floats [end - begin, ...].
using MakeSamples = FunctionRef<std::vector<Tensor>(std::size_t begin, std::size_t end)>;

/// Compares two networks on `count` samples, which are made as they are needed, in order and at
/// most 500 or 64 MiB at a time.
NetworkDifference compare_networks(LayerCodes& a, LayerCodes& b, std::size_t count,
                                   MakeSamples samples, Compare what = Compare::layers);

/// Compares a trained model with what was made of it: 0 everywhere under Simulation::integer.
NetworkDifference compare_networks(const Model& model, const IntegerModel& shipped,
                                   const Dataset& data);

}  // namespace octet
