#pragma once

#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace octet::detail {

/// An operator and the tensors that it reads and writes.
struct Operands {
  const IntegerModel& model;
  const Operator& op;

  Operands(const IntegerModel& of_model, const Operator& of_op) : model(of_model), op(of_op) {}

  const ModelTensor& tensor(std::int32_t index) const {
    return model.tensors[static_cast<std::size_t>(index)];
  }
  const ModelTensor& input(std::size_t i = 0) const { return tensor(op.inputs[i]); }
  const ModelTensor& output(std::size_t i = 0) const { return tensor(op.outputs[i]); }
  bool has_input(std::size_t i) const { return i < op.inputs.size() && op.inputs[i] != -1; }
};

/// Operands that are being checked: what rules of several operators share. Everything here throws
/// FormatError "operator INDEX (NAME): ..." where the rule is broken.
class OperatorView : public Operands {
 public:
  OperatorView(const IntegerModel& of_model, std::size_t index)
      : Operands(of_model, of_model.operators[index]), index_(index) {}

  [[noreturn]] void fail(std::string_view problem) const;
  /// "types (int8, float32) -> int8 are not supported".
  [[noreturn]] void fail_types() const;

  /// Requires output i to have `shape`, which follows from the input.
  void require_output_shape(const std::vector<std::int32_t>& shape, std::size_t i = 0) const;
  void require_same_shape() const;
  void require_shape(const ModelTensor& tensor, const std::vector<std::int64_t>& shape) const;
  void require_per_tensor(const ModelTensor& tensor, std::string_view role) const;
  void require_quantized(const ModelTensor& tensor, std::string_view role) const;
  void require_known(FusedActivation activation) const;
  /// float32 -> float32 or int8 -> int8 of one shape and one scale each.
  void require_elementwise() const;
  /// Int16 with one scale and the zero point 0.
  void require_int16_grid(const ModelTensor& tensor) const;
  /// Input and output i have the same single scale and zero point, or none.
  void require_same_grid(std::size_t i = 0) const;
  /// An output of codes has the scale and zero point that the operator's definition fixes.
  void require_fixed_grid() const;
  /// Input 1 is an int32 constant, the number of an axis of input 0 that is not the batch. `done`
  /// is what the operator does to it: "split".
  void require_constant_axis(std::string_view done) const;

 private:
  std::size_t index_;
};

/// The axis of input 0 that constant input 1 says, counted from the front.
std::size_t constant_axis(const Operands& operands);

/// How often operators read a tensor, and once more for each time that it is an output of the
/// model.
std::ptrdiff_t readers_of(const IntegerModel& model, std::int32_t tensor);

/// The products of an operator whose every output is a sum over the weights of one unit; units lie
/// along `axis` of input 1.
std::int64_t products_with_units(const Operands& operands, std::size_t axis);

/// A constant as numbers.
template <class T>
std::vector<T> values_of(const ModelTensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
  return values;
}

/// How far the fixed output scale of SOFTMAX, LOGISTIC and TANH may be off, relatively.
inline constexpr double kFixedScaleTolerance = 0.001;

/// The most axes of a tensor.
inline constexpr std::size_t kMaxRank = 8;

inline bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

/// Whether `value` is `expected` up to a relative error.
bool is_close(double value, double expected, double tolerance);

/// Throws InvalidArgument, naming the operator `op`, unless its operand `role` has one finite scale
/// above 0 and an int8 zero point.
void require_int8_operand(std::string_view op, const QuantParams& params, std::string_view role);

}  // namespace octet::detail
