#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/train/output_losses.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace octet {
namespace {

/// Whether a layer bears this name, or became part of another that had it.
bool is_named(const Layer& layer, std::string_view name) {
  return layer.name() == name || find_part(layer, name) != nullptr;
}

/// The names of the outputs, quoted.
std::string names_of_outputs(const Model& model) {
  std::vector<std::string> names;
  for (const std::size_t output : model.output_layers()) {
    names.push_back(fmt::format("\"{}\"", model.layers()[output]->name()));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Throws InvalidArgument unless there is one loss for each output and none for others.
void check_losses(std::string_view operation, const Model& model,
                  const std::vector<OutputLoss>& losses) {
  const std::string of_model =
      fmt::format("the {} outputs of model \"{}\" ({})", model.output_layers().size(), model.name(),
                  names_of_outputs(model));
  for (const OutputLoss& each : losses) {
    const auto is_output = [&](std::size_t output) {
      return is_named(*model.layers()[output], each.output);
    };
    if (std::ranges::none_of(model.output_layers(), is_output)) {
      throw InvalidArgument(
          fmt::format("{}: expected losses for {}, found one for \"{}\", which is none of them",
                      operation, of_model, each.output));
    }
    if (!each.loss || !(each.weight >= 0.0F) || std::isinf(each.weight)) {
      throw InvalidArgument(fmt::format(
          "{}: output \"{}\": expected a loss and a weight of 0 or more, found {} and {}",
          operation, each.output, each.loss ? "one" : "none", each.weight));
    }
  }
  if (losses.size() == model.output_layers().size()) return;
  throw InvalidArgument(fmt::format(
      "{0}: expected a loss for each of {1}, found {2}; give {0}Options::losses one for each",
      operation, of_model, losses.size()));
}

}  // namespace

namespace detail {

std::vector<OutputLoss> losses_by_output(std::string_view operation, const Model& model,
                                         const Loss& loss, const std::vector<Metric>& metrics,
                                         const std::vector<OutputLoss>& losses) {
  if (model.output_layers().size() == 1) {
    if (!losses.empty()) {
      throw InvalidArgument(fmt::format(
          "{0}: expected {0}Options::loss for model \"{1}\", which has one output, found "
          "`losses`, which are for several",
          operation, model.name()));
    }
    return {{.output = "", .loss = loss, .metrics = metrics}};
  }
  check_losses(operation, model, losses);
  std::vector<OutputLoss> result;
  for (const std::size_t output : model.output_layers()) {
    Layer& layer = *model.layers()[output];
    const auto found = std::ranges::find_if(
        losses, [&](const OutputLoss& each) { return is_named(layer, each.output); });
    if (found == losses.end()) {
      throw InvalidArgument(
          fmt::format("{}: expected a loss for output \"{}\" of model \"{}\", found two for "
                      "another output",
                      operation, layer.name(), model.name()));
    }
    result.push_back(*found);
  }
  return result;
}

std::vector<OutputMetric> metrics_of(const std::vector<OutputLoss>& losses) {
  std::vector<OutputMetric> metrics;
  for (std::size_t k = 0; k < losses.size(); ++k) {
    const OutputLoss& own = losses[k];
    metrics.push_back({k, loss_metric(own.output + "_loss", own.loss)});
    for (const Metric& metric : own.metrics) {
      metrics.push_back({k, {own.output + "_" + metric.name, metric.value}});
    }
  }
  return metrics;
}

void check_metrics_of(const std::vector<OutputLoss>& losses) {
  std::vector<Metric> all;
  if (losses.size() == 1) {
    all = losses.front().metrics;
  } else {
    for (const OutputMetric& each : metrics_of(losses)) all.push_back(each.metric);
    for (const OutputLoss& each : losses) {
      all.push_back(loss_metric(each.output + "_accuracy", each.loss));
      all.push_back(loss_metric(each.output + "_integer_accuracy", each.loss));
    }
  }
  check_metrics(all);
  if (std::ranges::count(all, kTestLoss, &Metric::name) == 0) return;
  throw InvalidArgument(
      fmt::format("metric \"{0}\": TrainerOptions::{0} measures a number of that name", kTestLoss));
}

}  // namespace detail

}  // namespace octet
