#pragma once

#include <octet/compress/layer_flash.h>
#include <octet/core/profile.h>
#include <octet/deploy/example_metadata.h>
#include <octet/layers/quantize/gradient_angles.h>
#include <octet/octet.h>
#include <octet/report/report.h>
#include <octet/report/verdict.h>
#include <octet/train/layer_differences.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "training.h"

namespace octet::application {

/// A score of the float model and of the integers: see task_scores().
struct TaskScore {
  std::string name;
  double in_float = 0.0;
  double integer = 0.0;
};

/// What an output came to on the test set: its accuracy, or where its targets are tensors its mean
/// absolute error.
struct OutputScores {
  /// The name of the tensor in the files.
  std::string name;
  bool is_accuracy = true;
  double in_float = 0.0;
  /// With --control: after the steps of quantized training, made in float.
  std::optional<double> control{};
  /// Accuracy of the calibrated model's integers, before any step with quantization in the loop.
  std::optional<double> calibrated{};
  double simulated = 0.0;
  double integer = 0.0;
  /// What else tells how good it is at what it learned.
  std::vector<TaskScore> scores{};
  /// See task_baseline().
  std::optional<Baseline> baseline{};
};

/// What a whole run came to, beside what TrainingRun itself reports.
struct Results {
  /// By output of the model.
  std::vector<OutputScores> outputs;
  /// Examples whose class differs between the simulation and the exported file; of several outputs,
  /// and of targets that are tensors, those in which any value of an output does.
  std::size_t differing_predictions = 0;
  /// Differences between the simulation and the exported file, over the test images.
  NetworkDifference layer_differences;
  /// With --flash or --max-drop: the layers with the bits that were found.
  std::vector<LayerFlash> flash;
  /// With --profile: where the time of the steps of each phase went.
  Profile float_profile;
  Profile qat_profile;
  /// With --profile and several ranks: what each phase's exchange of gradients took, see
  /// exchange_table().
  std::string float_exchange;
  std::string qat_exchange;
  std::uintmax_t float_bytes = 0;
  std::uintmax_t int8_bytes = 0;
  bool has_onnx = false;
  /// Bytes of the C source, where there is one: constants, and static buffers.
  std::optional<std::int64_t> c_flash_bytes;
  std::optional<std::int64_t> c_ram_bytes;
  /// After calibration and every QAT epoch of this process.
  std::vector<RangeRecord> ranges;
  std::vector<OscillationRecord> oscillation_log;
  /// With --backward: in some steps of quantized training of this process.
  GradientAngles gradient_angles;
  /// After the last step, where it was counted.
  std::vector<OscillatingWeights> oscillations;
  /// The metadata of the exported files, see example_metadata().
  std::map<std::string, std::string> example_metadata;
  Normalization normalization;
  /// The error of the integers above which a reconstruction tells an anomaly; none of other tasks.
  std::optional<float> anomaly_threshold;
  /// What is wrong with the examples that were left out, of each.
  std::vector<std::string> skipped;
  /// Warnings about the exported file: see runtime_warnings().
  std::vector<std::string> warnings;
};

/// What the program adds to metrics.json.
std::string metrics_json(const Options& options, const Results& results);

/// The text of metrics.json with the verdict's word, which is known once the report is measured. In
/// one line with an indent of -1.
std::string with_verdict(const std::string& metrics, const Verdict& verdict, int indent);

/// The table at the end of a run, and the exported model's input and output.
std::string final_report(const Application& application, const Options& options,
                         const Results& results, const History& history, const RunReport& report);

}  // namespace octet::application
