#pragma once

#include <octet/core/tensor.h>
#include <octet/train/data/targets.h>
#include <octet/train/loss.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// A number that tells how good a model's outputs are, beside the accuracy that is always there
/// where targets are class labels. The function may take labels or a tensor: see Targets.
///
///     const Metric error{"mean_error", [](const Tensor& output, const Tensor& target) {
///       return double{mean(output - target).item()};
///     }};
struct Metric {
  /// The name that histories have for it: see check_metric_names().
  std::string name;
  /// The metric of some rows. The output is the one that losses take: that of forward_logits().
  std::function<double(const Tensor& output, const Targets& targets)> value;
};

/// A loss as a metric: the mean over all rows, as losses are means over the rows of a batch.
Metric loss_metric(std::string name, Loss loss);

/// "binary_accuracy": the share of outputs on the right side of `threshold`: above it where the
/// target is 1, not above it where the target is 0. Targets are a tensor of the output's shape, of
/// 0 and 1. The threshold is that of the model's outputs: 0 for logits, 0.5 where it ends in a
/// sigmoid. NaN counts as wrong.
Metric binary_accuracy(float threshold = 0.0F);

/// "exact_match": the share of rows all of whose outputs are on the right side of `threshold`.
Metric exact_match(float threshold = 0.0F);

/// What a metric came to on a data set.
struct MetricValue {
  std::string name;
  double value = 0.0;

  bool operator==(const MetricValue&) const = default;
};

/// Throws InvalidArgument, with the name, unless each name is printable ASCII without comma and
/// quotation mark, stands once, and is neither "accuracy" nor a column of history_csv().
void check_metric_names(const std::vector<std::string>& names);

/// check_metric_names(), and that each metric has a function.
void check_metrics(const std::vector<Metric>& metrics);

/// The class of each row of outputs [n, c]: the first of the largest ones; with a threshold, c = 1
/// and the class is 1 where the output is above it, else 0.
Labels classes_of(const Tensor& output, std::optional<float> threshold);

/// The share of rows whose class is their label. Rows of NaN count as wrong.
double share_right(const Tensor& output, std::span<const std::int32_t> labels,
                   std::optional<float> threshold);
/// The share of rows of logits whose class is their label; with one output per row, class 1 is a
/// logit above 0.
double accuracy(const Tensor& output, std::span<const std::int32_t> labels);

}  // namespace octet
