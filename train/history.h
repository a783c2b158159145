#pragma once

#include <octet/train/metric.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What one epoch of training came to.
struct EpochRecord {
  /// The phase of training; of a Trainer "float", or "qat" for a quantized model.
  std::string phase;
  /// Counted from 1 within the phase.
  int epoch = 0;
  /// Means over the epoch, each batch as it was when trained on. For a quantized model all
  /// accuracies but the integer ones are those of the simulation.
  double train_loss = 0.0;
  /// Accuracies are there where targets are class labels.
  std::optional<double> train_accuracy;
  std::optional<double> test_accuracy;
  /// Accuracy of the exported integers, and how many of their test predictions differ from the
  /// simulation's (where targets are tensors: in how many test examples an output differs); for a
  /// quantized model alone.
  std::optional<double> integer_accuracy;
  std::optional<std::size_t> differing_predictions;
  /// On the test set: "test_loss" where it is measured, then TrainerOptions::metrics in their
  /// order.
  std::vector<MetricValue> metrics;
  /// Seconds of training alone, without evaluation.
  double seconds = 0.0;
  double images_per_second = 0.0;
  /// At the first step of the epoch.
  float learning_rate = 0.0F;
};

/// A metric of the record by its name, "test_loss" among them; none where it was not measured.
std::optional<double> find_metric(const EpochRecord& record, std::string_view name);

using History = std::vector<EpochRecord>;

/// The names of the columns that every history_csv() has.
std::span<const std::string_view> history_columns();

/// A header and one line per epoch, with a column for every metric that some epoch has. Without
/// times, equal runs give equal text.
std::string history_csv(const History& history, bool with_times = true);

/// The history with every time and speed set to 0.
History without_times(History history);

/// The training time of an epoch in the last phase: the median over its epochs after the first (the
/// first where there is no other); 0 without epochs.
double seconds_per_epoch(const History& history);

/// The history as a JSON array, and back. Throws FormatError for text that history_json() did not
/// write.
std::string history_json(const History& history);
History parse_history(const std::string& json);

}  // namespace octet
