#pragma once

#include <octet/layers/model.h>
#include <octet/report/report.h>
#include <octet/runtime/integer_model.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/process_group.h>

#include <cstddef>
#include <string>

namespace octet {

/// The networks that a report is about. Only the first two have to be there.
struct ReportModels {
  /// The float network as operators: lower_float(), or read_tflite() of what that wrote.
  const IntegerModel& in_float;
  /// The integers that ship.
  const IntegerModel& shipped;
  /// The quantized model that they came from: with it, what happens in each layer is measured.
  const Model* quantized = nullptr;
  /// The trained float model: with both, what comes of it without training is measured, how much
  /// each layer takes of that, and where the integers lose significantly what remedies bring.
  const Model* float_model = nullptr;
};

struct ReportOptions {
  /// The first so many test examples are what layers are looked at with.
  std::size_t layer_samples = 256;
  /// The first so many are what each layer's sensitivity is measured on; 0: it is not.
  std::size_t sensitivity_samples = 1000;
  /// The first so many training examples give the ranges of a network quantized without training.
  std::size_t calibration_samples = 500;
  /// The most that are shown of examples that changed class, of classes of a confusion matrix, of
  /// pairs of classes that are taken for each other, and of examples of such a pair.
  std::size_t changed_examples = 24;
  int confusion_classes = 20;
  std::size_t confused_pairs = 8;
  std::size_t examples_of_pair = 3;
  /// What the integers are called. Empty: "calibrated" where the quantized model has the weights of
  /// the float model, else "trained with quantization".
  std::string shipped_name{};
  /// The processes that share out scoring and sensitivities; all call the function, and all get the
  /// same. Null: this one alone.
  ProcessGroup* group = nullptr;
};

/// Measures what the report states in parts 1 and 3; the title, history, ranges, command, facts and
/// hashes are the caller's:
///
///     Report report = measure_report({lower_float(model), trainer.lower(), &quantized, &model},
///                                    data.train, data.test);
///     report.history = trainer.history();
///     write_report("report.html", report);
///
/// Classes have the names that the test set gives them (Dataset::with_class_names()). Every number
/// is the same on any number of threads and ranks. Of several outputs, and where targets are
/// tensors, there are outcomes of each output and facts of layers, no sensitivity, remedies,
/// confusion and changed examples. Throws InvalidArgument for an empty test set and for one that is
/// read, and as Interpreter, lower() and evaluate_outputs() do.
Report measure_report(const ReportModels& models, const Dataset& train, const Dataset& test,
                      const ReportOptions& options = {});

}  // namespace octet
