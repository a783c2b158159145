#include "draw_model.h"

#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace octet::fuzz {
namespace {

constexpr std::array kTypes = {DType::int8, DType::uint8, DType::int16, DType::float32};

/// Puts the values of a constant into a tensor of as many.
template <class Values>
void store(const Values& values, ModelTensor& to) {
  if (!to.data.empty()) std::memcpy(to.data.data(), values.data(), to.data.size());
}

class ModelDrawer {
 public:
  explicit ModelDrawer(DrawBytes& bytes) : bytes_(bytes) {}

  IntegerModel draw() {
    std::int32_t value = add(bytes_.flag() ? DType::int8 : DType::float32, draw_shape());
    model_.inputs = {value};
    for (int i = bytes_.between(1, 4); i > 0; --i) value = add_operator(value);
    model_.outputs = {value};
    return std::move(model_);
  }

 private:
  const ModelTensor& tensor(std::int32_t index) const {
    return model_.tensors[static_cast<std::size_t>(index)];
  }

  std::vector<std::int32_t> draw_shape() {
    std::vector<std::int32_t> shape;
    for (int i = bytes_.between(0, 4); i > 0; --i) shape.push_back(bytes_.between(1, 40));
    return shape;
  }

  QuantParams draw_quantization(DType dtype) {
    if (dtype == DType::float32) return {};
    const auto [lo, hi] = integer_limits(dtype);
    return QuantParams::per_tensor(bytes_.scale(), bytes_.between(0, 255) + lo, lo, hi);
  }

  std::int32_t add(DType dtype, std::vector<std::int32_t> shape) {
    ModelTensor made;
    made.name = std::to_string(model_.tensors.size());
    made.dtype = dtype;
    made.shape = std::move(shape);
    made.quantization = draw_quantization(dtype);
    model_.tensors.push_back(std::move(made));
    return static_cast<std::int32_t>(model_.tensors.size() - 1);
  }

  std::int32_t add_constant(DType dtype, std::vector<std::int32_t> shape) {
    const std::int32_t index = add(dtype, std::move(shape));
    ModelTensor& made = model_.tensors.back();
    made.data.resize(static_cast<std::size_t>(made.size()) * size_of(dtype));
    // A few bytes and their successors: a fuzzer's input is short.
    const auto start = bytes_.value<std::uint8_t>();
    const auto step = bytes_.value<std::uint8_t>();
    for (std::size_t i = 0; i < made.data.size(); ++i) {
      made.data[i] = static_cast<std::uint8_t>(start + i * step);
    }
    return index;
  }

  template <class Values>
  void push_integers(Operator& op, std::vector<std::int32_t> shape, const Values& values) {
    op.inputs.push_back(add_constant(DType::int32, std::move(shape)));
    ModelTensor& made = model_.tensors.back();
    made.quantization = {};
    store(values, made);
  }

  /// Half of them in 4 or 2 bits, which not every operator takes.
  void draw_stored_bits(ModelTensor& weights) {
    constexpr std::array kBits = {8, 8, 4, 2};
    weights.stored_bits = kBits[static_cast<std::size_t>(bytes_.between(0, 3))];
    if (weights.stored_bits == 8) return;
    const unsigned half = 1U << static_cast<unsigned>(weights.stored_bits - 1);
    for (std::uint8_t& code : weights.data) {
      code = static_cast<std::uint8_t>(((code & (2 * half - 1)) ^ half) - half);
    }
    std::ranges::fill(weights.quantization.zero_points, 0);
  }

  /// Weights of units along `axis`, and mostly a bias.
  void add_weights(Operator& op, const std::vector<std::int32_t>& shape, std::size_t axis) {
    const bool floats = tensor(op.inputs[0]).dtype == DType::float32;
    const std::int32_t units = shape[axis];
    op.inputs.push_back(add_constant(floats ? DType::float32 : DType::int8, shape));
    QuantParams& weights = model_.tensors.back().quantization;
    if (!floats && bytes_.flag()) {
      weights.zero_points.assign(static_cast<std::size_t>(units), 0);
      weights.scales.resize(static_cast<std::size_t>(units), weights.scales[0]);
      weights.scales.back() = bytes_.scale();
      weights.quantized_dimension = static_cast<int>(axis);
    }
    if (!floats) draw_stored_bits(model_.tensors.back());
    if (bytes_.flag()) {
      op.inputs.push_back(add_constant(floats ? DType::float32 : DType::int32, {units}));
      model_.tensors.back().quantization = {};
    }
  }

  /// Operands and options of a dense layer, and the shape that it puts out.
  std::vector<std::int32_t> complete_dense(Operator& op) {
    const ModelTensor input = tensor(op.inputs[0]);
    const std::int32_t depth = input.shape.empty() ? 1 : input.shape.back();
    const std::int32_t units = bytes_.between(1, 40);
    const bool filter = op.code == OpCode::conv_2d;
    add_weights(op, filter ? std::vector{units, 1, 1, depth} : std::vector{units, depth}, 0);
    const FusedActivation activation = draw_activation();
    const bool keeps_rank = filter || bytes_.flag();
    if (filter) {
      op.attributes = Conv2DAttributes{.activation = activation};
    } else {
      op.attributes = FullyConnectedAttributes{.activation = activation,
                                               .keep_num_dims = keeps_rank && !input.shape.empty()};
    }
    if (!keeps_rank || input.shape.empty()) {
      return {static_cast<std::int32_t>(input.size() / depth), units};
    }
    std::vector<std::int32_t> shape = input.shape;
    shape.back() = units;
    return shape;
  }

  FusedActivation draw_activation() { return static_cast<FusedActivation>(bytes_.between(0, 3)); }

  /// A value of the same type and shape, or the same one.
  std::int32_t another_of(std::int32_t value) {
    const auto drawn = bytes_.between(0, value);
    const ModelTensor& other = tensor(drawn);
    const bool fits = other.dtype == tensor(value).dtype && other.shape == tensor(value).shape;
    return fits ? drawn : value;
  }

  /// Mostly an image of another size.
  std::vector<std::int32_t> complete_resize(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    const std::array size = {bytes_.between(1, 9), bytes_.between(1, 9)};
    push_integers(op, {2}, size);
    op.attributes =
        ResizeAttributes{.align_corners = bytes_.flag(), .half_pixel_centers = bytes_.flag()};
    for (std::size_t i = 0; i < 2 && shape.size() == 4; ++i) shape[i + 1] = size[i];
    return shape;
  }

  /// Another value of the shape, or a constant whose extents are repeated.
  void complete_pair(Operator& op) {
    if (bytes_.flag()) {
      op.inputs.push_back(another_of(op.inputs[0]));
      return;
    }
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    if (!shape.empty() && bytes_.flag()) shape.erase(shape.begin());
    for (std::int32_t& extent : shape) {
      if (bytes_.flag()) extent = 1;
    }
    op.inputs.push_back(add_constant(tensor(op.inputs[0]).dtype, std::move(shape)));
  }

  /// Copies of the first operand, and the shape that they have together.
  std::vector<std::int32_t> complete_concatenation(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    const int count = bytes_.between(2, 4);
    op.inputs.assign(static_cast<std::size_t>(count), op.inputs[0]);
    const int axis = bytes_.between(0, 2);
    op.attributes = ConcatenationAttributes{.axis = axis};
    if (static_cast<std::size_t>(axis) < shape.size()) {
      shape[static_cast<std::size_t>(axis)] *= count;
    }
    return shape;
  }

  Padding draw_padding() { return bytes_.flag() ? Padding::same : Padding::valid; }

  /// The shape that a window puts out; that of the input where there is none, which is refused.
  std::vector<std::int32_t> slide(std::vector<std::int32_t> shape, Padding padding,
                                  std::array<std::int32_t, 2> kernel,
                                  std::array<std::int32_t, 2> stride,
                                  std::array<std::int32_t, 2> dilation = {1, 1}) {
    for (std::size_t i = 0; i < 2 && shape.size() == 4; ++i) {
      const bool fits = padding == Padding::same || (kernel[i] - 1) * dilation[i] < shape[i + 1];
      if (!fits) return shape;
      const WindowAxis axis =
          slide_window(shape[i + 1], kernel[i], stride[i], dilation[i], padding);
      shape[i + 1] = static_cast<std::int32_t>(axis.output);
    }
    return shape;
  }

  std::vector<std::int32_t> complete_pool(Operator& op) {
    const PoolAttributes a{.padding = draw_padding(),
                           .stride_h = bytes_.between(1, 4),
                           .stride_w = bytes_.between(1, 4),
                           .filter_h = bytes_.between(1, 5),
                           .filter_w = bytes_.between(1, 5),
                           .activation = draw_activation()};
    op.attributes = a;
    return slide(tensor(op.inputs[0]).shape, a.padding, {a.filter_h, a.filter_w},
                 {a.stride_h, a.stride_w});
  }

  std::vector<std::int32_t> complete_depthwise(Operator& op) {
    const ModelTensor input = tensor(op.inputs[0]);
    const std::int32_t channels = input.shape.empty() ? 1 : input.shape.back();
    const DepthwiseConv2DAttributes a{.padding = draw_padding(),
                                      .stride_h = bytes_.between(1, 3),
                                      .stride_w = bytes_.between(1, 3),
                                      .dilation_h = bytes_.between(1, 2),
                                      .dilation_w = bytes_.between(1, 3),
                                      .depth_multiplier = bytes_.between(1, 3),
                                      .activation = draw_activation()};
    op.attributes = a;
    const std::array kernel = {bytes_.between(1, 4), bytes_.between(1, 4)};
    const std::int32_t units = channels * a.depth_multiplier;
    add_weights(op, {1, kernel[0], kernel[1], units}, 3);
    std::vector<std::int32_t> shape = slide(input.shape, a.padding, kernel,
                                            {a.stride_h, a.stride_w}, {a.dilation_h, a.dilation_w});
    if (!shape.empty()) shape.back() = units;
    return shape;
  }

  std::vector<std::int32_t> complete_transpose_conv(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    const std::int32_t channels = shape.empty() ? 1 : shape.back();
    const TransposeConvAttributes a{.padding = draw_padding(),
                                    .stride_h = bytes_.between(1, 3),
                                    .stride_w = bytes_.between(1, 3),
                                    .activation = draw_activation()};
    op.attributes = a;
    const std::array kernel = {bytes_.between(1, 4), bytes_.between(1, 4)};
    const std::array stride = {a.stride_h, a.stride_w};
    const std::int32_t units = bytes_.between(1, 9);
    add_weights(op, {units, kernel[0], kernel[1], channels}, 0);
    for (std::size_t i = 0; i < 2 && shape.size() == 4; ++i) {
      const std::int32_t beyond = a.padding == Padding::valid ? kernel[i] - stride[i] : 0;
      shape[i + 1] = shape[i + 1] * stride[i] + std::max(beyond, 0);
    }
    if (!shape.empty()) shape.back() = units;
    op.inputs.resize(3, -1);
    push_integers(op, {static_cast<std::int32_t>(shape.size())}, shape);
    return shape;
  }

  std::vector<std::int32_t> complete_pad(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    const auto rank = static_cast<std::int32_t>(shape.size());
    std::vector<std::int32_t> paddings;
    for (std::int32_t& extent : shape) {
      paddings.push_back(bytes_.between(0, 3));
      paddings.push_back(bytes_.between(0, 3));
      extent += paddings[paddings.size() - 2] + paddings.back();
    }
    if (rank == 0) return shape;
    push_integers(op, {rank, 2}, paddings);
    return shape;
  }

  std::vector<std::int32_t> complete_padv2(Operator& op) {
    std::vector<std::int32_t> shape = complete_pad(op);
    op.inputs.resize(2, op.inputs[0]);
    op.inputs.push_back(add_constant(tensor(op.inputs[0]).dtype, {1}));
    model_.tensors.back().quantization = tensor(op.inputs[0]).quantization;
    return shape;
  }

  /// Mostly over the pixels.
  std::vector<std::int32_t> complete_mean(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    const std::array axes = {bytes_.flag() ? 1 : bytes_.between(-5, 5), 2};
    push_integers(op, {2}, axes);
    const bool keeps = bytes_.flag();
    op.attributes = MeanAttributes{.keep_dims = keeps};
    if (shape.size() != 4) return shape;
    if (keeps) return {shape[0], 1, 1, shape[3]};
    return {shape[0], shape[3]};
  }

  /// An axis, or all of extent 1.
  std::vector<std::int32_t> complete_squeeze(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    if (bytes_.flag()) {
      std::erase(shape, 1);
      return shape;
    }
    const std::int32_t axis = bytes_.between(0, 4);
    op.attributes = SqueezeAttributes{.squeeze_dims = {axis}};
    if (static_cast<std::size_t>(axis) < shape.size()) shape.erase(shape.begin() + axis);
    return shape;
  }

  /// Mostly a part of each axis, by places from the front.
  std::vector<std::int32_t> complete_strided_slice(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    std::array<std::vector<std::int32_t>, 3> numbers;
    for (std::int32_t& extent : shape) {
      const std::int32_t begin = bytes_.between(-1, 3);
      const std::int32_t step = bytes_.between(0, 3);
      numbers[0].push_back(begin);
      numbers[1].push_back(extent);
      numbers[2].push_back(step);
      if (begin >= 0 && begin < extent && step > 0) extent = (extent - begin - 1) / step + 1;
    }
    for (const std::vector<std::int32_t>& operand : numbers) {
      push_integers(op, {static_cast<std::int32_t>(operand.size())}, operand);
    }
    return shape;
  }

  /// Mostly with two axes exchanged.
  std::vector<std::int32_t> complete_transpose(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    std::vector<std::int32_t> axes;
    for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    const auto first = static_cast<std::size_t>(bytes_.between(0, 3));
    const auto second = static_cast<std::size_t>(bytes_.between(0, 3));
    if (first < axes.size() && second < axes.size()) {
      std::swap(axes[first], axes[second]);
      std::swap(shape[first], shape[second]);
    }
    push_integers(op, {static_cast<std::int32_t>(axes.size())}, axes);
    return shape;
  }

  /// The first operand and itself, one of both transposed, or with its first axis dropped.
  std::vector<std::int32_t> complete_batch_matmul(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    op.inputs.push_back(op.inputs[0]);
    const bool adj_x = bytes_.flag();
    op.attributes = BatchMatmulAttributes{.adj_x = adj_x, .adj_y = !adj_x};
    if (shape.size() < 2) return shape;
    const std::size_t last = shape.size() - 1;
    if (bytes_.flag()) {
      op.inputs[1] = add_constant(tensor(op.inputs[0]).dtype, {shape[last - 1], shape[last]});
    }
    (adj_x ? shape[last - 1] : shape[last]) = adj_x ? shape[last] : shape[last - 1];
    return shape;
  }

  /// Along an axis that may be outside; the shape without it.
  std::vector<std::int32_t> complete_arg_max(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    const std::array axis = {bytes_.between(-1, 3)};
    push_integers(op, {}, axis);
    const std::ptrdiff_t at = axis[0] < 0 ? std::ssize(shape) - 1 : axis[0];
    if (at >= 0 && at < std::ssize(shape)) shape.erase(shape.begin() + at);
    return shape;
  }

  /// Into 1 to 3 parts; the shape of each.
  std::vector<std::int32_t> complete_split(Operator& op) {
    std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    const std::array axis = {bytes_.between(-1, 3)};
    const std::int32_t parts = bytes_.between(1, 3);
    op.attributes = SplitAttributes{.num_splits = parts};
    push_integers(op, {}, axis);
    const auto at = static_cast<std::size_t>(axis[0]);
    if (at < shape.size() && shape[at] >= parts) shape[at] /= parts;
    return shape;
  }

  void fix_output_scale(OpCode code) {
    ModelTensor& out = model_.tensors.back();
    if (!out.is_quantized()) return;
    const OperatorDefinition& of = definition(code);
    if (of.output_grid == OutputGrid::fixed) out.quantization = of.fixed_grid();
  }

  /// Operands and attributes of an operator, and the type and shape that it puts out.
  std::pair<DType, std::vector<std::int32_t>> complete(Operator& op) {
    const DType dtype = tensor(op.inputs[0]).dtype;
    const std::vector<std::int32_t> shape = tensor(op.inputs[0]).shape;
    // Without a default: an operator that is not drawn does not compile.
    switch (op.code) {
      case OpCode::add:
      case OpCode::mul:
      case OpCode::sub:
        complete_pair(op);
        op.attributes = BinaryAttributes{.activation = draw_activation()};
        return {dtype, shape};
      case OpCode::maximum:
      case OpCode::minimum:
      case OpCode::prelu:
        complete_pair(op);
        return {dtype, shape};
      case OpCode::resize_bilinear:
      case OpCode::resize_nearest_neighbor:
        return {dtype, complete_resize(op)};
      case OpCode::arg_max:
        return {DType::int32, complete_arg_max(op)};
      case OpCode::average_pool_2d:
      case OpCode::max_pool_2d:
        return {dtype, complete_pool(op)};
      case OpCode::batch_matmul:
        return {dtype, complete_batch_matmul(op)};
      case OpCode::concatenation:
        return {dtype, complete_concatenation(op)};
      case OpCode::conv_2d:
      case OpCode::fully_connected:
        return {dtype, complete_dense(op)};
      case OpCode::depthwise_conv_2d:
        return {dtype, complete_depthwise(op)};
      case OpCode::transpose_conv:
        return {dtype, complete_transpose_conv(op)};
      case OpCode::pad:
        return {dtype, complete_pad(op)};
      case OpCode::padv2:
        return {dtype, complete_padv2(op)};
      case OpCode::mean:
        return {dtype, complete_mean(op)};
      case OpCode::transpose:
        return {dtype, complete_transpose(op)};
      case OpCode::strided_slice:
        return {dtype, complete_strided_slice(op)};
      case OpCode::split:
        return {dtype, complete_split(op)};
      case OpCode::squeeze:
        return {dtype, complete_squeeze(op)};
      case OpCode::leaky_relu:
        op.attributes =
            LeakyReluAttributes{.alpha = bytes_.flag() ? -bytes_.scale() : bytes_.scale()};
        return {dtype, shape};
      case OpCode::gelu:
        op.attributes = GeluAttributes{.approximate = bytes_.flag()};
        return {dtype, shape};
      case OpCode::softmax:
        op.attributes = SoftmaxAttributes{.beta = bytes_.scale()};
        return {dtype, shape};
      case OpCode::quantize:
        return {kTypes[static_cast<std::size_t>(bytes_.between(0, 2))], shape};
      case OpCode::dequantize:
        return {DType::float32, shape};
      case OpCode::reshape:
        return {dtype, {static_cast<std::int32_t>(tensor(op.inputs[0]).size())}};
      case OpCode::elu:
      case OpCode::exp:
      case OpCode::hard_swish:
      case OpCode::log:
      case OpCode::logistic:
      case OpCode::relu:
      case OpCode::relu6:
      case OpCode::relu_n1_to_1:
      case OpCode::rsqrt:
      case OpCode::sqrt:
      case OpCode::tanh:
      // Refused for their operands; files with them are seeds of target tflite.
      case OpCode::cast:
      case OpCode::detection_post_process:
      case OpCode::gather:
      case OpCode::svdf:
      case OpCode::unidirectional_sequence_lstm:
        return {dtype, shape};
    }
    return {dtype, shape};
  }

  std::int32_t add_operator(std::int32_t from) {
    Operator op;
    op.code = kOpCodes[static_cast<std::size_t>(bytes_.between(0, kOpCodes.size() - 1))];
    op.inputs = {from};
    op.attributes = default_attributes(op.code);
    const auto [dtype, shape] = complete(op);
    const auto* split = std::get_if<SplitAttributes>(&op.attributes);
    for (std::int32_t i = split == nullptr ? 1 : split->num_splits; i > 0; --i) {
      op.outputs.push_back(add(dtype, shape));
      fix_output_scale(op.code);
      const OutputGrid grid = definition(op.code).output_grid;
      if (grid == OutputGrid::same_as_input || grid == OutputGrid::same_as_inputs) {
        model_.tensors.back().quantization = tensor(from).quantization;
      }
    }
    const std::int32_t last = op.outputs.back();
    model_.operators.push_back(std::move(op));
    return last;
  }

  DrawBytes& bytes_;
  IntegerModel model_;
};

}  // namespace

IntegerModel draw_model(DrawBytes& bytes) { return ModelDrawer(bytes).draw(); }

}  // namespace octet::fuzz
