#include <fmt/format.h>
#include <octet/core/error.h>
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

}  // namespace

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
  for (const Metric& metric : metrics) names.push_back(metric.name);
  check_metric_names(names);
  for (const Metric& metric : metrics) {
    if (metric.value) continue;
    throw InvalidArgument(
        fmt::format("metric \"{}\": expected a function, found none", metric.name));
  }
}

double accuracy(const Tensor& output, std::span<const std::int32_t> labels) {
  if (output.rank() != 2 || output.dim(0) != static_cast<Index>(labels.size())) {
    throw InvalidArgument(fmt::format("accuracy: expected {} rows of outputs, found shape {}",
                                      labels.size(), output.shape().to_string()));
  }
  if (labels.empty()) return 0.0;
  const Labels predicted = argmax(output);
  const Index classes = output.dim(1);
  std::size_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float winner = output.data()[static_cast<Index>(i) * classes + predicted[i]];
    right += !std::isnan(winner) && predicted[i] == labels[i] ? 1U : 0U;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

}  // namespace octet
