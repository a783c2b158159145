#pragma once

#include <octet/runtime/kernel.h>
#include <octet/runtime/operator.h>
#include <octet/runtime/operators/operands.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace octet {

/// Where the scale and the zero point of an operator's int8 output come from.
enum class OutputGrid {
  measured,       ///< from the range of its values
  same_as_input,  ///< from its input: the codes themselves are kept
  fixed           ///< from the operator, whatever it reads
};

/// What an operator on single bytes makes of each, by the byte's bits.
using ByteTable = std::array<std::uint8_t, 256>;

/// All that there is to know of an operator where it does not matter what files call it.
struct OperatorDefinition {
  OpCode code;
  /// As .tflite files have it.
  std::string_view name;
  OperatorAttributes (*default_attributes)();
  std::size_t least_inputs;
  std::size_t most_inputs;
  OutputGrid output_grid;
  /// OutputGrid::fixed only: the grid.
  QuantParams (*fixed_grid)() = nullptr;
  /// Throws FormatError that names the operator unless types, shapes and quantization of its
  /// operands are what it takes. Their number has been checked, as have the tensors themselves.
  void (*check)(const detail::OperatorView& view);
  /// Of operands that have been checked. Throws Octet's errors where factors are out of bounds.
  std::unique_ptr<detail::Kernel> (*make_kernel)(const detail::KernelSource& source);
  /// An upper bound of Kernel::bytes(), before anything is allocated; null where that is 0.
  std::size_t (*kernel_bytes)(const detail::Operands& operands) = nullptr;
  /// The operator as a function of one byte; null where it is none.
  ByteTable (*byte_table)(const detail::KernelSource& source) = nullptr;
};

/// The definition of an operator. Throws FormatError with the number of an unknown code.
const OperatorDefinition& definition(OpCode code);
/// Whether `code` is one of kOpCodes.
bool is_known(OpCode code);

namespace detail {

/// Whether `table` holds one entry with a member `code` for each of kOpCodes, and no other: for
/// static_assert, beside every table that is kept by operator.
template <class Entry, std::size_t size>
consteval bool is_complete(const std::array<Entry, size>& table) {
  if (size != kOpCodes.size()) return false;
  for (const OpCode code : kOpCodes) {
    std::size_t found = 0;
    for (const Entry& entry : table) found += entry.code == code ? 1 : 0;
    if (found != 1) return false;
  }
  return true;
}

/// The entry of `code`, which is known.
template <class Entry, std::size_t size>
const Entry& entry_of(const std::array<Entry, size>& table, OpCode code) {
  for (const Entry& entry : table) {
    if (entry.code == code) return entry;
  }
  // Throws: the table is complete, so that the code is not known.
  static_cast<void>(definition(code));
  return table.front();
}

/// Throws FormatError unless operator `index` of `model` has operands of the number, types, shapes
/// and quantization that its code takes. The tensors themselves have been checked before.
void check_operator(const IntegerModel& model, std::size_t index);

/// An upper bound of the bytes that the kernel of an operator keeps.
std::size_t kernel_bytes(const Operands& operands);

/// What an operator on single bytes (RELU, LOGISTIC, QUANTIZE of codes, ...) makes of each. Throws
/// FormatError for an operator that is none.
ByteTable byte_table(const KernelSource& source);

template <class Attributes>
OperatorAttributes default_of() {
  return Attributes{};
}

}  // namespace detail
}  // namespace octet
