#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>
#include <octet/layers/lower_options.h>
#include <octet/layers/program/program.h>
#include <octet/runtime/integer_model.h>
#include <octet/runtime/model_builder.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Writes the steps of a program as the operators of an IntegerModel, in floats or on integers.
///
/// The results of quantized steps are int8, or int16 under rounding mode q15, with the scale and
/// the zero point that the operator's definition says: those that it always has, its input's, or
/// those of the step's quantizer. Steps in float compute on real values, as a softmax does of
/// int16; a DEQUANTIZE makes these of the integers that they read.
class Lowering {
 public:
  explicit Lowering(std::string model_name, const LowerOptions& options = {});

  /// A model input of float32, [batch, example_shape...]; a QUANTIZE behind it may change its type.
  std::int32_t input(std::string_view name, const Shape& example_shape);
  /// A model input of quantized values.
  std::int32_t quantized_input(const Shape& example_shape, const QuantParams& params);
  /// A constant of the quantized values of `parameter`, which carries its quantization parameters.
  std::int32_t quantized_constant(std::string name, const Tensor& parameter);

  /// Appends the operators of a step that reads the tensors `inputs`, and returns that of its
  /// result. Throws InvalidArgument, naming the layer, where the step has no operator, a quantizer
  /// has no range or another range of integers than int8 has, and where layers ask for different
  /// rounding modes.
  std::int32_t append(const Step& step, const Program::Value& result,
                      std::span<const std::int32_t> inputs);
  /// Appends the SPLIT of the tensor `input` that is what the steps `parts` compute, see
  /// equal_parts(), and returns the tensors of their results. Throws as append().
  std::vector<std::int32_t> split(const Program& program, std::span<const Step> parts,
                                  std::size_t axis, std::int32_t input);
  /// The values of a tensor with other quantization parameters: the tensor itself where it has
  /// them, or what a DEQUANTIZE and a QUANTIZE make of it.
  std::int32_t requantized(std::int32_t tensor, const QuantParams& params);
  /// Makes tensors the model's outputs, as options.output asks.
  void finish(const std::vector<std::int32_t>& outputs);

  const ModelTensor& tensor(std::int32_t index) const { return builder_.tensor(index); }
  bool is_real(std::int32_t index) const { return tensor(index).dtype == DType::float32; }
  IntegerModel& model() { return builder_.model(); }
  /// The rounding mode of all quantized steps; none before the first.
  std::optional<Rounding> rounding() const { return rounding_; }
  /// The largest value that a sum of any layer can reach for any input.
  std::int64_t accumulator_bound() const { return bound_; }

 private:
  /// A step that is being appended.
  struct Current {
    const Step& step;
    const Program::Value& result;
    /// What errors begin with.
    std::string owner;
    /// Whether the step computes on integers.
    bool on_integers;
  };

  Current current(const Step& step, const Program::Value& result);
  std::int32_t operation(const Current& now, std::span<const std::int32_t> inputs);
  std::int32_t lookup(const Current& now, std::span<const std::int32_t> inputs);
  std::int32_t linear(const Current& now, std::int32_t input);
  std::int32_t with_zeros(const Current& now, std::int32_t images, const Padding2D& zeros);
  std::int32_t function(const Current& now, std::int32_t input);
  std::int32_t quantize(const Current& now, std::int32_t input);
  std::int32_t with_quantized_result(const Current& now, std::int32_t result);
  void require_rounding(const StepScheme& scheme);
  bool is_wide(std::int32_t tensor) const { return this->tensor(tensor).dtype == DType::int16; }
  std::int32_t reals_of(std::int32_t tensor);
  std::int32_t result(const Current& now, std::span<const std::int32_t> inputs,
                      std::string_view suffix);
  std::int32_t quantize_op(const Current& now, std::int32_t input, const QuantParams& params);
  std::int32_t parameter(const Current& now);
  template <class T>
  std::int32_t shared_constant(const Current& now, const std::string& name, DType dtype,
                               std::vector<std::int32_t> shape, std::span<const T> values,
                               QuantParams params = ModelBuilder::no_quantization());
  std::vector<std::int32_t> real_weights(const Current& now, const LayerWeights& weights);
  std::vector<std::int32_t> integer_weights(const Current& now, const LayerWeights& weights,
                                            std::int32_t input);
  void widen_int16_result(std::size_t unit_axis);
  std::int32_t integer_bias(const Current& now, const std::string& name,
                            std::vector<std::int32_t> values, QuantParams params, bool wide);
  std::int32_t sequence_lstm(const Current& now, std::vector<std::int32_t> read);
  std::vector<std::int32_t> append_lstm(const Current& now, std::span<const std::int32_t> read);
  std::vector<std::int32_t> lstm_biases(const Current& now, std::span<const std::int32_t> read,
                                        std::int32_t output);
  void bound_sums(const Current& now, std::int32_t weights, std::span<const std::int32_t> bias,
                  std::int32_t read);
  std::int32_t finish_output(std::int32_t last);

  LowerOptions options_;
  ModelBuilder builder_;
  /// By layer and name of a constant: what the layer's steps have made of it.
  std::map<std::pair<const Layer*, std::string>, std::vector<std::int32_t>> constants_;
  /// By layer and name of a parameter: its constant.
  std::map<std::pair<const Layer*, std::string>, std::int32_t> parameters_;
  /// By what the steps of a fused LSTM read: the results of their operator.
  std::map<std::vector<std::int32_t>, std::vector<std::int32_t>> lstms_;
  /// By tensor of integers: its real values.
  std::map<std::int32_t, std::int32_t> reals_;
  std::optional<Rounding> rounding_;
  std::int64_t bound_ = 0;
};

}  // namespace octet
