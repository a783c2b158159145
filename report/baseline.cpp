#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/report/baseline.h>
#include <octet/report/statistics.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cmath>
#include <map>
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

}  // namespace

double Baseline::gain() const { return score == kError ? guessed - integer : integer - guessed; }

Baseline commonest_class(std::span<const std::int32_t> said, std::span<const std::int32_t> labels,
                         std::size_t examples) {
  if (said.size() != labels.size() || examples == 0 || labels.empty() ||
      labels.size() % examples != 0) {
    throw InvalidArgument(
        fmt::format("commonest_class: expected classes and labels of {} examples, found {} and {}",
                    examples, said.size(), labels.size()));
  }
  std::map<std::int32_t, std::size_t> counts;
  for (const std::int32_t label : labels) ++counts[label];
  const std::int32_t commonest =
      std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
  return baseline_of("who always says the commonest class", "accuracy",
                     by_example(
                         labels.size(), labels.size() / examples,
                         [&](std::size_t i) { return said[i] == labels[i] ? 1.0 : 0.0; },
                         [&](std::size_t i) { return labels[i] == commonest ? 1.0 : 0.0; }));
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
