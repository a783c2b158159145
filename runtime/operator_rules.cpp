#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/runtime/operator_rules.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace octet::detail {
namespace {

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

bool per_tensor(const ModelTensor& tensor) { return tensor.quantization.scales.size() == 1; }

bool close(double value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance * expected;
}

/// One operator and its operands, and the rules that they have to keep.
class Rules {
 public:
  Rules(const IntegerModel& model, std::size_t index)
      : model_(model), op_(model.operators[index]), index_(index) {}

  void check() const {
    check_operand_counts();
    switch (op_.code) {
      case OpCode::quantize:
        return check_quantize();
      case OpCode::dequantize:
        return check_dequantize();
      case OpCode::conv_2d:
        check_conv_2d();
        return check_dense();
      case OpCode::fully_connected:
        check_fully_connected();
        return check_dense();
      case OpCode::reshape:
        return check_reshape();
      case OpCode::softmax:
        check_elementwise();
        if (!(std::isfinite(op_.beta) && op_.beta > 0)) {
          fail(fmt::format("beta {} is not finite and positive", op_.beta));
        }
        return check_fixed_output(1.0 / 256, -128);
      case OpCode::logistic:
        check_elementwise();
        return check_fixed_output(1.0 / 256, -128);
      case OpCode::tanh:
        check_elementwise();
        return check_fixed_output(1.0 / 128, 0);
      case OpCode::relu:
      case OpCode::relu6:
      case OpCode::relu_n1_to_1:
        return check_elementwise();
    }
    fail(fmt::format("unknown operator code {}", static_cast<int>(op_.code)));
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw FormatError(fmt::format("operator {} ({}): {}", index_, to_string(op_.code), problem));
  }

  [[noreturn]] void fail_types() const {
    std::string types;
    for (const std::int32_t i : op_.inputs) {
      types += fmt::format("{}{}", types.empty() ? "" : ", ",
                           i == -1 ? "none" : to_string(tensor(i).dtype));
    }
    fail(fmt::format("types ({}) -> {} are not supported", types, to_string(output().dtype)));
  }

  const ModelTensor& tensor(std::int32_t index) const {
    return model_.tensors[static_cast<std::size_t>(index)];
  }
  const ModelTensor& input(std::size_t i = 0) const { return tensor(op_.inputs[i]); }
  const ModelTensor& output() const { return tensor(op_.outputs[0]); }
  bool has_input(std::size_t i) const { return i < op_.inputs.size() && op_.inputs[i] != -1; }

  void check_operand_counts() const {
    std::size_t least = 1;
    std::size_t most = 1;
    if (op_.code == OpCode::fully_connected || op_.code == OpCode::conv_2d) {
      least = 2;
      most = 3;
    } else if (op_.code == OpCode::reshape) {
      most = 2;
    }
    if (op_.inputs.size() < least || op_.inputs.size() > most || op_.outputs.size() != 1) {
      fail(fmt::format("expected {} to {} inputs and 1 output, found {} and {}", least, most,
                       op_.inputs.size(), op_.outputs.size()));
    }
    for (std::size_t i = 0; i < least; ++i) {
      if (op_.inputs[i] == -1) fail(fmt::format("input {} is absent", i));
    }
  }

  void require_same_shape() const {
    if (input().shape != output().shape) {
      fail(fmt::format("input shape [{}] and output shape [{}] differ",
                       fmt::join(input().shape, ", "), fmt::join(output().shape, ", ")));
    }
  }

  void require_per_tensor(const ModelTensor& t, std::string_view role) const {
    if (!per_tensor(t)) {
      fail(fmt::format("expected one scale for its {} '{}', found {}", role, t.name,
                       t.quantization.scales.size()));
    }
  }

  void require_quantized(const ModelTensor& t, std::string_view role) const {
    if (!t.is_quantized()) fail(fmt::format("its {} '{}' has no scale", role, t.name));
  }

  /// float32 -> float32 or int8 -> int8 of one shape and one scale each.
  void check_elementwise() const {
    require_same_shape();
    if (input().dtype != output().dtype) fail_types();
    if (input().dtype == DType::float32) return;
    if (input().dtype != DType::int8) fail_types();
    require_per_tensor(input(), "input");
    require_per_tensor(output(), "output");
  }

  void check_fixed_output(double scale, std::int32_t zero_point) const {
    if (output().dtype == DType::float32) return;
    const QuantParams& q = output().quantization;
    if (!close(double{q.scales[0]}, scale, kFixedScaleTolerance) ||
        q.zero_points[0] != zero_point) {
      fail(fmt::format("expected output scale {} and zero point {}, found {} and {}", scale,
                       zero_point, q.scales[0], q.zero_points[0]));
    }
  }

  void check_quantize() const {
    require_same_shape();
    require_quantized(output(), "output");
    const DType to = output().dtype;
    if (input().dtype == DType::float32) {
      if (!is_byte(to) && to != DType::int16) fail_types();
      return;
    }
    if (!is_byte(input().dtype) || !is_byte(to)) fail_types();
    require_per_tensor(input(), "input");
    require_per_tensor(output(), "output");
  }

  void check_dequantize() const {
    require_same_shape();
    const DType from = input().dtype;
    if ((!is_byte(from) && from != DType::int16) || output().dtype != DType::float32) fail_types();
    require_quantized(input(), "input");
  }

  void check_fully_connected() const {
    const ModelTensor& weights = input(1);
    if (weights.shape.size() != 2) {
      fail(fmt::format("expected weights [units, inputs], found shape [{}]",
                       fmt::join(weights.shape, ", ")));
    }
    const std::int64_t units = weights.shape[0];
    const std::int64_t depth = weights.shape[1];
    if (input().size() % depth != 0) {
      fail(fmt::format("input shape [{}] is no whole number of rows of {} weights",
                       fmt::join(input().shape, ", "), depth));
    }
    check_fully_connected_output(units, depth);
  }

  void check_conv_2d() const {
    const ModelTensor& filter = input(1);
    if (filter.shape.size() != 4 || filter.shape[1] != 1 || filter.shape[2] != 1) {
      fail(
          fmt::format("expected a filter [units, 1, 1, inputs], found shape [{}]; only 1 x 1 "
                      "filters of stride 1 without dilation are supported",
                      fmt::join(filter.shape, ", ")));
    }
    std::vector<std::int32_t> expected = input().shape;
    if (expected.size() != 4 || expected[3] != filter.shape[3]) {
      fail(fmt::format("input shape [{}] is no batch of images of {} channels",
                       fmt::join(expected, ", "), filter.shape[3]));
    }
    expected[3] = filter.shape[0];
    require_output_shape(expected);
    const auto& zero_points = filter.quantization.zero_points;
    if (std::any_of(zero_points.begin(), zero_points.end(), [](auto z) { return z != 0; })) {
      fail("its filter has a zero point other than 0");
    }
  }

  /// What FULLY_CONNECTED and CONV_2D share.
  void check_dense() const {
    const ModelTensor& weights = input(1);
    const std::int64_t units = weights.shape[0];
    if (!weights.is_constant()) fail(fmt::format("weights '{}' are no constant", weights.name));
    if (has_input(2)) {
      if (input(2).size() != units || !input(2).is_constant()) {
        fail(fmt::format("expected a constant bias of {} values, found shape [{}]", units,
                         fmt::join(input(2).shape, ", ")));
      }
    }
    if (op_.activation != FusedActivation::none && op_.activation != FusedActivation::relu &&
        op_.activation != FusedActivation::relu6 &&
        op_.activation != FusedActivation::relu_n1_to_1) {
      fail(fmt::format("fused activation {} is not supported", static_cast<int>(op_.activation)));
    }
    if (input().dtype == DType::float32) {
      const bool floats = weights.dtype == DType::float32 && output().dtype == DType::float32 &&
                          (!has_input(2) || input(2).dtype == DType::float32);
      if (!floats) fail_types();
      return;
    }
    check_integer_dense();
  }

  void check_fully_connected_output(std::int64_t units, std::int64_t depth) const {
    std::vector<std::int32_t> expected{static_cast<std::int32_t>(input().size() / depth),
                                       static_cast<std::int32_t>(units)};
    if (op_.keep_num_dims) {
      expected = input().shape;
      if (expected.empty() || expected.back() != depth) {
        fail(fmt::format("keep_num_dims: last axis of input shape [{}] is not the {} inputs",
                         fmt::join(expected, ", "), depth));
      }
      expected.back() = static_cast<std::int32_t>(units);
    }
    require_output_shape(expected);
  }

  void require_output_shape(const std::vector<std::int32_t>& expected) const {
    if (output().shape != expected) {
      fail(fmt::format("expected output shape [{}], found [{}]", fmt::join(expected, ", "),
                       fmt::join(output().shape, ", ")));
    }
  }

  void check_integer_dense() const {
    const ModelTensor& weights = input(1);
    if (input().dtype != DType::int8 || weights.dtype != DType::int8 ||
        output().dtype != DType::int8 || (has_input(2) && input(2).dtype != DType::int32)) {
      fail_types();
    }
    require_per_tensor(input(), "input");
    require_per_tensor(output(), "output");
    require_quantized(weights, "weights");
    const QuantParams& q = weights.quantization;
    if (!per_tensor(weights)) {
      if (q.quantized_dimension != 0)
        fail(fmt::format("weights quantized along axis {}, not 0", q.quantized_dimension));
      if (std::any_of(q.zero_points.begin(), q.zero_points.end(), [](auto z) { return z != 0; })) {
        fail("weights of several scales have a zero point other than 0");
      }
    }
    if (has_input(2)) check_bias_quantization();
  }

  /// A bias of another tool may come without a scale: it is in_scale * w_scale all the same.
  void check_bias_quantization() const {
    const QuantParams& bias = input(2).quantization;
    const QuantParams& weights = input(1).quantization;
    const std::size_t count = std::max(bias.scales.size(), weights.scales.size());
    for (std::size_t i = 0; i < count && !bias.scales.empty(); ++i) {
      const double expected = double{input().quantization.scales[0]} *
                              double{weights.scales[std::min(i, weights.scales.size() - 1)]};
      const std::size_t j = std::min(i, bias.scales.size() - 1);
      if (!close(double{bias.scales[j]}, expected, kBiasScaleTolerance)) {
        fail(fmt::format("scale {} of bias {} is not input scale times weight scale, {}",
                         bias.scales[j], i, expected));
      }
      if (bias.zero_points[j] != 0) {
        fail(fmt::format("zero point {} of bias {} is not 0", bias.zero_points[j], i));
      }
    }
  }

  void check_reshape() const {
    if (input().dtype != output().dtype) fail_types();
    if (input().size() != output().size()) {
      fail(fmt::format("input shape [{}] and output shape [{}] differ in size",
                       fmt::join(input().shape, ", "), fmt::join(output().shape, ", ")));
    }
    const QuantParams& in = input().quantization;
    const QuantParams& out = output().quantization;
    if (in.scales != out.scales || in.zero_points != out.zero_points || in.scales.size() > 1) {
      fail("input and output need the same single scale and zero point");
    }
    if (has_input(1)) return check_shape_operand();
    if (!op_.new_shape.empty()) check_new_shape(op_.new_shape);
  }

  void check_shape_operand() const {
    const ModelTensor& shape = input(1);
    if (shape.dtype != DType::int32 || !shape.is_constant()) {
      fail(fmt::format("its shape '{}' is no constant of int32", shape.name));
    }
    std::vector<std::int32_t> extents(shape.data.size() / sizeof(std::int32_t));
    std::memcpy(extents.data(), shape.data.data(), shape.data.size());
    check_new_shape(extents);
  }

  void check_new_shape(const std::vector<std::int32_t>& extents) const {
    const auto& shape = output().shape;
    bool fits = extents.size() == shape.size();
    for (std::size_t i = 0; fits && i < extents.size(); ++i) {
      fits = extents[i] == -1 || extents[i] == shape[i];
    }
    if (!fits || std::count(extents.begin(), extents.end(), -1) > 1) {
      fail(fmt::format("new shape [{}] does not give output shape [{}]", fmt::join(extents, ", "),
                       fmt::join(shape, ", ")));
    }
  }

  const IntegerModel& model_;
  const Operator& op_;
  std::size_t index_;
};

}  // namespace

void check_operator(const IntegerModel& model, std::size_t index) { Rules(model, index).check(); }

}  // namespace octet::detail
