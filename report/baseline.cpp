#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/report/baseline.h>
#include <octet/report/statistics.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace octet {
namespace {

constexpr const char* kError = "mean_squared_error";

/// The mean score of each example.
struct ExampleScores {
  std::vector<double> integer;
  std::vector<double> guessed;
};

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Baseline baseline_of(std::string guess, std::string score, const ExampleScores& scores) {
  Baseline result{.guess = std::move(guess), .score = std::move(score)};
  result.integer = mean_of(scores.integer);
  result.guessed = mean_of(scores.guessed);
  const auto n = static_cast<double>(scores.integer.size());
  const double mean = result.integer - result.guessed;
  double squares = 0.0;
  for (std::size_t i = 0; i < scores.integer.size(); ++i) {
    const double off = scores.integer[i] - scores.guessed[i] - mean;
    squares += off * off;
  }
  const double deviation = std::sqrt(squares / std::max(1.0, n - 1.0));
  result.least_gain = result.gain() - kNormalQuantile * deviation / std::sqrt(n);
  return result;
}

/// The number of columns of outputs [n, ...] and targets of as many values.
std::size_t columns_of(const char* what, const Tensor& outputs, const Tensor& targets) {
  const Index rows = targets.rank() == 0 ? 0 : targets.dim(0);
  if (rows == 0 || targets.size() == 0 || outputs.size() != targets.size()) {
    throw InvalidArgument(
        fmt::format("{}: expected outputs and targets of as many values, found {} and {}", what,
                    outputs.shape().to_string(), targets.shape().to_string()));
  }
  return static_cast<std::size_t>(targets.size() / rows);
}

/// The mean of each column of targets [n, ...].
std::vector<double> column_means(std::span<const float> targets, std::size_t columns) {
  std::vector<double> means(columns);
  for (std::size_t i = 0; i < targets.size(); ++i) means[i % columns] += double{targets[i]};
  const std::size_t rows = targets.size() / columns;
  for (double& mean : means) mean /= static_cast<double>(rows);
  return means;
}

/// Scores each example by the mean over its columns of what `value` and `guess` give of value i.
template <class Value, class Guess>
ExampleScores by_example(std::size_t count, std::size_t columns, const Value& value,
                         const Guess& guess) {
  ExampleScores scores{std::vector<double>(count / columns), std::vector<double>(count / columns)};
  for (std::size_t i = 0; i < count; ++i) {
    scores.integer[i / columns] += value(i) / static_cast<double>(columns);
    scores.guessed[i / columns] += guess(i) / static_cast<double>(columns);
  }
  return scores;
}

/// Refuses classes and labels of unlike numbers, and those of no examples of one size.
void require_labels(const char* what, std::span<const std::int32_t> said,
                    std::span<const std::int32_t> labels, std::size_t examples) {
  if (said.size() == labels.size() && examples > 0 && !labels.empty() &&
      labels.size() % examples == 0) {
    return;
  }
  throw InvalidArgument(
      fmt::format("{}: expected classes and labels of {} examples, found {} and {}", what, examples,
                  said.size(), labels.size()));
}

std::int32_t commonest_in(std::span<const std::int32_t> labels) {
  std::map<std::int32_t, std::size_t> counts;
  for (const std::int32_t label : labels) ++counts[label];
  return std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
}

/// How many places were said to be of a class, are of it, and are both.
struct ClassCount {
  std::int64_t said = 0;
  std::int64_t labelled = 0;
  std::int64_t both = 0;
};

using PlaceCounts = std::map<std::int32_t, ClassCount>;

PlaceCounts counts_of(std::span<const std::int32_t> said, std::span<const std::int32_t> labels) {
  PlaceCounts counts;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++counts[said[i]].said;
    ++counts[labels[i]].labelled;
    if (said[i] == labels[i]) ++counts[labels[i]].both;
  }
  return counts;
}

void add(PlaceCounts& all, const PlaceCounts& more) {
  for (const auto& [label, count] : more) {
    ClassCount& own = all[label];
    own.said += count.said;
    own.labelled += count.labelled;
    own.both += count.both;
  }
}

/// The mean IoU over the classes that have labels, of the places that are not in `part`.
double iou_without(const PlaceCounts& all, const PlaceCounts& part) {
  double sum = 0.0;
  double classes = 0.0;
  for (const auto& [label, count] : all) {
    if (count.labelled == 0) continue;
    const auto found = part.find(label);
    const ClassCount left_out = found == part.end() ? ClassCount() : found->second;
    const std::int64_t both = count.both - left_out.both;
    const std::int64_t either =
        count.said - left_out.said + count.labelled - left_out.labelled - both;
    if (either > 0) sum += static_cast<double>(both) / static_cast<double>(either);
    ++classes;
  }
  return sum / classes;
}

}  // namespace

double Baseline::gain() const { return score == kError ? guessed - integer : integer - guessed; }

Baseline commonest_class(std::span<const std::int32_t> said, std::span<const std::int32_t> labels) {
  require_labels("commonest_class", said, labels, labels.size());
  const std::int32_t commonest = commonest_in(labels);
  return baseline_of(
      "who always says the commonest class", "accuracy",
      by_example(
          labels.size(), 1, [&](std::size_t i) { return said[i] == labels[i] ? 1.0 : 0.0; },
          [&](std::size_t i) { return labels[i] == commonest ? 1.0 : 0.0; }));
}

Baseline commonest_of_places(std::span<const std::int32_t> said,
                             std::span<const std::int32_t> labels, std::size_t examples) {
  require_labels("commonest_of_places", said, labels, examples);
  const std::size_t places = labels.size() / examples;
  const std::vector<std::int32_t> guess(places, commonest_in(labels));
  const PlaceCounts integer = counts_of(said, labels);
  PlaceCounts guessed;
  const auto example = [&](std::span<const std::int32_t> of, std::size_t i) {
    return of.subspan(i * places, places);
  };
  for (std::size_t i = 0; i < examples; ++i) add(guessed, counts_of(guess, example(labels, i)));

  Baseline result{.guess = "who says the commonest class everywhere",
                  .score = "iou",
                  .guessed = iou_without(guessed, {}),
                  .integer = iou_without(integer, {})};
  std::vector<double> gains;
  for (std::size_t i = 0; i < examples; ++i) {
    const auto own = example(labels, i);
    gains.push_back(iou_without(integer, counts_of(example(said, i), own)) -
                    iou_without(guessed, counts_of(guess, own)));
  }
  const double mean = mean_of(gains);
  double squares = 0.0;
  for (const double gain : gains) squares += (gain - mean) * (gain - mean);
  const auto n = static_cast<double>(examples);
  result.least_gain = result.gain() - kNormalQuantile * std::sqrt((n - 1.0) / n * squares);
  return result;
}

Baseline commonest_labels(const Tensor& outputs, const Tensor& targets, float threshold) {
  const std::size_t columns = columns_of("commonest_labels", outputs, targets);
  const std::span<const float> found = outputs.span();
  const std::span<const float> expected = targets.span();
  const std::vector<double> means = column_means(expected, columns);
  const auto is_right = [&](std::size_t i, bool said) {
    return said == (expected[i] > 0.5F) ? 1.0 : 0.0;
  };
  return baseline_of(
      "who always says what is commonest of each label", "binary_accuracy",
      by_example(
          found.size(), columns, [&](std::size_t i) { return is_right(i, found[i] > threshold); },
          [&](std::size_t i) { return is_right(i, means[i % columns] > 0.5); }));
}

Baseline mean_of_targets(const Tensor& outputs, const Tensor& targets) {
  const std::size_t columns = columns_of("mean_of_targets", outputs, targets);
  const std::span<const float> found = outputs.span();
  const std::span<const float> expected = targets.span();
  const std::vector<double> means = column_means(expected, columns);
  const auto error = [&](std::size_t i, double said) {
    return (said - double{expected[i]}) * (said - double{expected[i]});
  };
  Baseline result = baseline_of(
      "who always says the mean of the targets", kError,
      by_example(
          found.size(), columns, [&](std::size_t i) { return error(i, double{found[i]}); },
          [&](std::size_t i) { return error(i, means[i % columns]); }));
  return result;
}

Baseline chance(std::span<const float> scores, std::span<const std::int32_t> anomalies) {
  const double area = roc_auc(scores, anomalies);
  const auto ones = static_cast<double>(std::ranges::count(anomalies, 1));
  const double zeros = static_cast<double>(anomalies.size()) - ones;
  const double square = area * area;
  const double variance = (area * (1.0 - area) + (ones - 1.0) * (area / (2.0 - area) - square) +
                           (zeros - 1.0) * (2.0 * square / (1.0 + area) - square)) /
                          (ones * zeros);
  Baseline result{.guess = "who guesses", .score = "roc_auc", .guessed = 0.5, .integer = area};
  result.least_gain = result.gain() - kNormalQuantile * std::sqrt(std::max(0.0, variance));
  return result;
}

}  // namespace octet
