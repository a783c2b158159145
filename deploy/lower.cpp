#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/lut.h>
#include <octet/core/quant/softmax.h>
#include <octet/deploy/lower.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_output_wrapper.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/model_builder.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace octet {
namespace {

/// Walks the layers of a quantized model; `current_` is the tensor that the next layer reads.
class Lowering {
 public:
  Lowering(const Sequential& model, const LowerOptions& options)
      : model_(model), options_(options), builder_(model.name()) {}

  IntegerModel run() {
    for (const auto& layer : model_.layers()) lower_layer(*layer);
    finish_output();
    IntegerModel& result = builder_.model();
    result.description = "octet int8 model";
    result.metadata["octet.rounding"] = to_string(rounding_.value_or(Rounding::fp32));
    result.metadata["octet.accumulator_bound"] = std::to_string(bound_);
    if (options_.per_channel_dense == DenseForm::conv_2d) {
      result = per_channel_as_conv_2d(std::move(result));
    }
    result.validate();
    return std::move(result);
  }

 private:
  void lower_layer(const Layer& layer) {
    if (dynamic_cast<const InputLayer*>(&layer) != nullptr) {
      input_name_ = layer.name();
    } else if (const auto* quantize = dynamic_cast<const QuantizeLayer*>(&layer)) {
      lower_input(*quantize);
    } else if (const auto* dense = dynamic_cast<const QuantizeWrapper*>(&layer)) {
      lower_dense(*dense);
    } else if (const auto* other = dynamic_cast<const QuantizeOutputWrapper*>(&layer)) {
      lower_other(*other);
    } else {
      throw InvalidArgument(fmt::format(
          "lower: layer \"{}\" of type {} is not quantized; use quantize_model(), or mark the "
          "layer with quantize_annotate_layer()",
          layer.name(), layer.type()));
    }
  }

  void lower_input(const QuantizeLayer& layer) {
    const QuantParams params = int8_params(layer.quantizer(), layer);
    const Shape& shape = layer.output_shape();
    if (options_.input == IoType::int8) {
      current_ = builder_.activation(input_name_, DType::int8, shape, params);
      builder_.model().inputs = {current_};
      return;
    }
    const bool real = options_.input == IoType::float32;
    const std::int32_t input =
        real ? builder_.activation(input_name_, DType::float32, shape)
             : builder_.activation(input_name_, DType::uint8, shape, as_uint8(params));
    builder_.model().inputs = {input};
    current_ = builder_.activation(layer.name(), DType::int8, shape, params);
    builder_.op(OpCode::quantize, {input}, current_);
  }

  /// The grid of a layer's result, which has to be the one that int8 operators clamp to.
  static QuantParams int8_params(const Quantizer& quantizer, const Layer& layer) {
    QuantParams params = quantizer.params();
    require_int8(params, fmt::format("lower: layer \"{}\"", layer.name()));
    return params;
  }

  /// The grid of what `layer` reads.
  QuantParams input_params(const Layer& layer) const {
    if (current_ == -1) {
      throw InvalidArgument(fmt::format(
          "lower: layer \"{}\": expected a QuantizeLayer behind the input, found none in front of "
          "it; use quantize_model()",
          layer.name()));
    }
    return builder_.tensor(current_).quantization;
  }

  static QuantParams as_uint8(const QuantParams& params) {
    return QuantParams::per_tensor(params.scale(), params.zero_point() + 128, 0, 255);
  }

  void take_rounding(Rounding rounding, const Layer& layer) {
    if (rounding_.has_value() && *rounding_ != rounding) {
      throw InvalidArgument(
          fmt::format("lower: layer \"{}\" asks for rounding {}, the layers "
                      "before it for {}; a model has one contract",
                      layer.name(), to_string(rounding), to_string(*rounding_)));
    }
    rounding_ = rounding;
  }

  void lower_dense(const QuantizeWrapper& wrapper) {
    if (wrapper.kernel_quantizer() == nullptr || wrapper.activation_quantizer() == nullptr) {
      throw InvalidArgument(fmt::format(
          "lower: layer \"{}\" leaves its kernel or its result unquantized", wrapper.name()));
    }
    take_rounding(wrapper.config().options().rounding, wrapper);
    const Dense& dense = wrapper.wrapped();
    const Activation activation = dense.activation();
    const QuantParams input = input_params(wrapper);
    const std::string owner = fmt::format("lower: layer \"{}\"", wrapper.name());
    const DenseCodes codes =
        make_dense_codes(dense, wrapper.kernel_quantizer()->params(), input.scale(), owner);
    bound_ = std::max(bound_, accumulator_bound(codes, input, owner));
    const bool before = quantizes_before(activation);
    const std::int32_t output = builder_.activation(
        before ? dense.name() + "/linear" : dense.name(), DType::int8, dense.output_shape(),
        int8_params(*wrapper.activation_quantizer(), wrapper));
    add_fully_connected(dense, codes, input, output);
    if (before) add_activation(activation, dense.name(), dense.output_shape());
  }

  void add_fully_connected(const Dense& dense, const DenseCodes& codes, const QuantParams& input,
                           std::int32_t output) {
    const auto units = static_cast<std::int32_t>(dense.units());
    const auto inputs = static_cast<std::int32_t>(dense.input_shape()[0]);
    const std::int32_t weights = builder_.constant(
        dense.name() + "/kernel", DType::int8, {units, inputs},
        std::span<const std::int8_t>(codes.weights.unpack()), codes.weight_params);
    std::vector<std::int32_t> operands = {current_, weights};
    if (!codes.bias.empty()) {
      QuantParams bias = codes.weight_params;
      for (float& scale : bias.scales) scale *= input.scale();
      bias.qmin = std::numeric_limits<std::int32_t>::min();
      bias.qmax = std::numeric_limits<std::int32_t>::max();
      operands.push_back(builder_.constant(dense.name() + "/bias", DType::int32, {units},
                                           std::span<const std::int32_t>(codes.bias), bias));
    }
    builder_.op(OpCode::fully_connected, operands, output,
                FullyConnectedAttributes{.activation = fused_activation(dense.activation())});
    current_ = output;
  }

  void lower_other(const QuantizeOutputWrapper& wrapper) {
    const Layer& layer = wrapper.wrapped();
    const QuantParams input = input_params(wrapper);
    if (wrapper.output_quantizer() != nullptr && !is_clamp(layer)) {
      throw InvalidArgument(fmt::format(
          "lower: layer \"{}\" quantizes an output for which {} has no int8 operator; leave it to "
          "the default scheme",
          wrapper.name(), layer.type()));
    }
    if (dynamic_cast<const Reshape*>(&layer) != nullptr) {
      if (layer.input_shape() == layer.output_shape()) return;
      const std::int32_t output =
          builder_.activation(layer.name(), DType::int8, layer.output_shape(), input);
      builder_.reshape(layer.name(), current_, output, layer.output_shape());
      current_ = output;
    } else if (const auto* activation = dynamic_cast<const ActivationLayer*>(&layer)) {
      take_rounding(wrapper.config().options().rounding, wrapper);
      lower_activation(wrapper, activation->activation());
    } else if (dynamic_cast<const Dropout*>(&layer) == nullptr) {
      throw InvalidArgument(fmt::format("lower: layer \"{}\" of type {} has no int8 operator",
                                        layer.name(), layer.type()));
    }
  }

  /// Whether the layer is an operator of its own with a range of its own: RELU or RELU6.
  static bool is_clamp(const Layer& layer) {
    const auto* activation = dynamic_cast<const ActivationLayer*>(&layer);
    return activation != nullptr &&
           fused_activation(activation->activation()) != FusedActivation::none;
  }

  void lower_activation(const QuantizeOutputWrapper& wrapper, Activation activation) {
    if (activation == Activation::none) return;
    const Layer& layer = wrapper.wrapped();
    if (quantizes_before(activation)) {
      add_activation(activation, layer.name(), layer.output_shape());
      return;
    }
    require_exportable_clamp(wrapper);
    const bool keeps_grid = clamps_input_codes(layer, wrapper.config().options().rounding);
    if (!keeps_grid && wrapper.output_quantizer() == nullptr) {
      throw InvalidArgument(
          fmt::format("lower: layer \"{}\" leaves its result unquantized", wrapper.name()));
    }
    const QuantParams params =
        keeps_grid ? input_params(wrapper) : int8_params(*wrapper.output_quantizer(), wrapper);
    const std::int32_t output =
        builder_.activation(layer.name(), DType::int8, layer.output_shape(), params);
    builder_.op(activation == Activation::relu ? OpCode::relu : OpCode::relu6, {current_}, output);
    current_ = output;
  }

  /// SOFTMAX, LOGISTIC or TANH, whose output scales are fixed.
  void add_activation(Activation activation, const std::string& name, const Shape& shape) {
    const bool is_tanh = activation == Activation::tanh;
    const QuantParams params =
        is_tanh ? QuantParams::per_tensor(Int8Lut::kTanhScale, 0)
                : QuantParams::per_tensor(SoftmaxInt8::kOutputScale, SoftmaxInt8::kOutputZeroPoint);
    const std::int32_t output = builder_.activation(name, DType::int8, shape, params);
    const OpCode code = is_tanh                             ? OpCode::tanh
                        : activation == Activation::sigmoid ? OpCode::logistic
                                                            : OpCode::softmax;
    builder_.op(code, {current_}, output);
    current_ = output;
  }

  void finish_output() {
    if (current_ == -1) {
      throw InvalidArgument(
          fmt::format("lower: model \"{}\" is not quantized; use quantize_model()", model_.name()));
    }
    if (options_.output == IoType::int8) {
      builder_.model().outputs = {current_};
      return;
    }
    const ModelTensor last = builder_.tensor(current_);
    const Shape shape = model_.output_shape();
    const bool real = options_.output == IoType::float32;
    const std::int32_t output =
        real ? builder_.activation(last.name + "/real", DType::float32, shape)
             : builder_.activation(last.name + "/uint8", DType::uint8, shape,
                                   as_uint8(last.quantization));
    builder_.op(real ? OpCode::dequantize : OpCode::quantize, {current_}, output);
    builder_.model().outputs = {output};
  }

  const Sequential& model_;
  LowerOptions options_;
  ModelBuilder builder_;
  std::string input_name_;
  std::int32_t current_ = -1;
  std::optional<Rounding> rounding_;
  std::int64_t bound_ = 0;
};

}  // namespace

IntegerModel lower(const Sequential& model, const LowerOptions& options) {
  if (!model.built()) {
    throw InvalidArgument(fmt::format("lower: model \"{}\" is not built", model.name()));
  }
  return Lowering(model, options).run();
}

}  // namespace octet
