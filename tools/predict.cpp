#include <fmt/format.h>
#include <octet/application/data.h>
#include <octet/command_line/message.h>
#include <octet/command_line/text.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/deploy/example_metadata.h>
#include <octet/train/data/file_examples.h>
#include <octet/train/data/skipped_examples.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "commands.h"
#include "npz_data.h"
#include "show.h"

namespace octet::tools {
namespace {

/// Meanings of the outputs of a model.
enum class OutputKind { probabilities, logits, one_probability, one_logit, label, numbers };

OutputKind kind_of(const IntegerModel& model, const std::vector<std::string>& names) {
  std::int32_t output = model.outputs.front();
  const ModelTensor& end = model.tensors[static_cast<std::size_t>(output)];
  if (end.dtype == DType::int32) return end.size() == 1 ? OutputKind::label : OutputKind::numbers;
  auto code = OpCode::dequantize;
  while (code == OpCode::dequantize) {
    const auto last = std::ranges::find_if(model.operators, [&](const Operator& op) {
      return std::ranges::count(op.outputs, output) > 0;
    });
    if (last == model.operators.end()) return OutputKind::numbers;
    code = last->code;
    output = last->inputs.front();
  }
  const Shape shape =
      model.tensors[static_cast<std::size_t>(model.outputs.front())].example_shape();
  // Steps and pixels have classes of their own.
  if (shape.rank() > 1) return OutputKind::numbers;
  const bool is_one = shape.size() == 1;
  if (code == OpCode::logistic && is_one) return OutputKind::one_probability;
  if (code == OpCode::softmax) return OutputKind::probabilities;
  if (names.empty()) return OutputKind::numbers;
  // A sigmoid of each class needs no sum of 1.
  if (code == OpCode::logistic) return OutputKind::probabilities;
  return is_one ? OutputKind::one_logit : OutputKind::logits;
}

double sigmoid(double logit) { return 1.0 / (1.0 + std::exp(-logit)); }

/// The probability of every class.
std::vector<double> probabilities_of(OutputKind kind, std::span<const float> outputs) {
  std::vector<double> values(outputs.begin(), outputs.end());
  switch (kind) {
    case OutputKind::one_logit:
      return {1.0 - sigmoid(values[0]), sigmoid(values[0])};
    case OutputKind::one_probability:
      return {1.0 - values[0], values[0]};
    case OutputKind::logits: {
      const double most = *std::ranges::max_element(values);
      for (double& value : values) value = std::exp(value - most);
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      for (double& value : values) value /= sum;
      return values;
    }
    case OutputKind::probabilities:
    case OutputKind::label:
    case OutputKind::numbers:
      break;
  }
  return values;
}

/// Runs a model on one file after the other, and prints or collects what it says.
class Predictor {
 public:
  explicit Predictor(const PredictOptions& options)
      : options_(options), interpreter_(options.model.open(1)) {
    if (model().inputs.size() != 1 || model().outputs.size() != 1) {
      throw InvalidArgument(
          fmt::format("predict: expected a model of one input and one output, found {} and {} in "
                      "'{}'; octet run takes raw samples of several",
                      model().inputs.size(), model().outputs.size(), options.model.file));
    }
    application::in_file(options.model.file, [this] { read_metadata(); });
    kind_ = kind_of(model(), names_);
  }

  FileExamples read(const std::string& file) const {
    if (is_npz(file)) {
      return array_examples(file, read_npz_features(file, model()), description_);
    }
    return read_file_examples(file, description_);
  }

  void predict(const FileExamples& examples) {
    std::vector<float> values(examples.features.span().begin(), examples.features.span().end());
    normalization_.apply(values, description_.shape);
    resize_for(interpreter_, examples.names.size());
    const std::vector<float> outputs = interpreter_.run(values);
    const std::size_t each = outputs.size() / examples.names.size();
    if (gives_back_) return add_errors(examples.names, values, outputs);
    for (std::size_t i = 0; i < examples.names.size(); ++i) {
      add(examples.names[i], std::span(outputs).subspan(i * each, each));
    }
  }

  const nlohmann::ordered_json& found() const { return found_; }

 private:
  const IntegerModel& model() const { return interpreter_.model(); }
  const ModelTensor& end(std::int32_t index) const {
    return model().tensors[static_cast<std::size_t>(index)];
  }

  void read_metadata() {
    names_ = class_names_of(model());
    description_ = application::description_in(model()).value_or(plain_description());
    const Shape input = end(model().inputs[0]).example_shape();
    if (description_.shape.size() != input.size()) {
      throw FormatError(
          fmt::format("metadata '{}': expected examples of the {} values of the input "
                      "{}, found {}",
                      kDataKey, input.size(), input.to_string(), description_.shape.to_string()));
    }
    normalization_ = normalization_of(model(), description_.shape);
    gives_back_ = reconstructs(model());
    threshold_ = anomaly_threshold_of(model());
    targets_ = command_line::split_at_commas(description_.options.target_column);
    const auto outputs = static_cast<std::size_t>(end(model().outputs[0]).example_shape().size());
    // Without names, and of a single number, which needs none.
    if (outputs == 1 || targets_.size() != outputs) targets_.clear();
  }

  /// Stands in where the model does not say what it was trained on: features of the input's shape.
  DataDescription plain_description() const {
    return {.format = "", .shape = end(model().inputs[0]).example_shape()};
  }

  std::string name_of(std::size_t label) const {
    return names_.empty() ? std::to_string(label) : names_[label];
  }

  void add(const std::string& example, std::span<const float> outputs) {
    if (kind_ == OutputKind::numbers) return add_numbers(example, outputs);
    if (kind_ == OutputKind::label) return add_label(example, outputs[0]);
    const std::vector<double> shares = probabilities_of(kind_, outputs);
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return shares[a] > shares[b]; });
    if (options_.json) {
      nlohmann::ordered_json one{
          {"example", example}, {"label", order[0]}, {"class", name_of(order[0])}};
      for (const std::size_t label : order) one["probabilities"][name_of(label)] = shares[label];
      found_.push_back(std::move(one));
      return;
    }
    order.resize(std::min(order.size(), options_.top));
    std::vector<std::string> texts;
    texts.reserve(order.size());
    for (const std::size_t label : order) {
      texts.push_back(fmt::format("{} {}", printable(name_of(label)), percent_text(shares[label])));
    }
    show("{}: {}\n", printable(example, kMostOfWarning), fmt::join(texts, ", "));
  }

  /// What the model says is a class, of which there is no probability.
  void add_label(const std::string& example, float output) {
    const auto label = static_cast<std::int64_t>(output);
    const bool has_name = label >= 0 && std::cmp_less(label, names_.size());
    const std::string name =
        has_name ? names_[static_cast<std::size_t>(label)] : std::to_string(label);
    if (options_.json) {
      found_.push_back({{"example", example}, {"label", label}, {"class", name}});
      return;
    }
    show("{}: {}\n", printable(example, kMostOfWarning), printable(name));
  }

  /// How wrong the model is of each example, and whether that is an anomaly.
  void add_errors(const std::vector<std::string>& examples, const std::vector<float>& inputs,
                  const std::vector<float>& outputs) {
    const Shape rows{static_cast<Index>(examples.size()),
                     static_cast<Index>(outputs.size() / examples.size())};
    const std::vector<float> errors =
        reconstruction_errors(Tensor::from(rows, outputs), Tensor::from(rows, inputs));
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const bool is_anomaly = threshold_ && errors[i] > *threshold_;
      if (options_.json) {
        found_.push_back({{"example", examples[i]}, {"error", errors[i]}});
        if (threshold_) found_.back()["anomaly"] = is_anomaly;
        continue;
      }
      show("{}: error {:.6g}{}\n", printable(examples[i], kMostOfWarning), errors[i],
           !threshold_  ? ""
           : is_anomaly ? ", anomaly"
                        : ", normal");
    }
  }

  void add_numbers(const std::string& example, std::span<const float> outputs) {
    if (options_.json) {
      found_.push_back(
          {{"example", example}, {"values", std::vector<float>(outputs.begin(), outputs.end())}});
      for (std::size_t i = 0; i < targets_.size(); ++i) {
        found_.back()["targets"][targets_[i]] = outputs[i];
      }
      return;
    }
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string name = targets_.empty() ? "" : printable(targets_[i]) + " ";
      texts.push_back(fmt::format("{}{:.6g}", name, outputs[i]));
    }
    show("{}: {}\n", printable(example, kMostOfWarning), fmt::join(texts, ", "));
  }

  const PredictOptions& options_;
  Interpreter interpreter_;
  std::vector<std::string> names_;
  /// The column of each of several output values; empty where there are none.
  std::vector<std::string> targets_;
  Normalization normalization_;
  /// Whether the output is to be what the input is, and above which error that is an anomaly.
  bool gives_back_ = false;
  std::optional<float> threshold_;
  OutputKind kind_ = OutputKind::numbers;
  DataDescription description_;
  nlohmann::ordered_json found_ = nlohmann::ordered_json::array();
};

/// Names the records that a file's examples lack, the first of them.
void show_unread(const std::string& file, const std::vector<std::string>& unread) {
  for (std::size_t i = 0; i < std::min(unread.size(), kMostSkippedNamed); ++i) {
    show_error("octet: {}\n", command_line::one_line(unread[i]));
  }
  if (unread.size() <= kMostSkippedNamed) return;
  show_error("octet: {}: {} more examples cannot be read\n", printable(file, kMostOfWarning),
             unread.size() - kMostSkippedNamed);
}

}  // namespace

int predict(const PredictOptions& options) {
  Predictor predictor(options);
  int exit_code = 0;
  for (const std::string& file : options.files) {
    FileExamples examples;
    try {
      examples = predictor.read(file);
    } catch (const Error& error) {
      // What the model says of the others is still wanted.
      show_error("octet: {}\n", command_line::one_line(error.what()));
      exit_code = 1;
      continue;
    }
    predictor.predict(examples);
    show_unread(file, examples.unread);
    if (!examples.unread.empty()) exit_code = 1;
  }
  if (options.json && (exit_code == 0 || !predictor.found().empty())) {
    show_json(predictor.found());
  }
  return exit_code;
}

}  // namespace octet::tools
