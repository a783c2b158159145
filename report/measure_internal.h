#pragma once

#include <octet/layers/model.h>
#include <octet/report/measure.h>

#include <vector>

// The parts of measure_report().

namespace octet::detail {

/// What every quantized layer makes of the first samples of `test`. The signal is the same model
/// computing in floats, the quantized values those of the integers.
std::vector<LayerFacts> measure_layers(const Model& quantized, const Dataset& test,
                                       std::size_t samples);

/// Adds the sensitivity of every layer with a kernel, and the accuracies that it is held against.
/// The networks that this takes are shared out among `ranks`.
void measure_sensitivity(const ReportModels& models, const Tensor& calibration,
                         const Dataset& samples, ProcessGroup& ranks, LayerReport& report);

/// `model` as quantize_post_training() makes it, with the options of `quantized`.
Model quantized_as(const Model& quantized, const Model& model, const Tensor& calibration);

}  // namespace octet::detail
