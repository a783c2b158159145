#pragma once

#include <octet/layers/model.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/report/measure.h>

#include <cstdint>
#include <span>
#include <vector>

// The parts of measure_report().

namespace octet::detail {

/// A channel that spans so many medians of the channels is wide.
inline constexpr double kWideInMedians = 8.0;
/// A channel of fewer quantized values, which is not constant in float, is starved.
inline constexpr std::int32_t kFewestCodes = 4;

/// What every quantized layer makes of the first samples of `test`. The signal is the same model
/// computing in floats, the quantized values those of the integers.
std::vector<LayerFacts> measure_layers(const Model& quantized, const Dataset& test,
                                       std::size_t samples);

/// Adds the sensitivity of every layer with a kernel, and the accuracies that it is held against.
/// The networks that this takes are shared out among `ranks`.
void measure_sensitivity(const ReportModels& models, std::span<const Tensor> calibration,
                         const Dataset& samples, ProcessGroup& ranks, LayerReport& report);

/// Adds what the remedies for what the layers show come to, where they can be carried out.
void try_remedies(const ReportModels& models, std::vector<Tensor> calibration,
                  const Dataset& samples, ProcessGroup& ranks, LayerReport& report);

/// The class that each version of the network said of each test example.
struct SaidClasses {
  const Labels& in_float;
  const Labels& in_integers;
};

/// Adds which classes the integers take for which, and the examples that say so.
void measure_classes(const ReportModels& models, const Dataset& test, const SaidClasses& said,
                     const ReportOptions& options, Report& report);

/// The options that `quantized` was quantized with, those of its first QuantizeLayer.
QuantizeOptions options_of(const Model& quantized);

/// quantize_post_training() without its warnings: a report quantizes one network many times.
Model quantize_quietly(const Model& model, std::span<const Tensor> calibration,
                       const QuantizeOptions& options);

/// Whether training has changed a parameter of `quantized` since it was made of `model`.
bool is_trained(const Model& quantized, const Model& model);

}  // namespace octet::detail
