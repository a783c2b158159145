#pragma once

#include <octet/core/arithmetic/fixed_point.h>
#include <octet/core/window.h>
#include <octet/deploy/c/plan.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// One operator as a C function and its constants.

namespace octet::detail {

/// How an operator's output may lie over an input of it: from `lead` bytes in front of that on, a
/// multiple of `unit` bytes apart, no byte is written before the input's byte has been read.
struct COverlap {
  std::int64_t lead = 0;
  std::int64_t unit = 1;
};

/// One operator in C source.
struct COperator {
  /// Whether all of its inputs are values that its function reads, or the first and its own states
  /// alone: the others are constants that make() writes out in its own way.
  bool reads_all_inputs;
  /// Null for an operator that is no step: make_c_plan() leaves it out, or refuses what it makes.
  CLayer (*make)(const CPlan& plan, const CStep& step);
  /// Bytes of the memory that a step works in which makes so many rows of its image at a time, or
  /// all where `rows` is 0; null where none needs any.
  std::int64_t (*scratch_bytes)(const CPlan& plan, const KernelSource& source,
                                std::int64_t rows) = nullptr;
  /// How its output may lie over that input; null, or nothing, where it may not.
  std::optional<COverlap> (*overlap)(const CPlan& plan, const KernelSource& source,
                                     std::size_t input) = nullptr;
  /// How its function can make some rows of an image; null, or nothing, where it cannot.
  std::optional<CRowwise> (*rows)(const KernelSource& source) = nullptr;
};

/// The operators, by families in deploy/operators/.
namespace c_forms {
#define OCTET_ROW(name, ...) COperator name();
#include <octet/runtime/operators.def>
}  // namespace c_forms

/// Throws FormatError for an unknown code.
const COperator& c_operator(OpCode code);

/// The inputs that a step reads as values; those that are states of the operator's own come last.
std::vector<std::int32_t> c_values_of(const Operator& op);

/// Returns the fillings that templates of every operator may use: those of the plan, @layer@,
/// @from_type@, @to_type@, @band@, the parameters that say which rows it makes, and @size@, the
/// elements of its first input, or of as many rows of that.
Fillings layer_fillings(const CPlan& plan, const CStep& step);

/// `FULLY_CONNECTED "dense", DETAIL`.
std::string summary_of(const CStep& step, std::string_view detail);

/// The shift of a factor, at most 31: a shift to the left by 31 saturates every number but 0, and
/// so does any longer one.
int c_shift(QuantizedMultiplier factor);

/// A factor of contract fp32 as multiplier * 2^(shift - 48), 2^30 <= multiplier < 2^31 unless it is
/// 0: 16 bits of sum * 2^shift * multiplier / 2^32 stand behind the point.
struct CFactor {
  std::int32_t multiplier;
  int shift;
};
/// `largest_sum` is the largest of either sign that is rescaled.
CFactor c_factor(float factor, std::int64_t largest_sum);

/// Bytes that a kernel works in, for sums of `depth` products; `window` counts for depthwise alone.
std::int64_t c_scratch_bytes(const CPlan& plan, CKernel kernel, std::int64_t depth,
                             const Window& window);

/// An operator that reads an input of its output's size element by element, each before it writes
/// that of its output.
std::optional<COverlap> elementwise_overlap(const CPlan& plan, const KernelSource& source,
                                            std::size_t input);

/// An operator whose windows slide over images in order. Where `windows_are_copied`, each is copied
/// before its output is written.
COverlap window_overlap(const KernelSource& source, const Window& window, bool windows_are_copied);

/// An operator whose windows slide over an image, one sample at a time.
std::optional<CRowwise> window_rows(const KernelSource& source, const Window& window);

/// An operator that makes each element of one at the same place of inputs of the output's shape.
std::optional<CRowwise> elementwise_rows(const KernelSource& source);

/// An operator on single bytes: a table of 256 codes.
CLayer make_byte_table_layer(const CPlan& plan, const CStep& step);
inline constexpr COperator kByteTable{.reads_all_inputs = false,
                                      .make = make_byte_table_layer,
                                      .overlap = elementwise_overlap,
                                      .rows = elementwise_rows};

}  // namespace octet::detail
