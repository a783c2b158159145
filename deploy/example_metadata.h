#pragma once

#include <octet/core/shape.h>
#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What a model says in its metadata of the examples that it takes and of the classes that it gives.

namespace octet {

/// (x - mean) / deviation of each value, with one pair of numbers for all, or one for each channel,
/// the last axis of examples. An empty list stands for 0, or for 1.
struct Normalization {
  std::vector<float> mean{};
  std::vector<float> deviation{};

  bool empty() const { return mean.empty() && deviation.empty(); }
  /// The pair of a channel.
  float mean_of(std::size_t channel) const;
  float deviation_of(std::size_t channel) const;
  /// Throws InvalidArgument, which begins with the name, for a list of another length than 0, 1 or
  /// the channels of an example, its last axis.
  void require_fit(const Shape& example, std::string_view mean_name = "mean",
                   std::string_view deviation_name = "deviation") const;
  /// Normalizes the values of examples, one behind the other. Throws as require_fit().
  void apply(std::span<float> values, const Shape& example) const;
  bool operator==(const Normalization&) const = default;
};

/// The entry of the metadata that says how files became examples, a JSON object with their "shape":
/// see DataDescription.
inline constexpr const char* kDataKey = "octet.data";

/// The entry of the metadata that says what is learned where targets alone do not: that the output
/// is to be what the input is, or a class though targets are read as numbers. Its text is one of
/// these JSON strings.
inline constexpr const char* kTaskKey = "octet.task";
inline constexpr const char* kReconstruction = "\"reconstruction\"";
inline constexpr const char* kClassification = "\"classification\"";

/// The entry of the metadata of such a model with the names of the classes of normal examples, a
/// JSON array: examples of others are anomalies.
inline constexpr const char* kNormalClassesKey = "octet.normal_classes";
/// The entry of the metadata of such a model with the error, see reconstruction_errors(), above
/// which an example counts as an anomaly, a JSON number.
inline constexpr const char* kAnomalyThresholdKey = "octet.anomaly_threshold";
/// How many percent of the training examples have an error of at most the threshold.
inline constexpr double kAnomalyPercentile = 99.0;

/// The entry of the metadata with the names of the classes, a JSON array in the order of labels.
inline constexpr const char* kClassesKey = "octet.classes";
/// The entry of the metadata with the normalization, {"mean": [...], "deviation": [...]}.
inline constexpr const char* kNormalizationKey = "octet.normalization";

/// The shape of the examples that a model of one input was trained on: networks may take their
/// values in one row. That of the input where the entry of the data names none of as many values.
/// Throws FormatError for an entry that is no JSON.
Shape example_shape_of(const IntegerModel& model);

/// The texts of the entries. Bytes of names that are not UTF-8 become U+FFFD.
std::string metadata_text(const std::vector<std::string>& class_names);
std::string metadata_text(const Normalization& normalization);
std::string metadata_text(float anomaly_threshold);

/// The names of a model's classes; empty where it names none. Throws FormatError for an entry that
/// is no list of names, and for another number of them than the classes of a model of one output,
/// its last axis: two where that has one value.
std::vector<std::string> class_names_of(const IntegerModel& model);

/// The normalization that a model was trained with; empty where it names none. Throws FormatError
/// for an entry that is none, for numbers that are not finite, a deviation that is not above 0, and
/// for a model with a front end, whose features nothing normalizes.
Normalization normalization_of(const IntegerModel& model);

/// Whether the model says that it reconstructs its input. Throws FormatError for another task.
bool reconstructs(const IntegerModel& model);
/// Whether the model says that it classifies, also where targets are read as numbers.
bool classifies(const IntegerModel& model);

/// The names of the classes of normal examples; empty where the model names none. Throws
/// FormatError for an entry that is no list of names.
std::vector<std::string> normal_classes_of(const IntegerModel& model);

/// The error above which an example counts as an anomaly; none where the model says none. Throws
/// FormatError for an entry that is no number of 0 or more.
std::optional<float> anomaly_threshold_of(const IntegerModel& model);

/// The normalization of a model that takes such examples. Throws FormatError as well for another
/// number of means or deviations than Normalization::require_fit() takes.
Normalization normalization_of(const IntegerModel& model, const Shape& example);

}  // namespace octet
