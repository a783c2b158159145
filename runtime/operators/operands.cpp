#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/round.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/operands.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace octet::detail {
namespace {

/// Input 1, where it is one number.
std::int32_t written_axis(const Operands& operands) {
  return values_of<std::int32_t>(operands.input(1))[0];
}

}  // namespace

bool is_close(double value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance * expected;
}

std::ptrdiff_t readers_of(const IntegerModel& model, std::int32_t tensor) {
  std::ptrdiff_t readers = std::ranges::count(model.outputs, tensor);
  for (const Operator& op : model.operators) readers += std::ranges::count(op.inputs, tensor);
  return readers;
}

std::size_t constant_axis(const Operands& operands) {
  const std::int32_t axis = written_axis(operands);
  const auto rank = static_cast<std::int32_t>(operands.input().shape.size());
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::int64_t products_with_units(const Operands& operands, std::size_t axis) {
  const ModelTensor& weights = operands.input(1);
  return operands.output().size() * (weights.size() / weights.shape[axis]);
}

void OperatorView::fail(std::string_view problem) const {
  throw FormatError(fmt::format("operator {} ({}): {}", index_, to_string(op.code), problem));
}

void OperatorView::fail_types() const {
  std::string types;
  for (const std::int32_t i : op.inputs) {
    types += fmt::format("{}{}", types.empty() ? "" : ", ",
                         i == -1 ? "none" : to_string(tensor(i).dtype));
  }
  fail(fmt::format("types ({}) -> {} are not supported", types, to_string(output().dtype)));
}

void OperatorView::require_output_shape(const std::vector<std::int32_t>& shape,
                                        std::size_t i) const {
  if (output(i).shape != shape) {
    fail(fmt::format("expected output shape [{}], found [{}]", fmt::join(shape, ", "),
                     fmt::join(output(i).shape, ", ")));
  }
}

void OperatorView::require_same_shape() const {
  if (input().shape != output().shape) {
    fail(fmt::format("input shape [{}] and output shape [{}] differ",
                     fmt::join(input().shape, ", "), fmt::join(output().shape, ", ")));
  }
}

void OperatorView::require_shape(const ModelTensor& tensor,
                                 const std::vector<std::int64_t>& shape) const {
  if (std::ranges::equal(tensor.shape, shape)) return;
  fail(fmt::format("expected '{}' of shape [{}], found [{}]", tensor.name, fmt::join(shape, ", "),
                   fmt::join(tensor.shape, ", ")));
}

void OperatorView::require_per_tensor(const ModelTensor& tensor, std::string_view role) const {
  if (tensor.quantization.scales.size() != 1) {
    fail(fmt::format("expected one scale for its {} '{}', found {}", role, tensor.name,
                     tensor.quantization.scales.size()));
  }
}

void OperatorView::require_quantized(const ModelTensor& tensor, std::string_view role) const {
  if (!tensor.is_quantized()) fail(fmt::format("its {} '{}' has no scale", role, tensor.name));
}

void OperatorView::require_known(FusedActivation activation) const {
  switch (activation) {
    case FusedActivation::none:
    case FusedActivation::relu:
    case FusedActivation::relu6:
    case FusedActivation::relu_n1_to_1:
      return;
  }
  fail(fmt::format("fused activation {} is not supported", static_cast<int>(activation)));
}

void OperatorView::require_elementwise() const {
  require_same_shape();
  if (input().dtype != output().dtype) fail_types();
  if (input().dtype == DType::float32) return;
  if (input().dtype != DType::int8) fail_types();
  require_per_tensor(input(), "input");
  require_per_tensor(output(), "output");
}

void OperatorView::require_int16_grid(const ModelTensor& tensor) const {
  require_per_tensor(tensor, fmt::format("tensor '{}'", tensor.name));
  if (tensor.quantization.zero_point() == 0) return;
  fail(fmt::format("expected the zero point 0 of int16 for '{}', found {}", tensor.name,
                   tensor.quantization.zero_point()));
}

void OperatorView::require_same_grid(std::size_t i) const {
  const QuantParams& in = input().quantization;
  const QuantParams& out = output(i).quantization;
  if (in.scales != out.scales || in.zero_points != out.zero_points || in.scales.size() > 1) {
    fail("input and output need the same single scale and zero point");
  }
}

void OperatorView::require_fixed_grid() const {
  if (output().dtype == DType::float32) return;
  const QuantParams expected = definition(op.code).fixed_grid_of(output().dtype);
  const QuantParams& found = output().quantization;
  if (!is_close(double{found.scale()}, double{expected.scale()}, kFixedScaleTolerance) ||
      found.zero_point() != expected.zero_point()) {
    fail(fmt::format("expected output scale {} and zero point {}, found {} and {}",
                     expected.scale(), expected.zero_point(), found.scale(), found.zero_point()));
  }
}

void OperatorView::require_constant_axis(std::string_view done) const {
  const ModelTensor& found = input(1);
  if (found.dtype != DType::int32 || !found.is_constant() || found.size() != 1) {
    fail(fmt::format("expected the axis as an int32 constant, found '{}' of {}, shape [{}]",
                     found.name, to_string(found.dtype), fmt::join(found.shape, ", ")));
  }
  const auto rank = static_cast<std::int32_t>(input().shape.size());
  const std::int32_t axis = written_axis(*this);
  if (axis < -rank || axis >= rank) fail(fmt::format("axis {} outside of rank {}", axis, rank));
  const std::size_t place = constant_axis(*this);
  const auto& signature = input().shape_signature;
  if (!signature.empty() && signature[place] == -1) {
    fail(fmt::format("axis {} is the batch, which cannot be {}", place, done));
  }
}

void require_int8_operand(std::string_view op, const QuantParams& params, std::string_view role) {
  if (params.scales.size() == 1 && params.zero_points.size() == 1 &&
      std::isfinite(params.scale()) && params.scale() > 0.0F &&
      in_range(params.zero_point(), -128, 127)) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "{}: expected one finite scale above 0 and an int8 zero point for its {}, found {} scales",
      op, role, params.scales.size()));
}

}  // namespace octet::detail
