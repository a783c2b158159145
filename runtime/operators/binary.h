#pragma once

#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/float_clamp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

// Operators of two operands, element by element: y = f(g(a, b)), f a fused activation. An operand
// may be a constant. Shapes broadcast as in numpy: aligned at the last axis, an extent of 1 is
// repeated.

namespace octet::detail {

/// An axis of the output: its extent, and how many elements each operand goes on with a step along
/// it, 0 where the operand repeats.
struct BinaryAxis {
  std::size_t extent;
  std::array<std::size_t, 2> steps;
};

/// The axes of one sample of the output; those along which both operands go on as the output does
/// are one. At least one axis.
std::vector<BinaryAxis> binary_axes(const Operands& operands);

/// Throws FormatError, naming the operator, unless both operands are of the output's type, codes
/// with one scale or floats, and broadcast to its shape. Shapes that differ have at most four axes,
/// for which all runtimes broadcast.
void check_binary(const OperatorView& view, FusedActivation activation);

/// Walks both operands and the output.
class BinaryLoop {
 public:
  explicit BinaryLoop(const Operands& operands) : axes_(binary_axes(operands)) {
    for (std::size_t i = 0; i + 1 < axes_.size(); ++i) rows_ *= axes_[i].extent;
  }

  /// Runs `apply(a, b, y, count)` on pieces in which elements of all three lie side by side.
  template <class T, class Apply>
  void run(const KernelArguments& a, Apply&& apply) const {
    const auto samples = static_cast<std::size_t>(a.samples);
    const BinaryAxis& row = axes_.back();
    const std::array<std::size_t, 2> strides = {a.inputs[0].stride / sizeof(T),
                                                a.inputs[1].stride / sizeof(T)};
    const bool in_one_piece = axes_.size() == 1 && strides[0] == row.extent * row.steps[0] &&
                              strides[1] == row.extent * row.steps[1];
    if (in_one_piece) {
      parallel_for(
          samples * row.extent, kElementsPerChunk, [&](std::size_t begin, std::size_t end) {
            run_row(a.input<T>(0) + begin * row.steps[0], a.input<T>(1) + begin * row.steps[1],
                    a.to<T>() + begin, end - begin, apply);
          });
      return;
    }
    parallel_for(samples * rows_, std::max<std::size_t>(kElementsPerChunk / row.extent, 1),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     const auto from = row_of(i, strides);
                     run_row(a.input<T>(0) + from[0], a.input<T>(1) + from[1],
                             a.to<T>() + i * row.extent, row.extent, apply);
                   }
                 });
  }

 private:
  /// Where row i of all samples begins in both operands.
  std::array<std::size_t, 2> row_of(std::size_t i,
                                    const std::array<std::size_t, 2>& strides) const {
    std::array<std::size_t, 2> from{};
    std::size_t rest = i % rows_;
    for (std::size_t k = axes_.size() - 1; k-- > 0;) {
      const std::size_t place = rest % axes_[k].extent;
      rest /= axes_[k].extent;
      for (std::size_t side = 0; side < 2; ++side) from[side] += place * axes_[k].steps[side];
    }
    for (std::size_t side = 0; side < 2; ++side) from[side] += i / rows_ * strides[side];
    return from;
  }

  template <class T, class Apply>
  void run_row(const T* first, const T* second, T* y, std::size_t count, Apply& apply) const {
    const auto& steps = axes_.back().steps;
    if (steps[0] == 1 && steps[1] == 1) {
      apply(first, second, y, count);
      return;
    }
    // Of an axis of more than one element at most one operand repeats.
    std::array<T, 256> repeated;
    repeated.fill(steps[0] == 0 ? *first : *second);
    for (std::size_t begin = 0; begin < count; begin += repeated.size()) {
      const std::size_t part = std::min(repeated.size(), count - begin);
      if (steps[0] == 0) {
        apply(repeated.data(), second + begin, y + begin, part);
      } else {
        apply(first + begin, repeated.data(), y + begin, part);
      }
    }
  }

  std::vector<BinaryAxis> axes_;
  /// Of a sample: the product of all extents but the last.
  std::size_t rows_ = 1;
};

/// Codes, by an `Arithmetic` with run(a, b, y).
template <class Arithmetic>
class Int8Binary final : public Kernel {
 public:
  Int8Binary(const KernelSource& source, const Arithmetic& arithmetic)
      : loop_(source), arithmetic_(arithmetic) {}

  void run(const KernelArguments& a) const override {
    loop_.run<std::int8_t>(a, [&](const std::int8_t* first, const std::int8_t* second,
                                  std::int8_t* y, std::size_t count) {
      arithmetic_.run({first, count}, {second, count}, {y, count});
    });
  }

 private:
  BinaryLoop loop_;
  Arithmetic arithmetic_;
};

/// y = f(function(a, b)) of floats.
template <class Function>
class FloatBinary final : public Kernel {
 public:
  FloatBinary(const KernelSource& source, Function function)
      : loop_(source), clamp_(source.op.activation()), function_(std::move(function)) {}

  void run(const KernelArguments& a) const override {
    loop_.run<float>(a, [&](const float* first, const float* second, float* y, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) y[i] = clamp_(function_(first[i], second[i]));
    });
  }

 private:
  BinaryLoop loop_;
  FloatClamp clamp_;
  Function function_;
};

/// The kernel for the type of the operands, which have been checked: `function` of floats, or what
/// arithmetic(source) does to codes.
template <class Arithmetic, class Function>
std::unique_ptr<Kernel> make_binary(const KernelSource& source,
                                    Arithmetic (*arithmetic)(const KernelSource& source),
                                    Function function) {
  if (source.output().dtype == DType::float32) {
    return std::make_unique<FloatBinary<Function>>(source, std::move(function));
  }
  return std::make_unique<Int8Binary<Arithmetic>>(source, arithmetic(source));
}

}  // namespace octet::detail
