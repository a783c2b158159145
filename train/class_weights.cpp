#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/train/class_weights.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace octet {

std::vector<float> balanced_class_weights(std::span<const std::int32_t> labels, int classes) {
  if (labels.empty() || classes < 1) {
    throw InvalidArgument(fmt::format(
        "balanced_class_weights: expected labels of at least one class, found {} of {} classes",
        labels.size(), classes));
  }
  std::vector<double> counts(static_cast<std::size_t>(classes));
  for (const std::int32_t label : labels) {
    if (label < 0 || label >= classes) {
      throw InvalidArgument(fmt::format(
          "balanced_class_weights: expected labels in [0, {}), found {}", classes, label));
    }
    counts[static_cast<std::size_t>(label)] += 1.0;
  }
  std::vector<float> weights;
  for (const double count : counts) {
    const double share = static_cast<double>(labels.size()) / static_cast<double>(classes);
    weights.push_back(count > 0.0 ? static_cast<float>(share / count) : 0.0F);
  }
  return weights;
}

Loss class_weighted_cross_entropy(std::vector<float> weights) {
  for (const float weight : weights) {
    if (std::isfinite(weight) && weight >= 0.0F) continue;
    throw InvalidArgument(fmt::format(
        "class_weighted_cross_entropy: expected weights of 0 or more, found {}", weight));
  }
  if (weights.size() < 2) {
    throw InvalidArgument(fmt::format(
        "class_weighted_cross_entropy: expected a weight for each of several classes, found {}",
        weights.size()));
  }
  if (std::ranges::none_of(weights, [](float weight) { return weight > 0.0F; })) {
    throw InvalidArgument("class_weighted_cross_entropy: expected a weight above 0, found none");
  }
  return [weights = std::move(weights)](const Tensor& output, const Targets& targets) {
    const Index classes = output.dim(-1);
    if (classes != static_cast<Index>(weights.size())) {
      throw InvalidArgument(
          fmt::format("class_weighted_cross_entropy: expected logits of {} classes, one for each "
                      "weight, found {}",
                      weights.size(), classes));
    }
    Tensor weighted = one_hot(targets, classes);
    const std::span<float> values = weighted.mutable_span();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= weights[i % weights.size()];
    return softmax_cross_entropy(output, weighted);
  };
}

}  // namespace octet
