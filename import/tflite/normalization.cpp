#include <octet/import/tflite/normalization.h>
#include <octet/layers/activation.h>
#include <octet/layers/layer_normalization.h>
#include <octet/runtime/operators/operands.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace octet::detail {
namespace {

class Matcher {
 public:
  explicit Matcher(const IntegerModel& model) : model_(model) {
    for (const Operator& op : model.operators) {
      for (const std::int32_t output : op.outputs) givers_.emplace(output, &op);
    }
  }

  std::optional<OperatorLayers> match(const Operator& sum) const {
    if (sum.code != OpCode::add) return std::nullopt;
    for (const auto& [scaled, shift] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      const Operator* product = giver(sum.inputs[scaled], OpCode::mul);
      const Operator* rest = giver(sum.inputs[shift], OpCode::sub);
      if (product == nullptr || rest == nullptr) continue;
      for (const auto& [x, factor] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
        auto found = match(sum, product->inputs[x], product->inputs[factor], *rest);
        if (found.has_value()) return found;
      }
    }
    return std::nullopt;
  }

 private:
  /// `sum` as x k + (beta - mean(x) k), where `rest` is the difference.
  std::optional<OperatorLayers> match(const Operator& sum, std::int32_t x, std::int32_t k,
                                      const Operator& rest) const {
    const Operator* shifted = giver(rest.inputs[1], OpCode::mul);
    const Operator* product = giver(k, OpCode::mul);
    if (shifted == nullptr || product == nullptr || !is_free(rest)) return std::nullopt;
    const auto gamma = other_constant(*product);
    const auto mean = other_input(*shifted, k);
    const bool fits = gamma.has_value() && mean.has_value() && mean_of(*mean) == x &&
                      is_features(tensor(rest.inputs[0]), x) &&
                      is_features(tensor(gamma->second), x);
    const auto epsilon = fits ? epsilon_of(gamma->first, x) : std::nullopt;
    if (!epsilon.has_value()) return std::nullopt;
    OperatorLayers layers;
    layers.code = sum.code;
    layers.result = sum.outputs[0];
    layers.inputs = {x};
    layers.layers.push_back(
        std::make_unique<LayerNormalization>(LayerNormalizationOptions{.epsilon = *epsilon}));
    layers.weights = {{"gamma", vector_of(gamma->second)}, {"beta", vector_of(rest.inputs[0])}};
    if (sum.activation() == FusedActivation::relu)
      layers.layers.push_back(std::make_unique<ReLU>());
    if (sum.activation() == FusedActivation::relu6) {
      layers.layers.push_back(std::make_unique<ReLU6>());
    }
    const bool is_known = is_free(sum) || layers.layers.size() == 2;
    return is_known ? std::optional(std::move(layers)) : std::nullopt;
  }

  /// The epsilon of rsqrt(variance(x) + epsilon), which `root` is.
  std::optional<float> epsilon_of(std::int32_t root, std::int32_t x) const {
    const Operator* rsqrt = giver(root, OpCode::rsqrt);
    const Operator* sum = rsqrt == nullptr ? nullptr : giver(rsqrt->inputs[0], OpCode::add);
    const auto epsilon = sum == nullptr ? std::nullopt : other_constant(*sum);
    if (!epsilon.has_value() || !is_free(*sum) || tensor(epsilon->second).size() != 1) {
      return std::nullopt;
    }
    const Operator* square = giver(mean_of(epsilon->first), OpCode::mul);
    if (square == nullptr || square->inputs[0] != square->inputs[1] || !is_free(*square)) {
      return std::nullopt;
    }
    const Operator* centered = giver(square->inputs[0], OpCode::sub);
    if (centered == nullptr || !is_free(*centered) || centered->inputs[0] != x ||
        mean_of(centered->inputs[1]) != x) {
      return std::nullopt;
    }
    return values_of<float>(tensor(epsilon->second))[0];
  }

  const ModelTensor& tensor(std::int32_t index) const {
    return model_.tensors[static_cast<std::size_t>(index)];
  }
  const Operator* giver(std::int32_t index, OpCode code) const {
    const auto found = givers_.find(index);
    return found == givers_.end() || found->second->code != code ? nullptr : found->second;
  }
  static bool is_free(const Operator& op) { return op.activation() == FusedActivation::none; }

  /// The value whose mean over its last axis tensor `index` is; -1 for any other.
  std::int32_t mean_of(std::int32_t index) const {
    const Operator* sum = giver(index, OpCode::fully_connected);
    if (sum == nullptr || !is_free(*sum) || (sum->inputs.size() > 2 && sum->inputs[2] >= 0)) {
      return -1;
    }
    const std::vector<float> weights = values_of<float>(tensor(sum->inputs[1]));
    const auto is_part = [&](float weight) {
      return weight == 1.0F / static_cast<float>(weights.size());
    };
    const bool is_mean =
        tensor(sum->inputs[1]).shape[0] == 1 && std::ranges::all_of(weights, is_part);
    return is_mean ? sum->inputs[0] : -1;
  }

  /// The input of two that is computed, and the one that is a constant of floats.
  std::optional<std::pair<std::int32_t, std::int32_t>> other_constant(const Operator& op) const {
    for (const auto& [computed, constant] : {std::pair(0U, 1U), std::pair(1U, 0U)}) {
      if (tensor(op.inputs[constant]).is_constant()) {
        return std::pair(op.inputs[computed], op.inputs[constant]);
      }
    }
    return std::nullopt;
  }
  /// The input of two beside tensor `index`.
  static std::optional<std::int32_t> other_input(const Operator& op, std::int32_t index) {
    if (op.inputs[0] == index) return op.inputs[1];
    return op.inputs[1] == index ? std::optional(op.inputs[0]) : std::nullopt;
  }

  /// Whether `values` is a constant with one number for each feature of tensor `x`.
  bool is_features(const ModelTensor& values, std::int32_t x) const {
    return values.is_constant() && values.size() == tensor(x).shape.back() &&
           values.shape.back() == tensor(x).shape.back();
  }
  Tensor vector_of(std::int32_t index) const {
    const std::vector<float> values = values_of<float>(tensor(index));
    return Tensor::from({static_cast<Index>(values.size())}, values);
  }

  const IntegerModel& model_;
  std::map<std::int32_t, const Operator*> givers_;
};

}  // namespace

std::map<std::size_t, OperatorLayers> normalizations_of(const IntegerModel& model) {
  const Matcher matcher(model);
  std::map<std::size_t, OperatorLayers> found;
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    if (auto layers = matcher.match(model.operators[i])) found.emplace(i, std::move(*layers));
  }
  return found;
}

}  // namespace octet::detail
