#pragma once

#include <octet/core/tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// A number that tells how good a model's outputs are, beside the accuracy that is always there.
///
///     const Metric error{"mean_error", [](const Tensor& output, auto labels) {
///       return double{one_hot_mean_squared_error()(output, labels).item()};
///     }};
struct Metric {
  /// The name that histories have for it: see check_metric_names().
  std::string name;
  /// The metric of some rows. The output is the one that losses take: that of forward_logits().
  std::function<double(const Tensor& output, std::span<const std::int32_t> labels)> value;
};

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

/// The share of rows whose largest output (the first of equal ones) is at their label. Rows of NaN
/// count as wrong.
double accuracy(const Tensor& output, std::span<const std::int32_t> labels);

}  // namespace octet
