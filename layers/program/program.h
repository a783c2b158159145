#pragma once

#include <octet/core/tensor.h>
#include <octet/layers/graph.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octet {

class FoldedBatchNorm;
class Model;
class PreparedStep;
class SharedRange;
class WeightOscillation;
struct IntegerWeights;
struct QuantizeOptions;

/// What a step computes on.
struct StepInputs {
  std::span<const Tensor> x;
  /// The shape of one example of the result.
  const Shape& result;
  const ForwardContext& context;
  /// Gets what the operators of the step give before its result, in their order; may be null.
  std::vector<Tensor>* before = nullptr;
  /// weights_of() the step where they have been computed; else null.
  const LayerWeights* weights = nullptr;
  /// Keeps what IntegerLinear makes of these weights; null where it is made anew.
  IntegerWeights* integers = nullptr;
};

/// How the step of a quantized layer computes, and the quantizers of its values. Set by
/// QuantizeWrapper and QuantizeLayer.
struct StepScheme {
  /// The quantized layer, for errors.
  std::string owner{};
  const QuantizeOptions* options = nullptr;
  /// The quantizer of the weights; null where they stay real.
  Quantizer* kernel = nullptr;
  /// The quantizer of the result; null where its operator gives it the scale and the zero point.
  Quantizer* result = nullptr;
  /// The quantizer that gives the result of a step of kind requantize its scale and zero point, and
  /// measures nothing there.
  const Quantizer* common = nullptr;
  /// How many times as wide as the range of `common` that of the step's input is in training.
  float range_of_input = 1.0F;
  /// The largest such factor of all values that are joined with the input.
  float widest_range = 1.0F;
  /// Whether SQRT or RSQRT reads the result with its scale and zero point, which has to be the
  /// lowest quantized value.
  bool is_radicand = false;
  /// Whether the operator reads integers once the model is exported, and in training as soon as
  /// its inputs have a scale: see decide_forms().
  bool on_integers = false;
  /// For a quantizer that several steps of the program share; null for one that is the step's own.
  std::shared_ptr<SharedRange> shared{};
  std::size_t shared_position = 0;
  WeightOscillation* oscillation = nullptr;
  /// What integer_operator() keeps of a step from one batch to the next.
  std::shared_ptr<PreparedStep> prepared{};
};

/// One operator of a program.
struct Step {
  enum class Kind {
    op,          ///< an operator without weights
    linear,      ///< the operator of LayerWeights
    function,    ///< a TensorFunction
    quantize,    ///< QUANTIZE
    requantize,  ///< QUANTIZE where values lack the scale of those that they are joined with
    parameter,   ///< a tensor of the layer
  };
  Kind kind = Kind::op;
  /// The operator of a step of kind op or linear.
  OpCode code = OpCode::reshape;
  /// Which result of the operator a step of kind op gives: 0 but for the cell state behind the last
  /// step of UNIDIRECTIONAL_SEQUENCE_LSTM, 2, which a step with result 0 computes, too.
  std::size_t output = 0;
  /// The attributes of a step of kind op.
  OperatorAttributes attributes{};
  /// The clamp behind a linear step, or behind a function that takes one.
  FusedActivation clamp = FusedActivation::none;
  /// What PAD, RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR, STRIDED_SLICE and TRANSPOSE read beside
  /// their input: [4, 2] numbers; [2] for both sizes; begin, end and strides, one number each for
  /// the batch and each other axis; the permutation, the batch in front.
  std::vector<std::int32_t> numbers{};
  TensorFunction function{};
  /// The tensor of a step of kind parameter; see parameter_of().
  Tensor parameter{};
  /// Returns the weights of a step of kind linear that are not Layer::weights(), the kernel that a
  /// step of kind parameter computes, or the bias of a step of kind op.
  std::function<LayerWeights()> weights{};
  /// The name in the layer of these weights, or of the parameter of a step of kind parameter.
  std::string weights_name{};
  /// The layer that emitted the step, and the position of the model's layer that holds it.
  const Layer* layer = nullptr;
  std::size_t node = 0;
  /// Tells the random streams of several functions of one layer apart.
  std::size_t stream = 0;
  /// The batch normalization that is folded into the weights of a linear step; null where there is
  /// none.
  FoldedBatchNorm* folded = nullptr;
  /// Null where the step computes in floats.
  std::shared_ptr<StepScheme> scheme{};
  /// Steps with one key share the quantizer of their results, as those that a scan repeats for
  /// every step of time. The key is the value that this quantizer is named after.
  std::optional<std::size_t> range_key{};
  /// How far below the largest value of a row of the result its range ends; nowhere without.
  std::optional<float> reach{};
  /// Whether the result is 0 whatever is read, so that no range can be measured.
  bool gives_zeros = false;
  std::vector<std::size_t> inputs{};
  /// Positions of the inputs that are results of steps of kind parameter, without a batch axis.
  std::vector<std::size_t> parameter_inputs{};
  std::size_t result = 0;

  bool reads_parameter(std::size_t input) const {
    return std::ranges::count(parameter_inputs, input) > 0;
  }
};

/// What a value holds in the exported model: see decide_forms().
struct ValueForm {
  /// Whether it holds int8 or int16, not real values.
  bool is_integer = false;
  bool is_int16 = false;
  /// The quantizer that gives it scale and zero point, its own or that of what it was moved or
  /// pooled from; null where there is none.
  Quantizer* quantizer = nullptr;
  /// The operator that gives it scale and zero point, as SOFTMAX does, which has one scale for all
  /// int8 results.
  std::optional<OpCode> fixed_by{};
  /// How many times as wide as the quantizer's range that of the values is in training, after a
  /// Dropout.
  float training_range = 1.0F;
};

/// What a model computes: the steps that its layers emitted, in the order in which they run.
struct Program {
  struct Value {
    /// The layer that it is named after, with `suffix` behind; null for the inputs of one layer.
    const Layer* layer = nullptr;
    std::string suffix{};
    /// The shape of one example, or of a parameter.
    Shape shape{};
    bool is_parameter = false;
    /// How many steps read the value, once for each of their inputs, and whether it is an output.
    std::size_t readers = 0;
    bool is_output = false;
    ValueForm form{};
    /// What emit() returned beside the value, where it is a layer's result.
    std::vector<std::size_t> beside{};

    /// The name of the tensor that the value becomes in files.
    std::string name() const { return layer == nullptr ? suffix : layer->name() + suffix; }
  };
  std::vector<Value> values{};
  std::vector<Step> steps{};
  /// By layer of the model: its result.
  std::vector<std::size_t> result_of_layer{};
  /// The model's outputs.
  std::vector<std::size_t> outputs{};

  /// The step that gives a value; null where it comes from outside.
  const Step* producer(std::size_t value) const;
};

/// The weights of a step of kind linear as they are now.
LayerWeights weights_of(const Step& step);

/// Returns the weights in `in` where it has them, else weights_of() the step.
LayerWeights weights_of(const Step& step, const StepInputs& in);

/// The tensor of a step of kind parameter as it is now.
Tensor parameter_of(const Step& step);

/// Counts the readers of all values, once all layers have emitted.
void count_readers(Program& program);

/// The steps of one built layer, which reads values from outside.
Program program_of(const Layer& layer);
/// @overload
/// run_alone() can run the steps, too.
Program program_of(Layer& layer);

/// Makes every clamp of its own that is the only reader of a step in floats, which can end in one,
/// part of that step. The same bits in fewer passes over memory.
Program with_fused_clamps(Program program);

}  // namespace octet
