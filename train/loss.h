#pragma once

#include <octet/core/tensor.h>
#include <octet/train/data/targets.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace octet {

class Model;

/// A scalar that training makes small, from a model's output and the targets of the batch. The
/// output is that of forward_logits(): without a final softmax. Any function of (output, labels) or
/// of (output, target tensor) is one: see Targets. All of the losses below are means over the rows,
/// and throw InvalidArgument for targets of the wrong kind or shape.
using Loss = std::function<Tensor(const Tensor& output, const Targets& targets)>;

/// The mean of -log softmax(logits)[label].
Loss sparse_categorical_cross_entropy();

/// Cross-entropy with smoothed labels: the target is 1 - smoothing on the label, and the rest is
/// spread over all classes. Expects logits. Throws InvalidArgument unless 0 <= smoothing < 1.
Loss smoothed_cross_entropy(float smoothing);

/// The mean of (output - one_hot(label))^2 over rows and classes.
Loss one_hot_mean_squared_error();

/// The mean of -sum_j target[j] log softmax(logits)[j]: soft labels, each row a distribution over
/// the classes. Classes are on the last axis, so that a row may be a pixel: outputs and targets
/// [n, height, width, classes].
Loss categorical_cross_entropy();

/// The mean over rows and outputs of -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)), in a form
/// that no x overflows. x are logits: the outputs, or what a sigmoid at the model's end reads.
/// Targets are a tensor of the output's shape with values in [0, 1], or for a model of one output
/// labels 0 and 1.
Loss binary_cross_entropy();

/// The output above which a model with one output per example says class 1: 0.5 where it ends in a
/// sigmoid, else 0, the output being a logit. None for a model with several outputs, and for one
/// that ends in a softmax: its class is the first largest output. `output` is the number of one of
/// the model's outputs, whose own numbers count.
std::optional<float> decision_threshold(const Model& model, std::size_t output = 0);

/// The loss that goes with labels and the end of a built model: binary_cross_entropy() for one
/// output, a sigmoid's or a logit, and for a sigmoid of several, one per class; else
/// sparse_categorical_cross_entropy(). `output` is the number of the output that it is for.
Loss classification_loss(const Model& model, std::size_t output = 0);

/// The loss that goes with tensors as targets and the end of a built model:
/// categorical_cross_entropy() for a softmax, binary_cross_entropy() for a sigmoid, else
/// mean_squared_error(). `output` is the number of the output that it is for.
Loss tensor_loss(const Model& model, std::size_t output = 0);

/// The loss whose function has this name, of those without parameters. Throws InvalidArgument,
/// which lists them, for any other name.
Loss parse_loss(std::string_view name);

/// Throws InvalidArgument, naming model and layer, where `loss` does not get what the model's end
/// suggests: binary_cross_entropy() after a sigmoid whose result other layers read too, and
/// mean_squared_error(), mean_absolute_error() or cosine_distance() with a softmax, which losses
/// never see. `output` is the number of the output that `loss` gets. Trainer calls it. A function
/// of your own that calls one of them is not recognized.
void require_output_for(const Loss& loss, const Model& model, std::size_t output = 0);

/// Throws InvalidArgument, naming the layer, where `loss` takes the logits of a sigmoid and
/// `output` of Model::forward_logits() comes without: a layer of your own lost its context. It is
/// output `number` of the model. Trainer calls it.
void require_logits_for(const Loss& loss, const Model& model, const Tensor& output,
                        std::size_t number = 0);

/// The mean of (output - target)^2 over rows and outputs. Targets have the output's shape.
Loss mean_squared_error();

/// The mean of |output - target| over rows and outputs. Targets have the output's shape.
Loss mean_absolute_error();

/// The mean over rows of 1 - cos(output, target), each row one vector: 0 where they point the same
/// way, 2 where opposite ways. Vectors shorter than 1e-6 count as being that long.
Loss cosine_distance();

namespace detail {

/// `loss` for examples with class labels: categorical_cross_entropy(), which mixup trains with,
/// takes them as rows of 0 and 1; any other is as it is.
Loss loss_of_labels(const Loss& loss);

}  // namespace detail

}  // namespace octet
