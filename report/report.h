#pragma once

#include <octet/deploy/constant_units.h>
#include <octet/layers/quantize/gradient_angles.h>
#include <octet/report/baseline.h>
#include <octet/report/statistics.h>
#include <octet/train/history.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What a report states, as plain numbers: measure_report() finds them, advice() judges them,
// write_report() shows them.

namespace octet {

/// What one version of the network came to on the test set, at one output.
struct Outcome {
  std::string name;
  Proportion accuracy;
  /// Against the float network on the same examples; none for that one itself, and where the
  /// predictions are not known.
  std::optional<PairedTest> against_float{};
  /// The output's name; empty for a model of one.
  std::string output{};
  /// Where its targets are tensors, the mean absolute error: there is no accuracy then.
  std::optional<double> mean_absolute_error{};
};

/// A score of one output beside accuracy and mean absolute error, such as F1 or ROC AUC.
struct NamedScore {
  /// Empty for a model of one.
  std::string output{};
  std::string name;
  double in_float = 0.0;
  double integer = 0.0;
};

/// What the integers need of a machine, for one sample.
struct Costs {
  std::uint64_t float_bytes = 0;    ///< of the .tflite file in float
  std::uint64_t integer_bytes = 0;  ///< of the .tflite file in integers
  std::uint64_t arena_bytes = 0;    ///< of the interpreter's memory plan
  std::int64_t multiply_adds = 0;
};

/// The ranges of results as training moved them.
struct RangeRecord {
  std::string moment;  ///< "calibrated", or the epoch
  std::string layer;
  float min = 0.0F;
  float max = 0.0F;
};

/// The share of a kernel's weights that oscillated between quantized values, after an epoch.
struct OscillationRecord {
  std::string moment;
  std::string layer;
  double share = 0.0;
  double frozen = 0.0;
};

/// Counts of values in equal bins from `low` to `high`; the first and the last bin count what lies
/// beyond them too.
struct Histogram {
  double low = 0.0;
  double high = 0.0;
  std::vector<std::uint64_t> counts{};

  void add(double value);
};

/// How a tensor uses its quantized values.
struct GridFacts {
  std::uint64_t values = 0;
  /// Values that lie more than half a step outside the quantized range.
  std::uint64_t clipped = 0;
  /// How many quantized values occur, and how many there are.
  std::size_t codes_used = 0;
  std::size_t codes = 0;
  /// How many quantized values there are from the 0.5th to the 99.5th percentile of the values.
  std::size_t codes_of_most = 0;
  int bits = 8;
  /// The real values of the lowest and the highest quantized value; with several scales, of the
  /// widest.
  double grid_low = 0.0;
  double grid_high = 0.0;
  Histogram histogram{};

  double clipped_share() const;
};

/// A channel whose values span more than those of others.
struct WideChannel {
  std::size_t channel = 0;
  double span = 0.0;
  /// The channel's span in medians of all channels' spans.
  double medians = 0.0;
};

/// The channels of a tensor; a span is the largest magnitude in a channel.
struct ChannelFacts {
  std::size_t channels = 0;
  double median_span = 0.0;
  /// Channels whose span is 8 medians or more.
  std::size_t wide = 0;
  /// The widest ones, widest first, three at most.
  std::vector<WideChannel> widest{};
  /// Channels of results whose value was the same in float in every sample and place.
  std::vector<std::size_t> dead{};
  /// How many channels of results varied in float, but have fewer than 4 quantized values left for
  /// them.
  std::size_t starved = 0;
};

/// The accuracy of two networks quantized without training, on the same samples.
struct Sensitivity {
  double only_this_quantized = 0.0;
  double only_this_in_float = 0.0;
};

/// One quantized layer.
struct LayerFacts {
  std::string name;
  std::string type;
  /// The result's SQNR in dB, of the integers against float with the same weights; infinite where
  /// they are equal.
  std::optional<double> sqnr_db{};
  GridFacts result{};
  /// Whether the operator fixes scale and zero point of the result, as softmax does.
  bool fixed_grid = false;
  /// The Concatenate that gives the result one scale with others; "" where none does.
  std::string joined_by{};
  /// Whether only kernels read its channels, so that one can go without a trace.
  bool separable = false;
  ChannelFacts result_channels{};
  /// Quantization of the weights of a layer with a kernel.
  std::optional<GridFacts> weights{};
  ChannelFacts weight_channels{};
  bool per_channel = false;
  std::optional<double> oscillating{};
  std::optional<Sensitivity> sensitivity{};
};

/// How an example looks: a picture or lines, neither where its shape tells no such form.
struct ExampleView {
  /// A PNG file.
  std::string png{};
  /// Whether the picture is a map of features: its sides are time and bands, with no ratio of their
  /// own.
  bool is_map = false;
  /// The points (step, value) of each channel, and how many steps the example has.
  std::vector<std::vector<std::pair<double, double>>> lines{};
  std::size_t steps = 0;
};

/// A test example, and what the networks said of it.
struct ShownExample {
  std::size_t index = 0;
  /// Dataset::example_name().
  std::string name{};
  std::int32_t label = 0;
  std::int32_t in_float = 0;
  std::int32_t in_integers = 0;
  /// The largest outputs, where they are probabilities.
  std::optional<double> float_confidence{};
  std::optional<double> integer_confidence{};
  ExampleView view{};
};

/// Examples of one class that the integers took for another.
struct ConfusedPair {
  std::int32_t label = 0;
  std::int32_t said = 0;
  /// How many there are, and some of them, from all over the test set.
  std::uint64_t count = 0;
  std::vector<ShownExample> examples{};
};

/// A remedy that was tried: the network quantized with it, without training, on training examples,
/// since what is chosen on test examples cannot be scored on them.
struct Trial {
  std::string rule;   ///< why it was tried
  std::string layer;  ///< where; "" for the whole network
  std::string evidence;
  std::string action;
  double accuracy = 0.0;
  /// The accuracy of the network quantized without the remedy.
  double accuracy_without = 0.0;
  /// McNemar's test of the network without the remedy, first, against it with the remedy.
  PairedTest against_quantized{};
};

/// Where the layers hurt, on how many samples that was measured, and why a part is missing.
struct LayerReport {
  std::vector<LayerFacts> layers;
  std::size_t samples = 0;
  std::size_t sensitivity_samples = 0;
  /// On the sensitivity samples: the float network, and all layers quantized without training.
  std::optional<double> float_accuracy{};
  std::optional<double> quantized_accuracy{};
  /// What was tried where the integers are significantly worse than float.
  std::vector<Trial> trials{};
  std::size_t trial_samples = 0;
};

struct Report {
  std::string title;
  // 1. What came out: by output, float first and the integers that ship last.
  std::vector<Outcome> outcomes;
  /// As the run has measured them: see add_run_facts().
  std::vector<NamedScore> scores;
  /// By output. measure_report() knows those of classes, add_run_facts() adds the others.
  std::vector<Baseline> baselines;
  std::string data;
  /// Whether these are scores of the examples that the network was trained on.
  bool scored_on_training = false;
  Costs costs;
  std::string contract;
  /// The runtimes whose bytes the integers are.
  std::vector<std::string> targets;
  std::vector<std::string> warnings;
  /// The files that ship, of which the verdict speaks: see files_beside(). May be empty.
  std::vector<std::string> files;
  // 2. How it went.
  History history;
  /// Names the set that epochs were scored on.
  std::string epochs_scored_on = "test";
  std::vector<RangeRecord> ranges;
  std::vector<OscillationRecord> oscillations;
  std::vector<GradientAngle> gradient_angles;
  // 3. Where it hurts.
  LayerReport layers;
  /// What prune_constant_units() would take from the integers.
  std::vector<PrunedUnits> constant_units;
  /// Names of the classes in the order of labels; empty where none were given.
  std::vector<std::string> class_names;
  /// [label][class that the integers said]; empty where there are too many classes to show.
  std::vector<std::vector<std::uint64_t>> confusion;
  /// The commonest mistakes, commonest first; of equal ones the lowest label, then class, first.
  std::vector<ConfusedPair> confused;
  /// How many pairs of classes there are mistakes of.
  std::size_t confused_pairs = 0;
  /// How many examples float and integers class differently, and the first of them.
  std::uint64_t changed_examples = 0;
  std::vector<ShownExample> changed;
  // 5. How to repeat it.
  std::string command;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::pair<std::string, std::string>> hashes;
  /// What could not be measured, and why: a sentence each.
  std::vector<std::string> missing;
};

/// The name of a class, else its number.
std::string class_text(const Report& report, std::size_t label);

/// The report as one HTML page, which needs no other file and no network. The same report gives the
/// same bytes.
std::string report_html(const Report& report);

/// Writes report_html(). The file is replaced as a whole or not at all (IoError).
void write_report(const std::filesystem::path& path, const Report& report);

}  // namespace octet
