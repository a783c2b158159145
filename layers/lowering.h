#pragma once

#include <octet/core/ops/image_ops.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>
#include <octet/layers/layer.h>
#include <octet/layers/lower_options.h>
#include <octet/runtime/model_builder.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

struct OperatorDefinition;

/// Throws InvalidArgument, naming `owner`, unless the codes of `grid` are what operators clamp to:
/// all of int8, or, where a ReLU or ReLU6 clamps at the zero point (`clamps_at_zero`), the highest;
/// or all of int16 with the zero point 0.
void require_codes_of_operators(const QuantParams& grid, bool clamps_at_zero,
                                const std::string& owner);

/// Collects the operators that layers append in Layer::lower(), in floats or in codes.
///
///     std::int32_t ReLU::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
///       return lowering.op(*this, OpCode::relu, {inputs[0]});
///     }
///
/// In codes the results of quantized layers are int8, or int16 under contract q15, on a grid that
/// the operator's definition says: one that it always has, its input's, or the one that the layer's
/// quantizer measured. Layers that are left in float compute in reals, as softmax, sigmoid and tanh
/// do of codes of int16; a DEQUANTIZE makes these of the codes that they read.
class Lowering {
 public:
  enum class Numbers { reals, codes };

  Lowering(std::string model_name, Numbers numbers, const LowerOptions& options = {});

  bool in_codes() const { return numbers_ == Numbers::codes; }
  /// How errors begin that are about a layer: "lower: layer "conv"".
  static std::string owner_text(const std::string& layer);

  /// A model input of the layer's example_shape(), of float32; quantize_input() may change that.
  std::int32_t input(const Layer& layer);
  /// A model input of reals, and of codes, [batch, example_shape...].
  std::int32_t input_reals(const Shape& example_shape);
  std::int32_t input_codes(const Shape& example_shape, const QuantParams& grid);
  /// Throws InvalidArgument for a quantized layer where the model is lowered in floats.
  void require_codes(const Layer& layer) const;
  /// Puts what a QuantizeLayer reads on a grid: a model input by its element type, unless
  /// options.input asks for an operator, any other tensor by a QUANTIZE.
  std::int32_t quantize_input(const Layer& layer, std::int32_t input, const QuantParams& grid);

  /// Appends an operator of `layer` that reads `inputs`; its result is [batch,
  /// layer.output_shape()...], int8 or float32 as the layer is lowered. The tensor has the layer's
  /// name with `suffix` behind. Throws InvalidArgument, naming the layer, where a grid is missing
  /// or has other codes than int8, and for another number of inputs than the operator takes.
  std::int32_t op(const Layer& layer, OpCode code, std::vector<std::int32_t> inputs,
                  std::optional<OperatorAttributes> attributes = std::nullopt,
                  std::string_view suffix = "");
  /// The same for a result [batch, shape...], of an operator that others of the layer follow.
  std::int32_t op_of_shape(const Layer& layer, OpCode code, std::vector<std::int32_t> inputs,
                           std::optional<OperatorAttributes> attributes, const Shape& shape,
                           std::string_view suffix);
  /// FULLY_CONNECTED, CONV_2D, DEPTHWISE_CONV_2D or TRANSPOSE_CONV of the kernel and the bias of
  /// layer.weights(), a convolution of other examples than images between two RESHAPEs. Throws
  /// InvalidArgument, naming the layer, for weights of another layout than these have.
  std::int32_t linear(const Layer& layer, std::int32_t input, FusedActivation activation,
                      std::string_view suffix = "");
  /// linear() and layer.activation(), which is part of it or an operator behind it.
  std::int32_t linear_and_activation(const Layer& layer, std::int32_t input);
  /// RESHAPE to [batch, layer.output_shape()...].
  std::int32_t reshape(const Layer& layer, std::int32_t input);
  /// PAD of images by rows and columns of zeros.
  std::int32_t pad(const Layer& layer, std::int32_t input, const Padding2D& padding);
  /// RESIZE_NEAREST_NEIGHBOR of images to the layer's output shape, a multiple of theirs: each
  /// pixel is repeated.
  std::int32_t repeat_pixels(const Layer& layer, std::int32_t input);

  /// How a quantized layer quantizes what it wraps.
  struct Scheme {
    /// The quantized layer, for errors.
    std::string owner;
    Rounding rounding = Rounding::fp32;
    /// The grids of the kernel and of the result; none where they are left alone.
    std::optional<QuantParams> kernel{};
    std::optional<QuantParams> result{};
    /// Whether the layer computes in reals, of which `result` then makes codes.
    bool in_reals = false;
    /// Whether `result` is that of the layer before the softmax, sigmoid or tanh that ends it.
    bool before_function = false;
    /// Whether the layer ends with a ReLU or ReLU6, so that no code of `result` is below its zero
    /// point.
    bool clamps_at_zero = false;
    /// In reals: the kernel to compute with; undefined for the layer's own.
    Tensor real_kernel{};
  };
  /// For quantized layers: `rounding` is that of the model. Throws InvalidArgument that names
  /// `owner`, the layer, where the layers before asked for another contract.
  void require_rounding(const std::string& owner, Rounding rounding);
  /// For quantized layers: how the operators that follow, up to the next layer, are quantized.
  /// Throws as require_rounding().
  void quantize(Scheme scheme);
  /// The codes of a tensor on `grid`: its own, or those that DEQUANTIZE and QUANTIZE make, as
  /// training does where a runtime could not take the grid that all inputs of a layer share.
  std::int32_t on_grid(std::int32_t tensor, const QuantParams& grid);
  /// The codes of a layer's result: the result itself, or those that a QUANTIZE makes of reals
  /// where the scheme has a grid for them.
  std::int32_t quantize_result(std::int32_t result);

  // Used by lower() as it walks the model.

  /// Ends what quantize() began. Throws InvalidArgument where a grid for the result went unused.
  void end_layer();
  /// Makes tensors the model's outputs, as options.output asks.
  void finish(const std::vector<std::int32_t>& outputs);
  const ModelTensor& tensor(std::int32_t index) const { return builder_.tensor(index); }
  bool is_real(std::int32_t index) const { return tensor(index).dtype == DType::float32; }
  IntegerModel& model() { return builder_.model(); }
  std::optional<Rounding> rounding() const { return rounding_; }
  /// The largest value that a sum of any layer can reach for any input.
  std::int64_t accumulator_bound() const { return bound_; }

 private:
  static void require_operands(const Layer& layer, OpCode code, std::size_t count);
  /// Whether the operators that follow compute on codes.
  bool computes_in_codes() const { return scheme_ && !scheme_->in_reals; }
  std::int32_t reals_of(std::int32_t tensor);
  std::int32_t operand_of(OpCode code, std::int32_t input);
  bool is_wide(std::int32_t tensor) const { return this->tensor(tensor).dtype == DType::int16; }
  bool leaves_codes(OpCode code, std::int32_t input) const;
  void require_quantized(std::int32_t input) const;
  QuantParams measured_grid(const Layer& layer);
  QuantParams fitting_grid(const OperatorDefinition& about, const std::vector<std::int32_t>& inputs,
                           QuantParams measured) const;
  QuantParams grid_of(const Layer& layer, OpCode code, const std::vector<std::int32_t>& inputs);
  std::int32_t result(const Layer& layer, OpCode code, const std::vector<std::int32_t>& inputs,
                      const Shape& shape, std::string_view suffix);
  std::int32_t op_with_numbers(const Layer& layer, OpCode code, std::int32_t input,
                               std::string_view suffix, std::vector<std::int32_t> shape,
                               std::span<const std::int32_t> numbers,
                               const OperatorAttributes& attributes);
  std::int32_t op_on_grid(const Layer& layer, OpCode code, std::int32_t input,
                          const QuantParams& grid);
  std::int32_t reshape_to(const Layer& layer, std::int32_t input, const Shape& shape,
                          std::string_view suffix);
  std::vector<std::int32_t> real_weights(const Layer& layer, const LayerWeights& weights);
  std::vector<std::int32_t> integer_weights(const Layer& layer, const LayerWeights& weights,
                                            std::int32_t input);
  void widen_int16_result(std::size_t unit_axis);
  std::int32_t integer_bias(const Layer& layer, std::vector<std::int32_t> codes, QuantParams grid,
                            bool wide);
  std::int32_t finish_output(std::int32_t codes);

  Numbers numbers_;
  LowerOptions options_;
  ModelBuilder builder_;
  std::optional<Scheme> scheme_;
  /// Whether the scheme's result has become the grid of a tensor.
  bool result_used_ = false;
  /// By tensor of codes: that of its reals.
  std::map<std::int32_t, std::int32_t> reals_;
  std::optional<Rounding> rounding_;
  std::int64_t bound_ = 0;
};

}  // namespace octet
