#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parse_number.h>
#include <octet/core/printable.h>
#include <octet/train/metric.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace octet {
namespace {

void require_equal(std::string_view what, std::size_t found, std::size_t expected) {
  if (found == expected && expected > 0) return;
  throw InvalidArgument(
      fmt::format("{}: expected as many outputs as targets and at least one, found "
                  "{} and {}",
                  what, found, expected));
}

/// Counts of a class: found rightly, predicted, and labelled.
struct ClassCounts {
  std::uint64_t true_positive = 0;
  std::uint64_t said = 0;
  std::uint64_t labelled = 0;
};

ClassCounts counts_of(const ConfusionMatrix& counts, std::size_t label) {
  if (label >= counts.size()) {
    throw InvalidArgument(
        fmt::format("confusion matrix: expected a class below {}, found {}", counts.size(), label));
  }
  ClassCounts result{.true_positive = counts[label][label]};
  for (std::size_t other = 0; other < counts.size(); ++other) {
    result.said += counts[other][label];
    result.labelled += counts[label][other];
  }
  return result;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

double precision(const ClassCounts& own) { return ratio(own.true_positive, own.said); }
double recall(const ClassCounts& own) { return ratio(own.true_positive, own.labelled); }
double f1(const ClassCounts& own) { return ratio(2 * own.true_positive, own.said + own.labelled); }
double iou(const ClassCounts& own) {
  return ratio(own.true_positive, own.said + own.labelled - own.true_positive);
}

/// The mean over the classes that have examples.
double mean_over_classes(const std::vector<ClassCounts>& counts, double (*of)(const ClassCounts&)) {
  double sum = 0.0;
  std::size_t classes = 0;
  for (const ClassCounts& own : counts) {
    if (own.labelled == 0) continue;
    sum += of(own);
    ++classes;
  }
  return classes == 0 ? 0.0 : sum / static_cast<double>(classes);
}

void require_class(std::int32_t one, int classes) {
  if (one >= 0 && one < classes) return;
  throw InvalidArgument(
      fmt::format("confusion_matrix: expected classes in [0, {}), found {}", classes, one));
}

/// Outputs and labels of rows.
struct Rows {
  Tensor outputs;
  Labels labels;
};

Tensor as_rows(const Tensor& values) { return values.reshape({-1, values.dim(-1)}); }

/// Labels as they are, or those of targets that are tensors.
Rows rows_of(std::string_view name, const Tensor& outputs, const Targets& targets) {
  Rows rows{as_rows(outputs), {}};
  if (targets.are_labels()) {
    rows.labels = targets.labels();
  } else {
    if (targets.values().shape() != outputs.shape()) {
      throw InvalidArgument(fmt::format("{}: expected targets of the outputs' shape {}, found {}",
                                        name, outputs.shape().to_string(),
                                        targets.values().shape().to_string()));
    }
    const Tensor values = as_rows(targets.values());
    for (const float value : values.span()) {
      if (value >= 0.0F && value <= 1.0F) continue;
      throw InvalidArgument(
          fmt::format("{}: expected targets of classes, from 0 to 1, found {}; numbers are scored "
                      "by mean_absolute_error and r2",
                      name, value));
    }
    rows.labels = classes_of(
        values, values.dim(1) == 1 ? std::optional<float>(0.5F) : std::optional<float>());
  }
  require_equal(name, static_cast<std::size_t>(rows.outputs.dim(0)), rows.labels.size());
  return rows;
}

/// The counts of each class.
std::vector<ClassCounts> counts_in(const Rows& rows, float threshold) {
  const Index width = rows.outputs.dim(1);
  const Labels said = classes_of(
      rows.outputs, width == 1 ? std::optional<float>(threshold) : std::optional<float>());
  std::vector<ClassCounts> counts(static_cast<std::size_t>(std::max<Index>(width, 2)));
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::int32_t label = rows.labels[i];
    require_class(label, static_cast<int>(counts.size()));
    ++counts[static_cast<std::size_t>(label)].labelled;
    ++counts[static_cast<std::size_t>(said[i])].said;
    if (said[i] == label) ++counts[static_cast<std::size_t>(label)].true_positive;
  }
  return counts;
}

/// What speaks for a class: its outputs; of two classes, how much larger they are than those of the
/// other one, which floats may not tell apart; of a single output, it.
std::vector<double> column_of(const Tensor& rows, Index column) {
  std::vector<double> values;
  for (Index row = 0; row < rows.dim(0); ++row) {
    const float* own = rows.data() + row * rows.dim(1);
    const double other = rows.dim(1) == 2 ? double{own[1 - column]} : 0.0;
    values.push_back(double{own[column]} - other);
  }
  return values;
}

/// roc_auc() of scores in double.
double area_under_curve(const std::vector<double>& scores, std::span<const std::int32_t> labels) {
  require_equal("roc_auc", scores.size(), labels.size());
  std::vector<std::pair<double, std::int32_t>> rows;
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if ((labels[i] != 0 && labels[i] != 1) || std::isnan(scores[i])) {
      throw InvalidArgument(fmt::format(
          "roc_auc: expected labels 0 and 1 and scores that are numbers, found {} and {} in row {}",
          labels[i], static_cast<float>(scores[i]), i));
    }
    ones += static_cast<std::uint64_t>(labels[i]);
    rows.emplace_back(scores[i], labels[i]);
  }
  const std::uint64_t zeros = labels.size() - ones;
  if (ones == 0 || zeros == 0) {
    throw InvalidArgument(fmt::format(
        "roc_auc: expected examples of both labels, found {} of 0 and {} of 1", zeros, ones));
  }
  std::ranges::sort(rows);
  // Pairs, twice, in whole numbers: an equal score is half a pair.
  std::uint64_t pairs = 0;
  std::uint64_t zeros_below = 0;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    std::uint64_t equal_ones = 0;
    for (; end < rows.size() && rows[end].first == rows[begin].first; ++end) {
      equal_ones += static_cast<std::uint64_t>(rows[end].second);
    }
    const std::uint64_t equal_zeros = end - begin - equal_ones;
    pairs += equal_ones * (2 * zeros_below + equal_zeros);
    zeros_below += equal_zeros;
    begin = end;
  }
  return static_cast<double>(pairs) / 2.0 /
         (static_cast<double>(ones) * static_cast<double>(zeros));
}

double auc_of(const Rows& rows) {
  const Index width = rows.outputs.dim(1);
  if (width <= 2) return area_under_curve(column_of(rows.outputs, width - 1), rows.labels);
  double sum = 0.0;
  for (Index label = 0; label < width; ++label) {
    Labels is_it(rows.labels.size());
    std::ranges::transform(rows.labels, is_it.begin(),
                           [&](std::int32_t one) { return one == label ? 1 : 0; });
    const auto count = static_cast<std::size_t>(std::ranges::count(is_it, 1));
    if (count == 0 || count == is_it.size()) {
      throw InvalidArgument(
          fmt::format("roc_auc: expected examples of class {} and of others, found {} and {}",
                      label, count, is_it.size() - count));
    }
    sum += area_under_curve(column_of(rows.outputs, label), is_it);
  }
  return sum / static_cast<double>(width);
}

/// K of "top_K".
std::optional<int> top_of(std::string_view name) {
  constexpr std::string_view kTop = "top_";
  if (!name.starts_with(kTop)) return std::nullopt;
  int k = 0;
  const bool is_number = parse_number(name.substr(kTop.size()), k) == std::errc();
  return is_number && k > 0 ? std::optional(k) : std::nullopt;
}

double share_of_right(const std::vector<ClassCounts>& counts) {
  std::uint64_t right = 0;
  std::uint64_t all = 0;
  for (const ClassCounts& own : counts) {
    right += own.true_positive;
    all += own.labelled;
  }
  return ratio(right, all);
}

}  // namespace

ConfusionMatrix confusion_matrix(std::span<const std::int32_t> predictions,
                                 std::span<const std::int32_t> labels, int classes) {
  require_equal("confusion_matrix", predictions.size(), labels.size());
  if (classes > kMostConfusedClasses) {
    throw InvalidArgument(fmt::format("confusion_matrix: expected at most {} classes, found {}",
                                      kMostConfusedClasses, classes));
  }
  const auto size = static_cast<std::size_t>(std::max(classes, 0));
  ConfusionMatrix counts(size, std::vector<std::uint64_t>(size));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    require_class(labels[i], classes);
    require_class(predictions[i], classes);
    ++counts[static_cast<std::size_t>(labels[i])][static_cast<std::size_t>(predictions[i])];
  }
  return counts;
}

double precision_of(const ConfusionMatrix& counts, std::size_t label) {
  return precision(counts_of(counts, label));
}

double recall_of(const ConfusionMatrix& counts, std::size_t label) {
  return recall(counts_of(counts, label));
}

double f1_of(const ConfusionMatrix& counts, std::size_t label) {
  return f1(counts_of(counts, label));
}

double iou_of(const ConfusionMatrix& counts, std::size_t label) {
  return iou(counts_of(counts, label));
}

double top_k_accuracy(const Tensor& outputs, std::span<const std::int32_t> labels, int k) {
  if (k < 1 || outputs.rank() != 2) {
    throw InvalidArgument(fmt::format(
        "top_k_accuracy: expected k of at least 1 and outputs [n, classes], found {} and "
        "{}",
        k, outputs.shape().to_string()));
  }
  require_equal("top_k_accuracy", static_cast<std::size_t>(outputs.dim(0)), labels.size());
  const auto classes = static_cast<std::size_t>(outputs.dim(1));
  std::uint64_t right = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::span<const float> own = outputs.span().subspan(row * classes, classes);
    const auto label = static_cast<std::size_t>(labels[row]);
    if (labels[row] < 0 || label >= classes) {
      throw InvalidArgument(fmt::format("top_k_accuracy: expected labels in [0, {}), found {}",
                                        classes, labels[row]));
    }
    int before = 0;
    for (std::size_t other = 0; other < classes; ++other) {
      // NaN counts as wrong.
      const bool is_less = other < label ? own[other] < own[label] : own[other] <= own[label];
      before += other != label && !is_less ? 1 : 0;
    }
    right += before < k && !std::isnan(own[label]) ? 1 : 0;
  }
  return ratio(right, labels.size());
}

double roc_auc(std::span<const float> scores, std::span<const std::int32_t> labels) {
  return area_under_curve({scores.begin(), scores.end()}, labels);
}

std::vector<float> reconstruction_errors(const Tensor& outputs, const Tensor& targets) {
  const std::span<const float> found = outputs.span();
  const std::span<const float> expected = targets.span();
  const auto rows = static_cast<std::size_t>(outputs.dim(0));
  if (found.size() != expected.size() || outputs.dim(0) != targets.dim(0) || found.empty()) {
    throw InvalidArgument(fmt::format(
        "reconstruction_errors: expected outputs and targets of as many rows and values, found {} "
        "and {}",
        outputs.shape().to_string(), targets.shape().to_string()));
  }
  const std::size_t each = found.size() / rows;
  std::vector<float> errors(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0.0;
    for (std::size_t i = row * each; i < (row + 1) * each; ++i) {
      const double difference = double{found[i]} - double{expected[i]};
      sum += difference * difference;
    }
    errors[row] = static_cast<float>(sum / static_cast<double>(each));
  }
  return errors;
}

double mean_absolute_error_of(std::span<const float> outputs, std::span<const float> targets) {
  require_equal("mean_absolute_error", outputs.size(), targets.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    sum += std::abs(double{outputs[i]} - double{targets[i]});
  }
  return sum / static_cast<double>(targets.size());
}

double r2_of(std::span<const float> outputs, std::span<const float> targets) {
  require_equal("r2", outputs.size(), targets.size());
  double mean = 0.0;
  for (const float target : targets) mean += double{target};
  mean /= static_cast<double>(targets.size());
  double left = 0.0;
  double all = 0.0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    left += (double{outputs[i]} - double{targets[i]}) * (double{outputs[i]} - double{targets[i]});
    all += (double{targets[i]} - mean) * (double{targets[i]} - mean);
  }
  if (all == 0.0) return left == 0.0 ? 1.0 : 0.0;
  return 1.0 - left / all;
}

std::vector<std::string_view> score_names() {
  return {"accuracy", "top_K",   "precision",           "recall", "f1", "iou",
          "dice",     "roc_auc", "mean_absolute_error", "r2"};
}

double score(std::string_view name, const Tensor& outputs, const Targets& targets,
             float threshold) {
  using OfClass = double (*)(const ClassCounts&);
  static constexpr std::pair<std::string_view, OfClass> kMeans[] = {
      {"precision", precision}, {"recall", recall}, {"f1", f1}, {"dice", f1}, {"iou", iou}};
  for (const auto& [own, of] : kMeans) {
    if (own == name) {
      return mean_over_classes(counts_in(rows_of(name, outputs, targets), threshold), of);
    }
  }
  if (name == "accuracy") {
    return share_of_right(counts_in(rows_of(name, outputs, targets), threshold));
  }
  if (name == "roc_auc") return auc_of(rows_of(name, outputs, targets));
  if (const std::optional<int> k = top_of(name)) {
    const Rows rows = rows_of(name, outputs, targets);
    return top_k_accuracy(rows.outputs, rows.labels, *k);
  }
  if (name != "mean_absolute_error" && name != "r2") {
    throw InvalidArgument(fmt::format("score: expected one of {}, found \"{}\"",
                                      fmt::join(score_names(), ", "), printable(name)));
  }
  if (targets.are_labels()) {
    throw InvalidArgument(
        fmt::format("{}: expected targets that are tensors, found class labels", name));
  }
  const Tensor& values = targets.values();
  return name == "r2" ? r2_of(outputs.span(), values.span())
                      : mean_absolute_error_of(outputs.span(), values.span());
}

}  // namespace octet
