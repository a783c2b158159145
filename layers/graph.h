#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/ops/image_ops.h>
#include <octet/core/ops/resize.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/layer.h>
#include <octet/runtime/operator.h>

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

struct Program;
struct Step;
/// The order in which Graph::scan() goes through the steps of sequences.
enum class StepOrder { forward, backward };

/// A computation on tensors that has no operator in files, see Graph::function().
struct TensorFunction {
  /// `clamp` follows the computation; FusedActivation::none unless `takes_clamp`.
  using Run = std::function<Tensor(std::span<const Tensor> inputs, const ForwardContext& context,
                                   FusedActivation clamp)>;
  Run run{};
  /// Whether `run` can do a clamp behind it in the same pass over memory.
  bool takes_clamp = false;
  /// Whether `run` is the layer's forward_all().
  bool calls_layer = false;
  /// Whether inference passes its input on, so that files leave it out, as they do Dropout.
  bool only_trains = false;
  /// Whether each position of a sequence, or of an image, is computed of itself alone.
  bool each_position = false;
  /// Why no file has an operator for it, for errors; "" for what any layer of one's own is told.
  std::string_view not_exported{};
  /// By how much a training pass stretches the range of what it reads.
  float training_range = 1.0F;
};

/// Takes down which operators a layer computes: Layer::emit() calls it. A model runs them in floats
/// or on integers, and lower() writes them.
///
///     std::vector<GraphValue> ReLU::emit(Graph& g, std::span<const GraphValue> x) const {
///       return {g.op(OpCode::relu, {x[0]})};
///     }
///
/// A value is [batch, shape...]. The tensor that a value becomes in a file has the layer's name
/// with `suffix` behind; the layer's result has none. Values of one suffix are numbered. Every
/// function throws InvalidArgument, naming the layer, for a value of another graph and for operands
/// that the operator does not take.
class Graph {
 public:
  explicit Graph(Program& program) : program_(program) {}

  /// The shape of one example of a value.
  const Shape& shape(GraphValue value) const;
  /// Returns the values that emit() of a layer gave behind `result`, its first.
  std::vector<GraphValue> beside(GraphValue result) const;
  /// Whether the steps of one layer are taken down, to be looked at, and `value` is what it reads.
  bool is_from_outside(GraphValue value) const;

  /// The result of an operator. Its attributes are the operator's defaults unless given.
  GraphValue op(OpCode code, const std::vector<GraphValue>& inputs,
                std::optional<OperatorAttributes> attributes = std::nullopt,
                std::string_view suffix = "");
  /// f(x W + b) or the convolution that Layer::weights() of the layer describes, f its
  /// activation(). Examples that are no images are reshaped around a convolution.
  GraphValue linear(GraphValue x);
  /// x W + b or a convolution, as `weights` describe it, for a layer of several kernels: `name` is
  /// that of the kernel's quantizer and of the tensors in files. `weights` is called in every step,
  /// so that it may compute them, with their gradients, from tensors of the layer.
  GraphValue linear(GraphValue x, std::string_view name, std::function<LayerWeights()> weights,
                    std::string_view suffix = "");
  /// UNIDIRECTIONAL_SEQUENCE_LSTM of sequences x [steps, features]: h behind every step, [steps,
  /// units]. `kernels` are eight parameters, [units, features] of x and [units, units] of h, each
  /// for the gates i, f, c, o; `bias`, called in every step, gives [4 * units]. With the first
  /// states `first`, h and c, each [units], also c behind the last step; without, these are 0.
  std::vector<GraphValue> sequence_lstm(GraphValue x, std::span<const GraphValue> kernels,
                                        std::span<const GraphValue> first,
                                        std::function<Tensor()> bias, std::string_view suffix = "");
  /// A tensor of the layer that operators read, of any shape and without a batch axis. Quantized,
  /// it has a quantizer named `name`; `tensor` may need a gradient.
  GraphValue parameter(std::string_view name, const Tensor& tensor);
  /// A kernel that an operator without weights reads: `kernel` is called in every step, so that it
  /// may compute it, with its gradient, from tensors of the layer. Quantized, it is symmetric and
  /// has one scale.
  GraphValue parameter(std::string_view name, std::function<Tensor()> kernel);
  /// f(x); x itself for Activation::none.
  GraphValue activate(GraphValue x, Activation f);
  /// Lets the range of a result that is measured end `reach` below the largest value of each row,
  /// along the last axis: for what a softmax reads, to which values further down are 0.
  void end_range_below_rows(GraphValue x, float reach);
  /// Examples of another shape with as many values.
  GraphValue reshape(GraphValue x, const Shape& shape, std::string_view suffix = "");
  /// Images with rows and columns of zeros around them.
  GraphValue pad(GraphValue x, const Padding2D& padding, std::string_view suffix = "");
  /// Images with each pixel repeated in rows and columns.
  GraphValue repeat_pixels(GraphValue x, const std::array<Index, 2>& factors,
                           std::string_view suffix = "");
  /// Images at another size (height, width), resize_bilinear().
  GraphValue resize(GraphValue x, const std::array<Index, 2>& size, ResizeCoordinates coordinates,
                    std::string_view suffix = "");
  /// The part of each example in the slices of its axes.
  GraphValue slice(GraphValue x, const std::vector<AxisSlice>& axes, std::string_view suffix = "");
  /// Examples whose axis i is axis axes[i] of those of x.
  GraphValue transpose(GraphValue x, const std::vector<Index>& axes, std::string_view suffix = "");
  /// Runs `body` for every step of time of sequences `x`, each [steps, ...]: body(x_t, state), with
  /// x_t the values of the step, gives the next state. Returns the states, of which the first body
  /// reads `first`, or without it zeros of the shape of x_t[0]. The bodies emit the same operators;
  /// what one gives has one scale at all steps, and random numbers are the same ones. Throws
  /// InvalidArgument for sequences of unlike lengths, and where later bodies emit other operators
  /// than the first.
  std::vector<GraphValue> scan(
      std::span<const GraphValue> x, std::optional<GraphValue> first,
      FunctionRef<GraphValue(std::span<const GraphValue> x_t, GraphValue state)> body);
  /// Repeats `body` with several states: by step of time, those that `body` gives, as many as
  /// `first` has entries. Backward, the first step that runs, and the first of the result, is the
  /// last of time.
  std::vector<std::vector<GraphValue>> scan(
      std::span<const GraphValue> x, const std::vector<std::optional<GraphValue>>& first,
      FunctionRef<std::vector<GraphValue>(std::span<const GraphValue> x_t,
                                          std::span<const GraphValue> states)>
          body,
      StepOrder order = StepOrder::forward);
  /// Values of one shape, as the rows [values, shape...] of one.
  GraphValue stack(const std::vector<GraphValue>& values, std::string_view suffix = "");
  /// What `function` computes: examples of shape `result`. Files have no operator for it.
  GraphValue function(std::span<const GraphValue> inputs, const Shape& result,
                      TensorFunction function);
  /// Layer::forward_all() of the layer, which overrides Layer::result_shape().
  GraphValue call(std::span<const GraphValue> inputs);

  /// The result of a layer that the emitting layer holds as a part of its own: values are named
  /// after the layer that holds it, with "/part" in front of their suffixes, and kernels and
  /// parameters "part_name". Several parts have several names.
  GraphValue emit_part(Layer& layer, std::string_view part, std::span<const GraphValue> inputs);

  // Used by layers that hold other layers, and by models.

  /// What another layer emits. Steps of a layer that is const are to be looked at, not to be run.
  std::vector<GraphValue> emit(Layer& layer, std::span<const GraphValue> inputs);
  std::vector<GraphValue> emit(const Layer& layer, std::span<const GraphValue> inputs);
  /// Emits another layer, its values named after the layer that emits now.
  std::vector<GraphValue> emit_again(Layer& layer, std::span<const GraphValue> inputs);
  /// The shape of what a layer emits for inputs of these shapes. Throws InvalidArgument, naming the
  /// layer, for inputs that it does not read, and for shapes that its operators do not take.
  static Shape shape_of(const Layer& layer, std::span<const Shape> input_shapes);
  /// Position of the model's layer that the steps to come belong to.
  void set_node(std::size_t node) {
    node_ = node;
    functions_ = 0;
  }
  /// A value from outside, named after a layer; null for none.
  GraphValue input(const Layer* layer, const Shape& shape);
  /// The values of a QUANTIZE, of the shape of x.
  GraphValue quantize(GraphValue x);
  std::size_t step_count() const;
  /// The steps from position `first` on.
  std::span<Step> steps_from(std::size_t first);

 private:
  Step step_of(std::span<const GraphValue> inputs) const;
  GraphValue append(Step step, const Shape& shape, std::string_view suffix);
  GraphValue append_op(Step step, std::span<const GraphValue> inputs, std::string_view suffix);
  GraphValue append_parameter(std::string_view name, Step step);
  Step step_of_example(GraphValue x) const;
  void number_earlier(const std::string& suffix);
  void require_tensor_name(std::string_view name) const;
  Index times_of(std::span<const GraphValue> x) const;
  GraphValue at_time(GraphValue x, Index t);
  std::string name_in_part(std::string_view name) const;
  std::string suffix_in_part(GraphValue value) const;
  void repeat_keys(std::size_t first, std::size_t count, std::size_t other);
  void start_at_zero(std::size_t zeros, std::size_t state);

  std::vector<GraphValue> emit_as(const Layer& layer, Layer* running,
                                  std::span<const GraphValue> inputs);
  Shape shape_of_result(std::span<const GraphValue> inputs) const;

  Program& program_;
  /// The layer that emits.
  const Layer* layer_ = nullptr;
  /// The layer whose shape is asked for, and not known yet.
  const Layer* shaped_ = nullptr;
  /// The layer that values are named after: that which uses layer_ once more, or layer_.
  const Layer* named_ = nullptr;
  /// Whether the layer that emits emits another as its own.
  bool uses_again_ = false;
  /// By suffix of values of the layer: the last value that has it, and how many had.
  std::map<std::string, std::pair<std::size_t, std::size_t>> suffixes_;
  /// The layer that emits, to be run; null where its steps are only looked at.
  Layer* running_ = nullptr;
  /// The first value of the layer.
  std::size_t first_ = 0;
  std::size_t node_ = 0;
  /// How many function() steps belong to it so far.
  std::size_t functions_ = 0;
  /// The beginning of suffixes in the steps of a scan behind the first.
  std::string time_;
  /// The beginning of suffixes in a part of the layer, and of the names of its tensors.
  std::string part_;
};

}  // namespace octet
