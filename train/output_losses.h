#pragma once

#include <octet/layers/model.h>
#include <octet/train/evaluate.h>
#include <octet/train/loss.h>
#include <octet/train/metric.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What one output of a model of several is trained and measured by: see TrainerOptions::losses.
struct OutputLoss {
  /// The name of the layer that gives the output; of a model of quantize_model(), also the name
  /// that it had in the float model.
  std::string output;
  Loss loss = sparse_categorical_cross_entropy();
  /// What the loss is multiplied by in the sum that training makes small.
  float weight = 1.0F;
  std::vector<Metric> metrics{};
};

namespace detail {

/// The metric that is the loss on the test set.
inline constexpr const char* kTestLoss = "test_loss";

/// By output of the model: `losses` in the model's order, or for a model of one output `loss` and
/// `metrics`. Throws InvalidArgument, which begins with `operation`, unless there is one for each
/// output and none for others.
std::vector<OutputLoss> losses_by_output(std::string_view operation, const Model& model,
                                         const Loss& loss, const std::vector<Metric>& metrics,
                                         const std::vector<OutputLoss>& losses);

/// The metrics of a model of several outputs: NAME_loss of each, and NAME_METRIC.
std::vector<OutputMetric> metrics_of(const std::vector<OutputLoss>& losses);

/// Throws InvalidArgument for metrics whose names or functions make no sense, or are taken.
void check_metrics_of(const std::vector<OutputLoss>& losses);

}  // namespace detail

}  // namespace octet
