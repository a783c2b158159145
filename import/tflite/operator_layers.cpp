#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/import/tflite/operator_layers.h>
#include <octet/import/zero_layers.h>
#include <octet/layers/layers.h>
#include <octet/runtime/operators/resize_bilinear.h>
#include <octet/runtime/operators/split.h>
#include <octet/runtime/operators/strided_slice.h>
#include <octet/runtime/operators/transpose.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw FormatError(fmt::format(text, std::forward<Arguments>(arguments)...));
}

Shape shape_of(const ModelTensor& tensor) {
  return Shape(std::vector<Index>(tensor.shape.begin(), tensor.shape.end()));
}

Tensor floats_of(const ModelTensor& tensor) {
  if (!tensor.is_constant() || tensor.dtype != DType::float32) {
    refuse("its weights are no float32 constants");
  }
  return Tensor::from(shape_of(tensor), values_of<float>(tensor));
}

class Converter {
 public:
  Converter(const IntegerModel& model, const Operator& op, std::size_t result)
      : model_(model), op_(op), number_(result) {}

  OperatorLayers convert() {
    result_.code = op_.code;
    result_.result = op_.outputs.at(number_);
    result_.inputs = {op_.inputs.at(0)};
    switch (op_.code) {
      case OpCode::conv_2d:
        conv();
        break;
      case OpCode::depthwise_conv_2d:
        depthwise();
        break;
      case OpCode::transpose_conv:
        transposed();
        break;
      case OpCode::fully_connected:
        dense();
        break;
      case OpCode::prelu:
        prelu();
        break;
      case OpCode::arg_max:
        refuse("{}", std::ranges::count(model_.outputs, op_.outputs.at(0)) > 0
                         ? "nothing trains through it; the largest output is the same"
                         : "no layer computes it");
      case OpCode::detection_post_process:
        refuse("nothing trains through it; end the model in front of it");
      case OpCode::cast:
        if (output().dtype != DType::int32) refuse("it makes no indices of floats");
        break;
      case OpCode::gather:
        gather();
        break;
      case OpCode::add:
      case OpCode::mul:
      case OpCode::sub:
        binary();
        break;
      case OpCode::maximum:
        extreme(Maximum(), 1.0F);
        break;
      case OpCode::minimum:
        extreme(Minimum(), -1.0F);
        break;
      case OpCode::average_pool_2d:
        add(AveragePool2D(pool()), op_.activation());
        break;
      case OpCode::max_pool_2d:
        add(MaxPool2D(pool()), op_.activation());
        break;
      case OpCode::mean:
        mean();
        break;
      case OpCode::concatenation:
        concatenation();
        break;
      case OpCode::pad:
      case OpCode::padv2:
        pad();
        break;
      case OpCode::reshape:
      case OpCode::squeeze:
        reshape();
        break;
      case OpCode::resize_bilinear:
        interpolate();
        break;
      case OpCode::resize_nearest_neighbor:
        resize();
        break;
      case OpCode::split:
        split();
        break;
      case OpCode::strided_slice:
        slice();
        break;
      case OpCode::transpose:
        transpose();
        break;
      default:
        result_.layers.push_back(function_layer(op_));
    }
    for (const std::int32_t input : result_.inputs) {
      if (tensor(input).is_constant()) refuse("it reads a constant");
    }
    return std::move(result_);
  }

 private:
  const ModelTensor& tensor(std::int32_t index) const {
    return model_.tensors.at(static_cast<std::size_t>(index));
  }
  const ModelTensor& input(std::size_t i) const { return tensor(op_.inputs.at(i)); }
  const ModelTensor& output() const { return tensor(op_.outputs[0]); }
  bool has_input(std::size_t i) const { return op_.inputs.size() > i && op_.inputs[i] >= 0; }
  Shape example(const ModelTensor& of) const { return shape_of(of).without_batch(); }

  template <class L>
  void add(L layer) {
    result_.layers.push_back(std::make_unique<L>(std::move(layer)));
  }
  template <class L>
  void add(L layer, FusedActivation activation) {
    add(std::move(layer));
    add(activation);
  }
  void add(FusedActivation activation) {
    const Activation function = activation_of(activation);
    if (function == Activation::relu) add(ReLU());
    if (function == Activation::relu6) add(ReLU6());
  }

  static Activation activation_of(FusedActivation fused) {
    if (fused == FusedActivation::none) return Activation::none;
    if (fused == FusedActivation::relu) return Activation::relu;
    if (fused == FusedActivation::relu6) return Activation::relu6;
    refuse("its fused activation is neither RELU nor RELU6");
  }

  void require_rank(const ModelTensor& of, std::size_t rank) const {
    if (of.shape.size() != rank) refuse("it has operands of {} axes", of.shape.size());
  }

  /// The kernel, as the layer has it, and the bias in operand 2.
  bool keep_weights(Tensor kernel) {
    result_.weighted = result_.layers.size();
    result_.weights = {{"kernel", std::move(kernel)}};
    if (has_input(2)) result_.weights.push_back({"bias", floats_of(input(2))});
    return has_input(2);
  }

  void conv() {
    const auto& a = op_.as<Conv2DAttributes>();
    const Tensor kernel = floats_of(input(1));
    require_rank(input(0), 4);
    require_rank(input(1), 4);
    if (kernel.size() == 0 || input(0).shape[3] % kernel.dim(3) != 0) refuse("of no whole groups");
    const bool bias = keep_weights(permute(kernel, {1, 2, 3, 0}));
    add(Conv2D(kernel.dim(0), {kernel.dim(1), kernel.dim(2)}, activation_of(a.activation),
               {.strides = {a.stride_h, a.stride_w},
                .dilation = {a.dilation_h, a.dilation_w},
                .padding = a.padding,
                .groups = input(0).shape[3] / kernel.dim(3),
                .use_bias = bias}));
  }

  void depthwise() {
    const auto& a = op_.as<DepthwiseConv2DAttributes>();
    const Tensor kernel = floats_of(input(1));
    require_rank(input(0), 4);
    require_rank(input(1), 4);
    const Index channels = input(0).shape[3];
    if (kernel.size() == 0 || channels == 0 || kernel.dim(3) % channels != 0) {
      refuse("of no whole multiplier");
    }
    const Index multiplier = kernel.dim(3) / channels;
    const bool bias =
        keep_weights(kernel.reshape({kernel.dim(1), kernel.dim(2), channels, multiplier}));
    add(DepthwiseConv2D({kernel.dim(1), kernel.dim(2)}, activation_of(a.activation),
                        {.strides = {a.stride_h, a.stride_w},
                         .dilation = {a.dilation_h, a.dilation_w},
                         .padding = a.padding,
                         .depth_multiplier = multiplier,
                         .use_bias = bias}));
  }

  void transposed() {
    const auto& a = op_.as<TransposeConvAttributes>();
    const Tensor kernel = floats_of(input(1));
    require_rank(input(1), 4);
    const bool bias = keep_weights(permute(kernel, {1, 2, 0, 3}));
    add(TransposedConv2D(
        kernel.dim(0), {kernel.dim(1), kernel.dim(2)}, activation_of(a.activation),
        {.strides = {a.stride_h, a.stride_w}, .padding = a.padding, .use_bias = bias}));
  }

  void dense() {
    const Tensor kernel = floats_of(input(1));
    require_rank(input(1), 2);
    const Index inputs = kernel.dim(1);
    const auto& a = op_.as<FullyConnectedAttributes>();
    const Shape read = example(input(0));
    if (!a.keep_num_dims && read.size() != inputs) {
      refuse("its input {} is not one vector of {} an example", read.to_string(), inputs);
    }
    if (read.rank() != 1 && !a.keep_num_dims) add(Flatten());
    const Tensor lying = permute(kernel.reshape({1, 1, kernel.dim(0), inputs}), {0, 1, 3, 2});
    const bool bias = keep_weights(lying.reshape({inputs, kernel.dim(0)}));
    add(Dense(kernel.dim(0), activation_of(a.activation), {.use_bias = bias}));
  }

  void prelu() {
    const Tensor alpha = floats_of(input(1));
    const Shape read = example(input(0));
    if (read.rank() == 0 || alpha.size() != read.dim(-1) || alpha.dim(-1) != alpha.size()) {
      refuse("its slopes {} are not one for each channel of {}", alpha.shape().to_string(),
             read.to_string());
    }
    result_.weighted = result_.layers.size();
    result_.weights = {{"alpha", alpha.reshape({alpha.size()})}};
    add(PReLU());
  }

  void binary() {
    const FusedActivation fused = op_.activation();
    const bool second = input(1).is_constant();
    if (second || input(0).is_constant()) {
      per_channel(second ? 0 : 1, fused);
    } else if (op_.code == OpCode::add) {
      merge(Add(activation_of(fused)));
    } else if (op_.code == OpCode::mul) {
      merge(Multiply(activation_of(fused)));
    } else {
      merge(Subtract(activation_of(fused)));
    }
  }

  template <class L>
  void merge(L layer) {
    result_.inputs = op_.inputs;
    add(std::move(layer));
  }

  /// x + c, x - c, c - x and x c of one constant, or one per channel.
  void per_channel(std::size_t computed, FusedActivation fused) {
    const Tensor c = channels_of_constant(computed);
    const Tensor ones = Tensor::ones(c.shape());
    if (op_.code == OpCode::mul) {
      affine(c, Tensor::zeros(c.shape()));
    } else if (op_.code == OpCode::add) {
      affine(ones, c);
    } else if (computed == 0) {
      affine(ones, c * -1.0F);
    } else {
      affine(ones * -1.0F, c);
    }
    add(fused);
  }

  /// Operand 1 - `computed` as one value per channel of the other, which the layers then read.
  Tensor channels_of_constant(std::size_t computed) {
    const ModelTensor& x = input(computed);
    const Tensor constant = floats_of(input(1 - computed));
    const Index channels = example(x).rank() == 0 ? 0 : x.shape.back();
    const bool one = constant.size() == 1;
    if (channels == 0 || !(one || (constant.size() == channels && constant.dim(-1) == channels))) {
      refuse("of a constant of shape {}, which is not one value per channel of {}",
             constant.shape().to_string(), shape_of(x).to_string());
    }
    result_.inputs = {op_.inputs.at(computed)};
    if (one) return Tensor::full({channels}, constant.item());
    return constant.reshape({channels}).clone();
  }

  /// x gamma + beta, with one value per channel.
  void affine(Tensor gamma, Tensor beta) {
    LayerWithTensors made = channel_affine(std::move(gamma), std::move(beta));
    result_.weights = std::move(made.tensors);
    result_.layers.push_back(std::move(made.layer));
  }

  /// `layer` of two results; with a constant c max(x, c) = relu(x - c) + c for `sign` 1, and
  /// min(x, c) = c - relu(c - x) for -1.
  template <class L>
  void extreme(L layer, float sign) {
    const bool second = input(1).is_constant();
    if (!second && !input(0).is_constant()) return merge(std::move(layer));
    const Tensor c = channels_of_constant(second ? 0 : 1);
    const Tensor signs = Tensor::full(c.shape(), sign);
    affine(signs, c * -sign);
    add(ReLU());
    result_.last = channel_affine(signs, c);
  }

  Pool2DOptions pool() const {
    const auto& a = op_.as<PoolAttributes>();
    return {
        .size = {a.filter_h, a.filter_w}, .stride = {a.stride_h, a.stride_w}, .padding = a.padding};
  }

  void mean() {
    std::vector<std::int32_t> axes = values_of<std::int32_t>(input(1));
    for (std::int32_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::ranges::sort(axes);
    if (input(0).shape.size() != 4 || axes != std::vector<std::int32_t>{1, 2}) {
      refuse("it is not over height and width of images");
    }
    add(GlobalAveragePool2D());
    if (op_.as<MeanAttributes>().keep_dims) add(Reshape(example(output())));
  }

  void concatenation() {
    const auto& a = op_.as<ConcatenationAttributes>();
    const auto rank = static_cast<std::int32_t>(output().shape.size());
    const std::int32_t axis = a.axis < 0 ? a.axis + rank : a.axis;
    if (axis < 1 || axis >= rank) refuse("it is along axis {}", a.axis);
    result_.inputs = op_.inputs;
    add(Concatenate(axis - rank), a.activation);
  }

  void pad() {
    if (op_.code == OpCode::padv2) {
      const Tensor value = floats_of(input(2));
      if (value.item() != 0.0F) refuse("it pads by other numbers than 0");
    }
    const std::vector<std::int32_t> p = values_of<std::int32_t>(input(1));
    const Shape from = example(input(0));
    if (p.size() != 2 * static_cast<std::size_t>(from.rank() + 1) || p[0] != 0 || p[1] != 0) {
      refuse("it pads the batch");
    }
    if (std::ranges::any_of(p, [](std::int32_t n) { return n < 0; })) refuse("pads are below 0");
    const bool around = from.rank() == 3 && (p[2] != 0 || p[3] != 0) && (p[4] != 0 || p[5] != 0);
    if (around) add(ZeroPadding2D({.top = p[2], .bottom = p[3], .left = p[4], .right = p[5]}));
    Shape shape =
        around ? from.with_dim(0, output().shape[1]).with_dim(1, output().shape[2]) : from;
    for (Index axis = around ? 2 : 0; axis < from.rank(); ++axis) {
      const std::int32_t* pads = p.data() + 2 * (axis + 1);
      if (pads[0] == 0 && pads[1] == 0) continue;
      for (auto& layer : zero_layers(shape, axis, pads[0], pads[1])) {
        result_.layers.push_back(std::move(layer));
      }
      shape = shape.with_dim(axis, shape[axis] + pads[0] + pads[1]);
    }
    // Without zeros, a Reshape to the same shape passes its input on.
    if (result_.layers.empty()) add(Reshape(from));
  }

  void reshape() {
    if (output().shape.empty() || input(0).shape.empty() ||
        output().shape[0] != input(0).shape[0]) {
      refuse("it changes the number of examples");
    }
    const Shape target = example(output());
    if (target.rank() == 1) {
      add(Flatten());
    } else {
      add(Reshape(target));
    }
  }

  void interpolate() {
    add(Resizing({output().shape[1], output().shape[2]},
                 resize_coordinates(op_.as<ResizeAttributes>())));
  }

  void resize() {
    if (op_.as<ResizeAttributes>().align_corners) refuse("with aligned corners");
    const auto& from = input(0).shape;
    const auto& to = output().shape;
    if (from.size() != 4 || to.size() != 4 || from[1] < 1 || from[2] < 1 || to[1] % from[1] != 0 ||
        to[2] % from[2] != 0) {
      refuse("not by whole factors");
    }
    add(UpSampling2D({to[1] / from[1], to[2] / from[2]}));
  }

  void gather() {
    const Tensor table = floats_of(input(1));
    if (table.rank() != 2) {
      refuse("its table has the shape {}, expected rows of features", table.shape().to_string());
    }
    result_.weights = {{"embeddings", table}};
    add(Embedding(table.dim(0), table.dim(1)));
  }

  void split() {
    const Operands operands(model_, op_);
    const std::size_t axis = constant_axis(operands);
    if (axis == 0) refuse("it is along the batch");
    const Index size = output().shape[axis];
    add(Slice({.axis = static_cast<Index>(axis) - 1,
               .begin = static_cast<Index>(number_) * size,
               .size = size}));
  }

  void slice() {
    const std::vector<SliceAxis> axes = slice_axes(Operands(model_, op_));
    bool drops = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto& [begin, end, step, is_dropped] = axes[i];
      const Index size = axes[i].extent();
      const bool cuts = size != input(0).shape[i];
      if (i == 0 && (cuts || is_dropped)) refuse("it cuts the batch");
      if (step < 0) refuse("it takes elements of axis {} backwards", i);
      if (cuts) {
        add(Slice({.axis = static_cast<Index>(i) - 1, .begin = begin, .size = size, .step = step}));
      }
      drops = drops || is_dropped;
    }
    // Without a cut, a Reshape to the same shape passes its input on.
    if (drops || result_.layers.empty()) add(Reshape(example(output())));
  }

  void transpose() {
    const std::vector<std::size_t> order = permutation_of(Operands(model_, op_));
    if (order[0] != 0) refuse("it moves the batch");
    add(Permute(std::vector<Index>(order.begin() + 1, order.end())));
  }

  const IntegerModel& model_;
  const Operator& op_;
  std::size_t number_;
  OperatorLayers result_;
};

}  // namespace

OperatorLayers layers_of(const IntegerModel& model, const Operator& op, std::size_t result) {
  return Converter(model, op, result).convert();
}

}  // namespace octet::detail
