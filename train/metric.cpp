#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/function_ref.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/printable.h>
#include <octet/train/history.h>
#include <octet/train/metric.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

/// Why no metric can have this name, in words; empty where one can.
std::string_view fault_of(std::string_view name) {
  const auto unfit = [](char c) { return c < ' ' || c > '~' || c == ',' || c == '"'; };
  if (name.empty() || std::ranges::any_of(name, unfit)) {
    return "expected printable ASCII without comma and quotation mark";
  }
  if (name == "accuracy" || std::ranges::count(history_columns(), name) != 0) {
    return "histories have a number of that name already";
  }
  return "";
}

/// How many of the row's outputs are on the right side of the threshold.
std::size_t count_right(std::span<const float> output, std::span<const float> target,
                        float threshold) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (target[i] != 0.0F && target[i] != 1.0F) {
      throw InvalidArgument(
          fmt::format("binary metric: expected targets 0 and 1, found {}", target[i]));
    }
    right += target[i] == 1.0F ? output[i] > threshold : output[i] <= threshold;
  }
  return right;
}

/// The mean over rows of of_row(outputs on the right side, outputs).
double mean_of_rows(const Tensor& output, const Tensor& target, float threshold,
                    FunctionRef<double(std::size_t right, std::size_t all)> of_row) {
  if (output.shape() != target.shape() || output.rank() < 1 || output.size() == 0) {
    throw InvalidArgument(
        fmt::format("binary metric: expected outputs and targets of one shape, found {} and {}",
                    output.shape().to_string(), target.shape().to_string()));
  }
  const auto rows = static_cast<std::size_t>(output.dim(0));
  const std::size_t width = output.span().size() / rows;
  double sum = 0.0;
  for (std::size_t row = 0; row < rows; ++row) {
    sum += of_row(count_right(output.span().subspan(row * width, width),
                              target.span().subspan(row * width, width), threshold),
                  width);
  }
  return sum / static_cast<double>(rows);
}

}  // namespace

Metric loss_metric(std::string name, Loss loss) {
  return {std::move(name), [loss = std::move(loss)](const Tensor& output, const Targets& targets) {
            return double{loss(output, targets).item()};
          }};
}

Metric binary_accuracy(float threshold) {
  return {"binary_accuracy", [threshold](const Tensor& output, const Tensor& target) {
            return mean_of_rows(output, target, threshold, [](std::size_t right, std::size_t all) {
              return static_cast<double>(right) / static_cast<double>(all);
            });
          }};
}

Metric exact_match(float threshold) {
  return {"exact_match", [threshold](const Tensor& output, const Tensor& target) {
            return mean_of_rows(output, target, threshold, [](std::size_t right, std::size_t all) {
              return right == all ? 1.0 : 0.0;
            });
          }};
}

void check_metric_names(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string_view fault = fault_of(names[i]);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(names.begin(), end, names[i]) != end) fault = "another metric has that name";
    if (!fault.empty()) {
      throw InvalidArgument(fmt::format("metric \"{}\": {}", printable(names[i]), fault));
    }
  }
}

void check_metrics(const std::vector<Metric>& metrics) {
  std::vector<std::string> names;
  names.reserve(metrics.size());
  for (const Metric& metric : metrics) names.push_back(metric.name);
  check_metric_names(names);
  for (const Metric& metric : metrics) {
    if (metric.value) continue;
    throw InvalidArgument(
        fmt::format("metric \"{}\": expected a function, found none", metric.name));
  }
}

Labels classes_of(const Tensor& output, std::optional<float> threshold) {
  if (!threshold) return argmax(output);
  if (output.rank() < 1 || output.dim(-1) != 1) {
    throw InvalidArgument(fmt::format("classes_of: a threshold is for one output per row, found {}",
                                      output.shape().to_string()));
  }
  Labels labels(output.span().size());
  std::ranges::transform(output.span(), labels.begin(),
                         [&](float value) { return value > *threshold ? 1 : 0; });
  return labels;
}

double share_right(const Tensor& output, std::span<const std::int32_t> labels,
                   std::optional<float> threshold) {
  if (output.rank() != 2 || output.dim(0) != static_cast<Index>(labels.size())) {
    throw InvalidArgument(fmt::format("accuracy: expected {} rows of outputs, found shape {}",
                                      labels.size(), output.shape().to_string()));
  }
  if (labels.empty()) return 0.0;
  const Labels predicted = classes_of(output, threshold);
  const Index classes = output.dim(1);
  std::size_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Index winner = threshold ? 0 : predicted[i];
    const float value = output.data()[static_cast<Index>(i) * classes + winner];
    right += !std::isnan(value) && predicted[i] == labels[i] ? 1U : 0U;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

double accuracy(const Tensor& output, std::span<const std::int32_t> labels) {
  const bool one_output = output.rank() == 2 && output.dim(1) == 1;
  return share_right(output, labels, one_output ? std::optional(0.0F) : std::nullopt);
}

}  // namespace octet
