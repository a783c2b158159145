#include "draw_model.h"

#include <octet/runtime/operators/definitions.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace octet::fuzz {
namespace {

constexpr std::array kTypes = {DType::int8, DType::uint8, DType::int16, DType::float32};

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
    const auto [lo, hi] = code_limits(dtype);
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

  /// Operands and options of a dense layer, and the shape that it puts out.
  std::vector<std::int32_t> complete_dense(Operator& op) {
    const ModelTensor input = tensor(op.inputs[0]);
    const std::int32_t depth = input.shape.empty() ? 1 : input.shape.back();
    const std::int32_t units = bytes_.between(1, 40);
    const bool floats = input.dtype == DType::float32;
    const bool filter = op.code == OpCode::conv_2d;
    const std::vector<std::int32_t> weights_shape =
        filter ? std::vector{units, 1, 1, depth} : std::vector{units, depth};
    op.inputs.push_back(add_constant(floats ? DType::float32 : DType::int8, weights_shape));
    QuantParams& weights = model_.tensors.back().quantization;
    if (!floats && bytes_.flag()) {
      weights.zero_points.assign(static_cast<std::size_t>(units), 0);
      weights.scales.resize(static_cast<std::size_t>(units), weights.scales[0]);
      weights.scales.back() = bytes_.scale();
    }
    if (bytes_.flag()) {
      op.inputs.push_back(add_constant(floats ? DType::float32 : DType::int32, {units}));
      model_.tensors.back().quantization = {};
    }
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
        op.inputs.push_back(another_of(op.inputs[0]));
        op.attributes = AddAttributes{.activation = draw_activation()};
        return {dtype, shape};
      case OpCode::concatenation:
        return {dtype, complete_concatenation(op)};
      case OpCode::conv_2d:
      case OpCode::fully_connected:
        return {dtype, complete_dense(op)};
      case OpCode::leaky_relu:
        op.attributes =
            LeakyReluAttributes{.alpha = bytes_.flag() ? -bytes_.scale() : bytes_.scale()};
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
      case OpCode::logistic:
      case OpCode::relu:
      case OpCode::relu6:
      case OpCode::relu_n1_to_1:
      case OpCode::tanh:
        return {dtype, shape};
    }
    return {dtype, shape};
  }

  std::int32_t add_operator(std::int32_t from) {
    Operator op;
    op.code = kOpCodes[static_cast<std::size_t>(bytes_.between(0, kOpCodes.size() - 1))];
    op.inputs = {from};
    op.attributes = default_attributes(op.code);
    auto [dtype, shape] = complete(op);
    const std::int32_t to = add(dtype, std::move(shape));
    fix_output_scale(op.code);
    if (definition(op.code).output_grid == OutputGrid::same_as_input) {
      model_.tensors.back().quantization = tensor(from).quantization;
    }
    op.outputs = {to};
    model_.operators.push_back(std::move(op));
    return to;
  }

  DrawBytes& bytes_;
  IntegerModel model_;
};

}  // namespace

IntegerModel draw_model(DrawBytes& bytes) { return ModelDrawer(bytes).draw(); }

}  // namespace octet::fuzz
