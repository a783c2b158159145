#pragma once

#include <octet/core/tensor.h>
#include <octet/train/data/targets.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace octet {

/// The integers against a guess that does not look at the input, on the same test examples.
struct Baseline {
  /// The output's name; empty for a model of one.
  std::string output{};
  /// Who guesses: "who always says the commonest class".
  std::string guess{};
  /// What both come to: "accuracy", "iou", "binary_accuracy", "mean_squared_error" or "roc_auc".
  std::string score{};
  double guessed = 0.0;
  double integer = 0.0;
  /// The lower end of the 95 % interval of what the integers are better by; that of an error is how
  /// much smaller it is.
  double least_gain = 0.0;

  /// Returns by how much the integers are better than the guess.
  double gain() const;
};

// Each function but commonest_of_places() and chance() counts example by example: with n gains of
// mean m and deviation s, the least gain is m - 1.96 s / sqrt(n). All throw InvalidArgument for no
// examples, and for outputs and targets of unlike sizes.

/// Classes that were said of examples, against the commonest one of all labels.
Baseline commonest_class(std::span<const std::int32_t> said, std::span<const std::int32_t> labels);

/// Classes that were said of `examples` examples, of as many places each, against the commonest one
/// everywhere, by the mean IoU over the classes that have labels. The deviation is that of the
/// jackknife: with the gains g_i of all examples but one, sqrt((n - 1) / n sum (g_i - mean)^2).
Baseline commonest_of_places(std::span<const std::int32_t> said,
                             std::span<const std::int32_t> labels, std::size_t examples);

/// Outputs [n, ...] whose targets are 0 or 1, against what is commonest in each column.
Baseline commonest_labels(const Tensor& outputs, const Tensor& targets, float threshold);

/// Outputs [n, ...] of numbers, against the mean of each column of the targets.
Baseline mean_of_targets(const Tensor& outputs, const Tensor& targets);

/// Scores of which anomalies, those of label 1, should have the larger ones, against chance. The
/// deviation is that of Hanley and McNeil (Radiology 1982). Throws as roc_auc().
Baseline chance(std::span<const float> scores, std::span<const std::int32_t> anomalies);

}  // namespace octet
