#pragma once

#include <octet/runtime/kernel.h>
#include <octet/runtime/operator.h>
#include <octet/runtime/operators/operands.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace octet {

/// Where the scale and the zero point of an operator's int8 output come from.
enum class OutputGrid {
  measured,        ///< from the range of its values
  same_as_input,   ///< from its input, or its table: the quantized values themselves are kept
  same_as_inputs,  ///< from its inputs, all of which have the same
  fixed            ///< from the operator, whatever it reads
};

/// What an operator on single bytes makes of each: indexed by the byte's bits as an unsigned
/// number, whether its code is int8 or uint8; the result's bits likewise.
using ByteTable = std::array<std::uint8_t, 256>;

/// By version of an operator, from 1 up: the first release of TensorFlow Lite that has it, as a
/// sortable number. 1.14.0 is 11400, 2.3.0 is 20300; 0 behind the last version.
using Releases = std::array<std::int32_t, 14>;

/// In OperatorDefinition::file_order: an operand that a file has to leave out.
inline constexpr std::size_t kNoOperand = SIZE_MAX;

/// Everything about an operator but its attributes in a file and its form in exports. Its last
/// member leaves no padding behind it: Clang 14 gives members a wrong place in what checked()
/// returns where there is some.
struct OperatorDefinition {
  /// As .tflite files have it.
  std::string_view name;
  /// The name by which files know a custom operator; empty for one with a number.
  std::string_view custom_code{};
  /// One for each version, up to the highest that Octet understands.
  Releases releases;
  /// The lowest version that covers the types and attributes of an operator: what a file has to ask
  /// for, and what loads in the most runtimes. Null where there is one version.
  int (*required_version)(const detail::Operands& operands) = nullptr;
  /// Where a file has the operands in an order of its own: operand i of the file is input
  /// file_order[i] of Operator, and the last ones may be left out. Empty where the order is the
  /// same.
  std::span<const std::size_t> file_order{};
  /// Inputs that are variable tensors in a file: input file_states[i] is a state whose next value
  /// is output i + 1 of Operator, which the file lacks.
  std::span<const std::size_t> file_states{};
  std::size_t least_inputs;
  std::size_t most_inputs;
  std::size_t most_outputs = 1;
  OutputGrid output_grid;
  /// The fewest bits in which files may store its weights, input 1: ModelTensor::stored_bits.
  int least_weight_bits = 8;
  /// Whether the output is the first input, under another shape.
  bool only_reshapes = false;
  /// Whether an element of the output follows from those of its inputs at the same place; where
  /// there is a byte_table it does anyway.
  bool each_element = false;
  /// Whether it computes on codes of int16, too.
  bool takes_int16 = false;
  /// OutputGrid::fixed only: the grid.
  QuantParams (*fixed_grid)() = nullptr;
  /// OutputGrid::fixed only: the scale and zero point of int16; null where it takes none.
  QuantParams (*fixed_int16_grid)() = nullptr;
  /// OutputGrid::measured only: adjusts a measured grid that runtimes would refuse for these input
  /// grids; null where they take any.
  QuantParams (*fitting_grid)(std::span<const QuantParams> inputs, QuantParams measured) = nullptr;
  /// Throws FormatError that names the operator unless types, shapes and quantization of its
  /// operands are what it takes. Their number has been checked, as have the tensors themselves.
  void (*check)(const detail::OperatorView& view);
  /// Makes the kernel of an operator whose operands have been checked. Throws Octet's errors where
  /// factors are out of bounds.
  std::unique_ptr<detail::Kernel> (*make_kernel)(const detail::KernelSource& source);
  /// An upper bound of Kernel::bytes(), before anything is allocated; null where that is 0.
  std::size_t (*kernel_bytes)(const detail::Operands& operands) = nullptr;
  /// Products of an input and a weight that are added to a sum; null for an operator without
  /// weights.
  std::int64_t (*multiply_adds)(const detail::Operands& operands) = nullptr;
  /// The operator as a function of one byte; null where it is none.
  ByteTable (*byte_table)(const detail::KernelSource& source) = nullptr;

  constexpr int highest_version() const {
    return static_cast<int>(std::ranges::find(releases, 0) - releases.begin());
  }
  /// The version that a file asks for.
  int version_of(const detail::Operands& operands) const {
    return required_version == nullptr ? 1 : required_version(operands);
  }
  std::int32_t release_of(int version) const {
    return releases.at(static_cast<std::size_t>(version - 1));
  }

  /// Whether an element of the output follows from those of its inputs at the same place.
  bool is_elementwise() const { return each_element || byte_table != nullptr; }

  /// OutputGrid::fixed only: the scale and zero point of an output of this type.
  QuantParams fixed_grid_of(DType type) const {
    return type == DType::int16 ? fixed_int16_grid() : fixed_grid();
  }
};

/// The definition of an operator. Throws FormatError with the number of an unknown code.
const OperatorDefinition& definition(OpCode code);
/// Whether `code` is one of kOpCodes.
bool is_known(OpCode code);

namespace detail {

/// The definitions, each in the file of its operator.
namespace definitions {
#define OCTET_ROW(name, ...) OperatorDefinition name();
#include <octet/runtime/operators.def>
}  // namespace definitions

/// `definition`; does not compile where it contradicts itself.
consteval OperatorDefinition checked(OperatorDefinition definition) {
  const int versions = definition.highest_version();
  const auto first_release = definition.releases.begin();
  if (versions < 1 || !std::is_sorted(first_release, first_release + versions)) {
    throw "an operator has a version 1, and none is older than the one before";
  }
  if ((definition.required_version == nullptr) != (versions == 1)) {
    throw "an operator of several versions says which one its operands need, and no other does";
  }
  if (definition.least_inputs < 1 || definition.least_inputs > definition.most_inputs ||
      definition.most_inputs > kMostInputs) {
    throw "an operator takes 1 to kMostInputs inputs";
  }
  if (definition.most_outputs < 1 || definition.most_outputs > kMostOutputs) {
    throw "an operator has 1 to kMostOutputs outputs";
  }
  if ((definition.fixed_grid != nullptr) != (definition.output_grid == OutputGrid::fixed)) {
    throw "an operator has a fixed grid where its output_grid says so, and only there";
  }
  const bool fixes_int16 = definition.takes_int16 && definition.output_grid == OutputGrid::fixed;
  if ((definition.fixed_int16_grid != nullptr) != fixes_int16) {
    throw "an operator that fixes its output fixes that of int16 where it takes int16";
  }
  return definition;
}

/// Where a code stands in kOpCodes, and so in every table that is made from operators.def. Throws
/// FormatError with the number of an unknown code.
std::size_t index_of(OpCode code);

/// Throws FormatError unless the shape, the data and the quantization of tensor `index` of `model`
/// fit together.
void check_tensor(const IntegerModel& model, std::size_t index);

/// Throws FormatError unless operator `index` of `model` has operands of the number, types, shapes
/// and quantization that its code takes. The tensors themselves have been checked before.
void check_operator(const IntegerModel& model, std::size_t index);

/// Whether the sums of an operator are rescaled by its contract: whether it has weights.
bool has_weights(OpCode code);

/// An upper bound of the bytes that the kernel of an operator keeps.
std::size_t kernel_bytes(const Operands& operands);

/// The table of an operator on single bytes (RELU, LOGISTIC, QUANTIZE of codes, ...), indexed by
/// the input's bits. Throws FormatError for an operator that is none.
ByteTable byte_table(const KernelSource& source);

// Versions that operands require, of several operators.

/// 1 whatever the operands are: what later versions add is never written.
int first_version(const Operands& operands);
/// 1 for floats, 2 for int8: most operators.
template <int of_int16 = 1>
int version_by_type(const Operands& operands) {
  if (operands.input().dtype == DType::int16) return of_int16;
  return operands.input().dtype == DType::int8 ? 2 : 1;
}
/// 4 where there are more axes than the first versions take.
int version_by_axes(const Operands& operands);

}  // namespace detail
}  // namespace octet
