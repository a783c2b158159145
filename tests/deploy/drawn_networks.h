#pragma once

#include <octet/runtime/operators/fully_connected.h>
#include <octet/tests/runtime/int16_models.h>

#include <cmath>
#include <utility>
#include <vector>

// Random networks of int8, in which units are constant or are read with weights of 0.

namespace octet::test {

/// An operator with weights behind another tensor.
struct SumsSpec {
  OpCode code = OpCode::fully_connected;
  /// DEPTHWISE_CONV_2D: of each channel.
  std::int32_t units = 4;
  std::int32_t kernel = 1;
  Padding padding = Padding::valid;
  std::int32_t groups = 1;
  std::int32_t stride = 1;
  std::int32_t dilation = 1;
  FusedActivation activation = FusedActivation::none;
  bool per_channel = false;
  bool bias = true;
  int bits = 8;
};

inline std::vector<std::int32_t> weights_shape(const SumsSpec& spec, const ModelTensor& x) {
  const std::int32_t channels = x.shape.back();
  if (spec.code == OpCode::fully_connected) {
    return {spec.units, static_cast<std::int32_t>(x.size()) / x.shape[0]};
  }
  if (spec.code == OpCode::conv_2d) {
    return {spec.units, spec.kernel, spec.kernel, channels / spec.groups};
  }
  return {1, spec.kernel, spec.kernel, channels * spec.units};
}

/// Adds the operator with random weights, and returns its output.
inline std::int32_t add_sums(RawModelBuilder& b, std::int32_t input, const SumsSpec& spec,
                             Draw& draw) {
  const ModelTensor x = b.model.tensors[static_cast<std::size_t>(input)];
  const std::vector<std::int32_t> shape = weights_shape(spec, x);
  const bool depthwise = spec.code == OpCode::depthwise_conv_2d;
  const std::int32_t units = depthwise ? shape[3] : shape[0];
  const std::string name = "y" + std::to_string(b.model.operators.size());
  QuantParams params{{}, {}, depthwise ? 3 : 0, -128, 127};
  for (std::int32_t i = 0; i < (spec.per_channel ? units : 1); ++i) {
    params.scales.push_back(draw.uniform(0.005F, 0.02F));
    params.zero_points.push_back(0);
  }
  const int half = 1 << (spec.bits - 1);
  std::vector<std::int8_t> weights(1);
  for (const std::int32_t extent : shape)
    weights.resize(weights.size() * static_cast<std::size_t>(extent));
  for (std::int8_t& w : weights) w = static_cast<std::int8_t>(draw.between(-half, half - 1));
  std::vector<std::int32_t> operands{input,
                                     b.constant(name + "/w", shape, DType::int8, weights, params)};
  if (spec.bias) {
    std::vector<std::int32_t> bias(static_cast<std::size_t>(units));
    for (std::int32_t& value : bias) value = draw.between(-3000, 3000);
    operands.push_back(
        b.constant(name + "/b", {units}, DType::int32, bias,
                   detail::bias_quantization(x, b.model.tensors.back(), DType::int32)));
  }
  const auto depth = static_cast<float>(weights.size()) / static_cast<float>(units);
  const float scale = std::max(x.quantization.scale() * params.scales[0] * std::sqrt(depth) *
                                   static_cast<float>(half) * draw.uniform(0.5F, 2.0F),
                               1e-3F);
  const bool clamps = spec.activation != FusedActivation::none;
  ModelTensor y{name,
                DType::int8,
                {x.shape[0], units},
                {},
                quant(scale, clamps ? -128 : draw.between(-50, 50)),
                {}};
  OperatorAttributes attributes = FullyConnectedAttributes{.activation = spec.activation};
  if (spec.code != OpCode::fully_connected) {
    const auto extent = [&](std::size_t axis) {
      return static_cast<std::int32_t>(
          slide_window(x.shape[axis], spec.kernel, spec.stride, spec.dilation, spec.padding)
              .output);
    };
    y.shape = {x.shape[0], extent(1), extent(2), units};
    attributes = Conv2DAttributes{.padding = spec.padding,
                                  .stride_h = spec.stride,
                                  .stride_w = spec.stride,
                                  .dilation_h = spec.dilation,
                                  .dilation_w = spec.dilation,
                                  .activation = spec.activation};
  }
  if (depthwise) {
    attributes = DepthwiseConv2DAttributes{.padding = spec.padding,
                                           .stride_h = spec.stride,
                                           .stride_w = spec.stride,
                                           .dilation_h = spec.dilation,
                                           .dilation_w = spec.dilation,
                                           .depth_multiplier = spec.units,
                                           .activation = spec.activation};
  }
  const std::int32_t output = b.add(std::move(y));
  b.op(spec.code, operands, output, attributes);
  return output;
}

/// The weights of operator `i` of a model as the numbers that they are.
inline std::int8_t* weights_of(IntegerModel& model, std::size_t i) {
  ModelTensor& weights = model.tensors[static_cast<std::size_t>(model.operators[i].inputs[1])];
  return reinterpret_cast<std::int8_t*>(weights.data.data());
}

/// Gives a unit of operator `i` a bias that no input outweighs, of either sign.
inline void set_bias(IntegerModel& model, std::size_t i, std::size_t unit, std::int32_t value) {
  ModelTensor& bias = model.tensors[static_cast<std::size_t>(model.operators[i].inputs[2])];
  std::memcpy(bias.data.data() + unit * sizeof value, &value, sizeof value);
}

/// Far more than the sums of small operators.
inline constexpr std::int32_t kHuge = 1 << 20;

/// Makes units of an operator constant, by their bias or weights of 0, and others unread behind it.
inline void make_idle(IntegerModel& model, std::size_t i, Draw& draw) {
  const Operator& op = model.operators[i];
  const ModelTensor weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
  const bool last = op.code == OpCode::depthwise_conv_2d;
  const auto units = static_cast<std::size_t>(last ? weights.shape[3] : weights.shape[0]);
  const std::size_t of_unit = weights.data.size() / units;
  const auto channels = static_cast<std::size_t>(weights.shape.back());
  std::int8_t* w = weights_of(model, i);
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::int32_t fate = draw.between(0, 6);
    for (std::size_t k = 0; fate == 0 && k < of_unit; ++k) {
      w[last ? k * units + unit : unit * of_unit + k] = 0;
    }
    if ((fate == 1 || fate == 2) && op.inputs.size() > 2) {
      set_bias(model, i, unit, fate == 1 ? kHuge : -kHuge);
    }
  }
  for (std::size_t c = 0; !last && c < channels; ++c) {
    if (draw.between(0, 5) > 0) continue;
    for (std::size_t k = c; k < weights.data.size(); k += channels) w[k] = 0;
  }
}

/// Adds the operator of `spec` with scales, a bias and bits that are drawn.
inline std::int32_t add_drawn_sums(RawModelBuilder& b, std::int32_t x, SumsSpec spec, Draw& draw) {
  spec.per_channel = draw.between(0, 1) == 0;
  spec.bias = draw.between(0, 3) > 0;
  spec.bits = draw.between(2, 8);
  return add_sums(b, x, spec, draw);
}

class NetworkDraw {
 public:
  explicit NetworkDraw(std::uint64_t seed) : draw_(seed) {}

  /// A network of int8; of operators that compute on int16 too, where `sums_alone`.
  IntegerModel run(bool sums_alone) {
    const QuantParams params = quant(0.03F, draw_.between(-128, 127));
    const std::vector<std::int32_t> shape{draw_.between(1, 2), draw_.between(1, 6),
                                          draw_.between(3, 6), 3};
    std::int32_t x = b_.activation("x1", shape, DType::int8, params);
    b_.model.inputs = {x};
    if (!sums_alone && draw_.between(0, 2) == 0) {
      b_.model.inputs.push_back(b_.activation("x2", shape, DType::int8, params));
      x = join(x, b_.model.inputs[1]);
    }
    const std::int32_t steps = draw_.between(2, 5);
    for (std::int32_t i = 0; i < steps; ++i) x = step(x, draw_.between(0, sums_alone ? 3 : 11));
    x = flat(x, sums_alone);
    x = sums(x, {.units = 7, .activation = FusedActivation::relu});
    b_.model.outputs.push_back(sums(x, {.units = 3}));
    for (std::size_t i = 0; i < b_.model.operators.size(); ++i) {
      if (definition(b_.model.operators[i].code).multiply_adds != nullptr) {
        make_idle(b_.model, i, draw_);
      }
    }
    return b_.model;
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return b_.model.tensors[static_cast<std::size_t>(i)];
  }

  std::int32_t sums(std::int32_t x, const SumsSpec& spec) {
    return add_drawn_sums(b_, x, spec, draw_);
  }

  std::int32_t conv(std::int32_t x, OpCode code = OpCode::conv_2d) {
    const bool depthwise = code == OpCode::depthwise_conv_2d;
    SumsSpec spec{.code = code,
                  .units = depthwise ? draw_.between(1, 2) : 2 * draw_.between(1, 5),
                  .kernel = draw_.between(1, 3),
                  .padding = Padding::same,
                  .activation = static_cast<FusedActivation>(draw_.between(0, 3))};
    const bool fits = std::min(tensor(x).shape[1], tensor(x).shape[2]) >= spec.kernel;
    if (fits && draw_.between(0, 1) == 0) spec.padding = Padding::valid;
    if (!depthwise && tensor(x).shape[3] % 2 == 0 && draw_.between(0, 4) == 0) spec.groups = 2;
    return sums(x, spec);
  }

  /// An output of another shape, type or quantization than the first input.
  std::int32_t with(OpCode code, std::vector<std::int32_t> inputs, ModelTensor y,
                    OperatorAttributes attributes) {
    y.name = "y" + std::to_string(b_.model.operators.size());
    y.data.clear();
    const std::int32_t output = b_.add(std::move(y));
    b_.op(code, std::move(inputs), output, std::move(attributes));
    return output;
  }
  std::int32_t with(OpCode code, std::vector<std::int32_t> inputs, ModelTensor y) {
    return with(code, std::move(inputs), std::move(y), default_attributes(code));
  }

  std::int32_t join(std::int32_t a, std::int32_t b) {
    ModelTensor y = tensor(a);
    y.shape[3] += tensor(b).shape[3];
    return with(OpCode::concatenation, {a, b}, y, ConcatenationAttributes{.axis = -1});
  }

  std::int32_t unary(std::int32_t x) {
    const OpCode codes[] = {OpCode::relu,     OpCode::relu6,    OpCode::leaky_relu,
                            OpCode::quantize, OpCode::logistic, OpCode::tanh};
    const OpCode code = codes[draw_.between(0, 5)];
    ModelTensor y = tensor(x);
    y.quantization = quant(draw_.uniform(0.02F, 0.5F), draw_.between(-128, 100));
    const OperatorDefinition& of = definition(code);
    if (of.fixed_grid != nullptr) y.quantization = of.fixed_grid();
    return with(code, {x}, y);
  }

  std::int32_t pool(std::int32_t x) {
    const bool mean = draw_.between(0, 1) == 0;
    ModelTensor y = tensor(x);
    y.shape[2] = (y.shape[2] + 1) / 2;
    return with(
        mean ? OpCode::average_pool_2d : OpCode::max_pool_2d, {x}, y,
        PoolAttributes{.padding = Padding::same, .stride_w = 2, .filter_h = 2, .filter_w = 3});
  }

  std::int32_t pad(std::int32_t x) {
    ModelTensor y = tensor(x);
    y.shape[1] += 1;
    y.shape[2] += 2;
    const std::vector<std::int32_t> paddings{0, 0, 1, 0, 1, 1, 0, 0};
    return with(OpCode::pad, {x, b_.constant("paddings", {4, 2}, DType::int32, paddings)}, y);
  }

  std::int32_t resize(std::int32_t x) {
    ModelTensor y = tensor(x);
    y.shape[1] *= 2;
    const std::vector<std::int32_t> size{y.shape[1], y.shape[2]};
    return with(OpCode::resize_nearest_neighbor, {x, b_.constant("size", {2}, DType::int32, size)},
                y);
  }

  /// Two branches of one convolution, or of the input itself, or a constant for each channel.
  std::int32_t pair(std::int32_t x, bool constant) {
    const OpCode codes[] = {OpCode::add, OpCode::sub, OpCode::mul, OpCode::prelu};
    const OpCode code = codes[draw_.between(0, constant ? 3 : 2)];
    ModelTensor y = tensor(x);
    std::int32_t other = x;
    if (constant) {
      other = b_.constant("factors", {y.shape[3]}, DType::int8,
                          random_codes(static_cast<std::size_t>(y.shape[3]), draw_),
                          quant(0.02F, draw_.between(-128, 127)));
    } else {
      other = sums(x, {.code = OpCode::conv_2d, .units = y.shape[3]});
    }
    const float scale = y.quantization.scale() + tensor(other).quantization.scale();
    y.quantization = quant(scale * draw_.uniform(0.3F, 2.0F), draw_.between(-128, 127));
    OperatorAttributes attributes = default_attributes(code);
    if (auto* binary = std::get_if<BinaryAttributes>(&attributes)) {
      binary->activation = static_cast<FusedActivation>(draw_.between(0, 1));
    }
    return with(code, {x, other}, y, attributes);
  }

  std::int32_t step(std::int32_t x, std::int32_t which) {
    switch (which) {
      case 0:
      case 1:
        return conv(x);
      case 2:
      case 3:
        return conv(x, OpCode::depthwise_conv_2d);
      case 4:
        return unary(x);
      case 5:
        return pool(x);
      case 6:
      case 7:
        return pair(x, which == 6);
      case 8: {
        const std::int32_t a = conv(x);
        return join(a,
                    with(OpCode::max_pool_2d, {a}, tensor(a),
                         PoolAttributes{.padding = Padding::same, .filter_h = 2, .filter_w = 2}));
      }
      case 9:
        return pad(x);
      case 10:
        return resize(x);
      default:
        b_.model.outputs.push_back(x);
        return conv(x);
    }
  }

  /// Rows of all pixels by RESHAPE, or of the mean of each channel, with a SQUEEZE or without.
  std::int32_t flat(std::int32_t x, bool sums_alone) {
    ModelTensor y = tensor(x);
    const std::int32_t batch = y.shape[0];
    const std::int32_t way = sums_alone ? 0 : draw_.between(0, 2);
    if (way == 0) {
      const std::vector<std::int32_t> target{-1, static_cast<std::int32_t>(y.size()) / batch};
      y.shape = {batch, target[1]};
      return with(OpCode::reshape, {x, b_.constant("shape", {2}, DType::int32, target)}, y,
                  ReshapeAttributes{.new_shape = target});
    }
    const std::vector<std::int32_t> axes{1, 2};
    const ModelTensor row{"", DType::int8, {batch, y.shape[3]}, {}, y.quantization, {}};
    y.shape = {batch, 1, 1, y.shape[3]};
    x = with(OpCode::mean, {x, b_.constant("axes", {2}, DType::int32, axes)}, way == 1 ? row : y,
             MeanAttributes{.keep_dims = way == 2});
    if (way == 1) return x;
    return with(OpCode::squeeze, {x}, row,
                SqueezeAttributes{batch == 1 ? axes : std::vector<std::int32_t>{}});
  }

  Draw draw_;
  RawModelBuilder b_;
};

}  // namespace octet::test
