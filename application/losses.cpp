#include "losses.h"

#include <fmt/format.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>
#include <octet/command_line/text.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/layers/lower.h>
#include <octet/train/class_weights.h>
#include <octet/train/loss.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace octet::application {
namespace {

/// The values that an option gives outputs by their names.
std::map<std::string, std::string> values_by_output(const char* option,
                                                    const std::vector<std::string>& given,
                                                    const std::vector<OutputName>& outputs) {
  std::map<std::string, std::string> values;
  for (const std::string& text : given) {
    const auto [name, value] = command_line::name_and_value(text);
    if (value.empty() || std::ranges::count(outputs, name, &OutputName::tensor) == 0) {
      std::vector<std::string> names;
      names.reserve(outputs.size());
      for (const OutputName& output : outputs) names.push_back(printable(output.tensor));
      throw command_line::UsageError(
          fmt::format("{}: expected NAME=VALUE with an output of the model, {}, as NAME, found {}",
                      option, fmt::join(names, " or "), printable(text)));
    }
    if (!values.emplace(name, value).second) {
      throw command_line::UsageError(
          fmt::format("{}: expected one value for output {}, found two", option, printable(name)));
    }
  }
  return values;
}

Loss named_loss(const std::string& name) {
  try {
    return parse_loss(name);
  } catch (const InvalidArgument& error) {
    throw command_line::UsageError(fmt::format("--loss: {}", error.what()));
  }
}

float weight_in(const std::string& text) {
  constexpr command_line::Real kWeights{0.0, 1e6};
  if (const auto weight = command_line::number_in<float>(kWeights, text)) return *weight;
  throw command_line::UsageError(fmt::format("--loss-weight: expected {}, found {}",
                                             command_line::in_words(kWeights), printable(text)));
}

}  // namespace

std::vector<OutputName> output_names(const Model& float_model) {
  const IntegerModel lowered = lower_float(float_model);
  std::vector<OutputName> names;
  for (std::size_t k = 0; k < lowered.outputs.size(); ++k) {
    names.push_back({float_model.layers()[float_model.output_layers()[k]]->name(),
                     lowered.tensors[static_cast<std::size_t>(lowered.outputs[k])].name});
  }
  return names;
}

std::vector<OutputLoss> losses_of(const LossOptions& options, const Model& network,
                                  const std::vector<OutputName>& outputs, const Dataset& data) {
  const auto losses = values_by_output("--loss", options.losses, outputs);
  const auto weights = values_by_output("--loss-weight", options.weights, outputs);
  if (outputs.size() == 1 && !weights.empty()) {
    throw command_line::UsageError(
        "--loss-weight: expected a model of several outputs, found one; leave it out");
  }
  std::vector<OutputLoss> result;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    OutputLoss& own = result.emplace_back();
    own.output = outputs[k].layer;
    const auto loss = losses.find(outputs[k].tensor);
    own.loss = loss != losses.end() ? named_loss(loss->second)
               : data.has_labels(k) ? classification_loss(network, k)
                                    : tensor_loss(network, k);
    require_output_for(own.loss, network, k);
    if (const auto weight = weights.find(outputs[k].tensor); weight != weights.end()) {
      own.weight = weight_in(weight->second);
    }
  }
  return result;
}

std::vector<float> class_weights_of(const Options& options, const Dataset& train) {
  if (options.class_weights.empty()) return {};
  if (train.inputs() != 1 || train.outputs() != 1 || !train.has_labels() || train.classes() < 2) {
    throw command_line::UsageError(
        fmt::format("--class-weights: expected examples of one output with labels of two classes "
                    "or more, found "
                    "'{}'; leave it out",
                    train.name()));
  }
  if (options.class_weights == "balanced") {
    return balanced_class_weights(train.labels(), train.classes());
  }
  const std::string& text = options.class_weights;
  const std::vector<std::string> words = command_line::split_at_commas(text);
  std::vector<float> weights;
  for (const std::string& word : words) {
    const auto weight = command_line::number_in<float>(command_line::Real{0.0, 1e6}, word);
    if (!weight) break;
    weights.push_back(*weight);
  }
  const bool has_weight = std::ranges::any_of(weights, [](float weight) { return weight > 0.0F; });
  if (has_weight && weights.size() == words.size() && std::ssize(words) == train.classes()) {
    return weights;
  }
  throw command_line::UsageError(fmt::format(
      "--class-weights: expected balanced, or a number from 0 to 1000000 for each of the "
      "{} classes, one of them above 0, found {}",
      train.classes(), text));
}

bool mixes_labels(const Options& options, const Dataset& train) {
  return options.augmentation.mixup > 0.0F && train.outputs() == 1 && train.has_labels();
}

void require_one_loss(const Options& options, const Model& network, const Dataset& train) {
  const bool has_loss = !options.losses.losses.empty();
  if (has_loss && !options.class_weights.empty()) {
    throw command_line::UsageError("--class-weights: weigh cross-entropy, found --loss too");
  }
  const bool mixes = mixes_labels(options, train);
  if (options.class_weights.empty() && !mixes) return;
  const Index width = network.output_shape().dim(-1);
  if (!options.class_weights.empty() && width != train.classes()) {
    throw command_line::UsageError(
        fmt::format("--class-weights: expected a model with an output value for each of the {} "
                    "classes, found {}; leave them out",
                    train.classes(), width));
  }
  if (!mixes) return;
  if (has_loss) {
    throw command_line::UsageError(
        "--augment: mixup trains with cross-entropy of shares of classes, found --loss too");
  }
  if (width > 1) return;
  throw command_line::UsageError(
      "--augment: mixup: expected a model with an output value for each class, found one value; "
      "leave mixup out");
}

}  // namespace octet::application
