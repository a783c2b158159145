#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/loss.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/printable.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/activation.h>
#include <octet/layers/model.h>
#include <octet/train/loss.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace octet {
namespace {

void check_same_shape(const char* loss, const Tensor& output, const Tensor& target) {
  if (target.shape() == output.shape() && output.size() > 0) return;
  throw InvalidArgument(fmt::format(
      "{}: expected outputs and targets of one shape, found {} and {}; does the model have one "
      "output per target?",
      loss, output.shape().to_string(), target.shape().to_string()));
}

/// Labels 0 and 1 as a column of 0 and 1, for a model of one output.
Tensor column_of(std::span<const std::int32_t> labels, const Tensor& output) {
  if (output.rank() != 2 || output.dim(1) != 1) {
    throw InvalidArgument(fmt::format(
        "binary_cross_entropy: labels belong to a model of one output, found outputs {}; give a "
        "tensor of targets, or use sparse_categorical_cross_entropy()",
        output.shape().to_string()));
  }
  Tensor column({static_cast<Index>(labels.size()), 1});
  float* out = column.mutable_data();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != 0 && labels[i] != 1) {
      throw InvalidArgument(fmt::format(
          "binary_cross_entropy: row {}: expected a label 0 or 1, found {}", i, labels[i]));
    }
    out[i] = static_cast<float>(labels[i]);
  }
  return column;
}

void check_shares(const Tensor& target) {
  const auto wrong =
      std::ranges::find_if_not(target.span(), [](float t) { return t >= 0.0F && t <= 1.0F; });
  if (wrong == target.span().end()) return;
  throw InvalidArgument(
      fmt::format("binary_cross_entropy: expected targets in [0, 1], found {}", *wrong));
}

/// Outputs or targets of whatever shape as rows of classes.
Tensor rows_of_classes(const Tensor& x) { return x.rank() == 2 ? x : x.reshape({-1, x.dim(-1)}); }

// Types of their own, so that require_output_for() and detail::loss_of_labels() find them in a
// Loss.

struct CategoricalCrossEntropy {
  Tensor operator()(const Tensor& output, const Targets& targets) const {
    check_same_shape("categorical_cross_entropy", output, targets.values());
    return softmax_cross_entropy(rows_of_classes(output), rows_of_classes(targets.values()));
  }
};

struct BinaryCrossEntropy {
  Tensor operator()(const Tensor& output, const Targets& targets) const {
    const Tensor target =
        targets.are_labels() ? column_of(targets.labels(), output) : targets.values();
    check_same_shape("binary_cross_entropy", output, target);
    check_shares(target);
    const Tensor& logits = detail::TensorAccess::logits(output);
    return sigmoid_cross_entropy(logits.defined() ? logits : output, target);
  }
};

/// Labels are one of several classes, each of which has a sigmoid.
struct BinaryCrossEntropyPerClass {
  Tensor operator()(const Tensor& output, const Targets& targets) const {
    return BinaryCrossEntropy()(output, one_hot(targets, output.dim(-1)));
  }
};

bool takes_logits_of_sigmoid(const Loss& loss) {
  return loss.target<BinaryCrossEntropy>() != nullptr ||
         loss.target<BinaryCrossEntropyPerClass>() != nullptr;
}

struct MeanSquaredError {
  Tensor operator()(const Tensor& output, const Targets& targets) const {
    check_same_shape("mean_squared_error", output, targets.values());
    return mean_squared_error(output, targets.values());
  }
};

struct MeanAbsoluteError {
  Tensor operator()(const Tensor& output, const Targets& targets) const {
    check_same_shape("mean_absolute_error", output, targets.values());
    return mean(abs(output - targets.values()));
  }
};

/// The length of each row, at least 1e-6, [rows, 1].
Tensor lengths(const Tensor& rows) {
  return sqrt(maximum(sum(square(rows), {1}, /*keep_dims=*/true), 1e-12F));
}

struct CosineDistance {
  Tensor operator()(const Tensor& output, const Targets& targets) const {
    check_same_shape("cosine_distance", output, targets.values());
    const Index rows = output.dim(0);
    const Tensor a = output.reshape({rows, -1});
    const Tensor b = targets.values().reshape({rows, -1});
    return 1.0F - mean(sum(a * b, {1}, /*keep_dims=*/true) / (lengths(a) * lengths(b)));
  }
};

/// Throws InvalidArgument where a sigmoid ends an output that other layers read: the output comes
/// without its logits.
void refuse_sigmoid_read(const Model& model, std::size_t output) {
  const std::size_t node = model.output_layers()[output];
  const Layer& last = *model.layers()[node];
  if (last.activation() != Activation::sigmoid || model.readers(node).empty()) return;
  throw InvalidArgument(fmt::format(
      "binary_cross_entropy: expected an output that no other layer reads, or no sigmoid at its "
      "end, found layer \"{}\" of model \"{}\"; add the sigmoid as a layer of its own for the "
      "output",
      last.name(), model.name()));
}

/// Throws InvalidArgument where the output ends in `activation`.
void refuse_end(const Model& model, std::size_t output, Activation activation,
                std::string_view loss, std::string_view why) {
  const Layer& last = *model.layers()[model.output_layers()[output]];
  if (last.activation() != activation) return;
  throw InvalidArgument(fmt::format(
      "{}: expected a model that does not end in a {}, found layer \"{}\" at the end of model "
      "\"{}\", which does; {}",
      loss, to_string(activation), last.name(), model.name(), why));
}

}  // namespace

Loss sparse_categorical_cross_entropy() {
  return [](const Tensor& output, const Targets& targets) {
    return softmax_cross_entropy(output, targets.labels());
  };
}

Loss smoothed_cross_entropy(float smoothing) {
  if (!(smoothing >= 0.0F && smoothing < 1.0F)) {
    throw InvalidArgument(
        fmt::format("smoothed_cross_entropy: expected 0 <= smoothing < 1, found {}", smoothing));
  }
  return [smoothing](const Tensor& output, const Targets& targets) {
    const Index classes = output.dim(-1);
    const Tensor target =
        one_hot(targets, classes) * (1.0F - smoothing) + smoothing / static_cast<float>(classes);
    return softmax_cross_entropy(output, target);
  };
}

Loss one_hot_mean_squared_error() {
  return [](const Tensor& output, const Targets& targets) {
    return mean_squared_error(output, one_hot(targets, output.dim(-1)));
  };
}

Loss categorical_cross_entropy() { return CategoricalCrossEntropy{}; }

Loss binary_cross_entropy() { return BinaryCrossEntropy{}; }

Loss detail::loss_of_labels(const Loss& loss) {
  if (loss.target<CategoricalCrossEntropy>() == nullptr) return loss;
  return [loss](const Tensor& output, const Targets& targets) {
    return loss(output, one_hot(targets, output.dim(-1)));
  };
}

std::optional<float> decision_threshold(const Model& model, std::size_t output) {
  const Layer& last = *model.layers()[model.output_layers()[output]];
  if (last.output_shape().size() != 1 || last.ends_in_softmax()) return std::nullopt;
  return last.activation() == Activation::sigmoid ? 0.5F : 0.0F;
}

Loss classification_loss(const Model& model, std::size_t output) {
  const bool is_sigmoid =
      model.layers()[model.output_layers()[output]]->activation() == Activation::sigmoid;
  if (decision_threshold(model, output)) return binary_cross_entropy();
  if (!is_sigmoid) return sparse_categorical_cross_entropy();
  refuse_sigmoid_read(model, output);
  return BinaryCrossEntropyPerClass{};
}

Loss tensor_loss(const Model& model, std::size_t output) {
  const Layer& last = *model.layers()[model.output_layers()[output]];
  if (last.ends_in_softmax()) return categorical_cross_entropy();
  return last.activation() == Activation::sigmoid ? binary_cross_entropy() : mean_squared_error();
}

Loss parse_loss(std::string_view name) {
  using Named = std::pair<std::string_view, Loss (*)()>;
  std::string names;
  for (const auto& [known, make] : std::initializer_list<Named>{
           {"sparse_categorical_cross_entropy", sparse_categorical_cross_entropy},
           {"categorical_cross_entropy", categorical_cross_entropy},
           {"binary_cross_entropy", binary_cross_entropy},
           {"mean_squared_error", mean_squared_error},
           {"mean_absolute_error", mean_absolute_error},
           {"cosine_distance", cosine_distance},
           {"one_hot_mean_squared_error", one_hot_mean_squared_error}}) {
    if (name == known) return make();
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
  }
  throw InvalidArgument(
      fmt::format("parse_loss: expected one of {}, found \"{}\"", names, printable(name)));
}

void require_output_for(const Loss& loss, const Model& model, std::size_t output) {
  if (takes_logits_of_sigmoid(loss)) refuse_sigmoid_read(model, output);
  const std::string_view compares =
      loss.target<MeanSquaredError>() != nullptr    ? "mean_squared_error"
      : loss.target<MeanAbsoluteError>() != nullptr ? "mean_absolute_error"
      : loss.target<CosineDistance>() != nullptr    ? "cosine_distance"
                                                    : "";
  if (compares.empty()) return;
  refuse_end(
      model, output, Activation::softmax, compares,
      "losses get what stands before it, which would be compared with the targets: leave the "
      "softmax out, or use categorical_cross_entropy(), for targets that are shares");
}

void require_logits_for(const Loss& loss, const Model& model, const Tensor& output,
                        std::size_t number) {
  const Layer& last = *model.layers()[model.output_layers()[number]];
  if (!takes_logits_of_sigmoid(loss) || last.activation() != Activation::sigmoid) return;
  if (detail::TensorAccess::logits(output).defined()) return;
  throw InvalidArgument(fmt::format(
      "binary_cross_entropy: expected the sigmoid of layer \"{}\" with the logits that it read, "
      "found its result alone; forward_all() of a {} ends in apply_activation() with its context",
      last.name(), last.type()));
}

Loss mean_squared_error() { return MeanSquaredError{}; }

Loss mean_absolute_error() { return MeanAbsoluteError{}; }

Loss cosine_distance() { return CosineDistance{}; }

}  // namespace octet
