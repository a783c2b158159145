#include <fmt/format.h>
#include <octet/core/arithmetic/comparisons.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/binary.h>
#include <octet/runtime/operators/float_clamp.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace octet::detail {
namespace {

constexpr std::size_t kMostBroadcastAxes = 4;

/// The extent of an operand along axis `axis` of the output, to whose last axis its own is aligned.
std::int32_t extent_of(const ModelTensor& operand, std::size_t axis, std::size_t rank) {
  const std::size_t missing = rank - operand.shape.size();
  return axis < missing ? 1 : operand.shape[axis - missing];
}

bool broadcasts(const OperatorView& view) {
  const auto& shape = view.output().shape;
  std::vector<std::int32_t> together(shape.size(), 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const ModelTensor& operand = view.input(i);
    if (operand.shape.size() > shape.size()) return false;
    // A sample of a batch is no axis that another operand could lack.
    if (!operand.shape_signature.empty() && operand.shape.size() < shape.size()) return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int32_t extent = extent_of(operand, axis, shape.size());
      if (extent != 1 && extent != shape[axis]) return false;
      together[axis] = std::max(together[axis], extent);
    }
  }
  return together == shape;
}

void check_shapes(const OperatorView& view) {
  const auto& a = view.input(0);
  const auto& b = view.input(1);
  const auto& y = view.output();
  const bool equal = a.shape == y.shape && b.shape == y.shape;
  if (equal || (y.shape.size() <= kMostBroadcastAxes && broadcasts(view))) return;
  view.fail(fmt::format(
      "shapes [{}] of '{}' and [{}] of '{}' do not broadcast to the output's, [{}]; extents have "
      "to be equal or 1, of at most {} axes",
      fmt::join(a.shape, ", "), a.name, fmt::join(b.shape, ", "), b.name, fmt::join(y.shape, ", "),
      kMostBroadcastAxes));
}

void check_binary(const OperatorView& view) {
  check_shapes(view);
  for (std::size_t i = 0; i < 2; ++i) {
    if (view.input(i).dtype != view.output().dtype) view.fail_types();
  }
  view.require_known(view.op.activation());
  if (view.output().dtype == DType::float32) return;
  if (view.output().dtype == DType::int16 && definition(view.op.code).takes_int16) {
    for (std::size_t i = 0; i < 2; ++i) view.require_int16_grid(view.input(i));
    return view.require_int16_grid(view.output());
  }
  if (view.output().dtype != DType::int8) view.fail_types();
  view.require_per_tensor(view.input(0), "first input");
  view.require_per_tensor(view.input(1), "second input");
  view.require_per_tensor(view.output(), "output");
}

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
    // Along an axis of more than one element, at most one operand repeats.
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
  /// Rows of a sample: the product of all extents but the last.
  std::size_t rows_ = 1;
};

/// Runs a binary operator on quantized values, by an `Arithmetic` with run(a, b, y).
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

/// Runs a binary operator on int16, by a function of two values.
template <class Arithmetic>
class Int16Binary final : public Kernel {
 public:
  Int16Binary(const KernelSource& source, const Arithmetic& arithmetic)
      : loop_(source), arithmetic_(arithmetic) {}

  void run(const KernelArguments& a) const override {
    loop_.run<std::int16_t>(a, [&](const std::int16_t* first, const std::int16_t* second,
                                   std::int16_t* y, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) y[i] = arithmetic_(first[i], second[i]);
    });
  }

 private:
  BinaryLoop loop_;
  Arithmetic arithmetic_;
};

/// Runs a binary operator on floats: y = f(function(a, b)), f the activation.
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

/// The kernel for the type of the operands, which have been checked: `function` of real values, or
/// what arithmetic(source) does to quantized ones.
template <class Arithmetic, class Function>
std::unique_ptr<Kernel> make_binary(const KernelSource& source,
                                    Arithmetic (*arithmetic)(const KernelSource& source),
                                    Function function) {
  if (source.output().dtype == DType::float32) {
    return std::make_unique<FloatBinary<Function>>(source, std::move(function));
  }
  return std::make_unique<Int8Binary<Arithmetic>>(source, arithmetic(source));
}

bool gives_int16(const KernelSource& source) { return source.output().dtype == DType::int16; }

std::unique_ptr<Kernel> make_int16_sum(const KernelSource& source, SecondSign sign) {
  const Int16Add adder(source.input(0).quantization, source.input(1).quantization,
                       stored_params(source.output()), source.op.activation(), sign);
  return std::make_unique<Int16Binary<Int16Add>>(source, adder);
}

std::unique_ptr<Kernel> make_add(const KernelSource& source) {
  if (gives_int16(source)) return make_int16_sum(source, SecondSign::plus);
  return make_binary(source, quantized_add, [](float a, float b) { return a + b; });
}

std::unique_ptr<Kernel> make_sub(const KernelSource& source) {
  if (gives_int16(source)) return make_int16_sum(source, SecondSign::minus);
  return make_binary(source, quantized_add, [](float a, float b) { return a - b; });
}

QuantParams fitting_sum(std::span<const QuantParams> inputs, QuantParams measured) {
  return QuantizedAdd::fitting_params(inputs[0], inputs[1], std::move(measured));
}

std::unique_ptr<Kernel> make_mul(const KernelSource& source) {
  if (gives_int16(source)) {
    const Int16Mul multiplier(source.input(0).quantization, source.input(1).quantization,
                              stored_params(source.output()), source.op.activation());
    return std::make_unique<Int16Binary<Int16Mul>>(source, multiplier);
  }
  return make_binary(source, quantized_mul, [](float a, float b) { return a * b; });
}

QuantParams fitting_product(std::span<const QuantParams> inputs, QuantParams measured) {
  return QuantizedMul::fitting_params(inputs[0], inputs[1], std::move(measured));
}

std::unique_ptr<Kernel> make_prelu(const KernelSource& source) {
  return make_binary(source, quantized_prelu, [](float x, float a) { return prelu(x, a); });
}

void check_prelu(const OperatorView& view) {
  // The slopes are repeated over the input, never the input over the slopes.
  view.require_same_shape();
  check_binary(view);
}

std::unique_ptr<Kernel> make_maximum(const KernelSource& source) {
  return make_binary(source, quantized_extreme, [](float a, float b) { return larger(a, b); });
}

std::unique_ptr<Kernel> make_minimum(const KernelSource& source) {
  return make_binary(source, quantized_extreme, [](float a, float b) { return smaller(a, b); });
}

/// Runtimes compare the integers of operands whatever their scales.
void check_extreme(const OperatorView& view) {
  check_binary(view);
  view.require_same_grid();
  const QuantParams& second = view.input(1).quantization;
  const QuantParams& out = view.output().quantization;
  if (second.scales == out.scales && second.zero_points == out.zero_points) return;
  view.fail("its inputs and its output need the same single scale and zero point");
}

/// 4 for int16; 3 where int8 is rescaled by a factor of 1 or more.
int mul_version(const Operands& o) {
  if (o.input().dtype == DType::int16) return 4;
  if (o.input().dtype != DType::int8) return 1;
  const float product = o.input(0).quantization.scale() * o.input(1).quantization.scale();
  return product / o.output().quantization.scale() >= 1.0F ? 3 : 2;
}

constexpr OperatorDefinition extreme_definition(
    std::string_view name, std::unique_ptr<Kernel> (*make_kernel)(const KernelSource& source)) {
  return {.name = name,
          .releases = {11400, 11400},
          .required_version = version_by_type<>,
          .least_inputs = 2,
          .most_inputs = 2,
          .output_grid = OutputGrid::same_as_inputs,
          .each_element = true,
          .check = check_extreme,
          .make_kernel = make_kernel};
}

constexpr OperatorDefinition binary_definition(
    std::string_view name, const Releases& releases,
    int (*required_version)(const Operands& operands),
    QuantParams (*fitting_grid)(std::span<const QuantParams> inputs, QuantParams measured),
    std::unique_ptr<Kernel> (*make_kernel)(const KernelSource& source)) {
  return {.name = name,
          .releases = releases,
          .required_version = required_version,
          .least_inputs = 2,
          .most_inputs = 2,
          .output_grid = OutputGrid::measured,
          .each_element = true,
          .takes_int16 = true,
          .fitting_grid = fitting_grid,
          .check = check_binary,
          .make_kernel = make_kernel};
}

}  // namespace

std::vector<BinaryAxis> binary_axes(const Operands& operands) {
  const auto& shape = operands.output().shape;
  std::vector<BinaryAxis> axes;
  std::array<std::size_t, 2> inner = {1, 1};
  // From the last axis on, in reverse.
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    BinaryAxis now{static_cast<std::size_t>(shape[axis]), {}};
    for (std::size_t side = 0; side < 2; ++side) {
      const auto extent =
          static_cast<std::size_t>(extent_of(operands.input(side), axis, shape.size()));
      now.steps[side] = extent == 1 ? 0 : inner[side];
      inner[side] *= extent;
    }
    const bool goes_on = !axes.empty() &&
                         now.steps[0] == axes.back().steps[0] * axes.back().extent &&
                         now.steps[1] == axes.back().steps[1] * axes.back().extent;
    if (goes_on) {
      axes.back().extent *= now.extent;
    } else {
      axes.push_back(now);
    }
  }
  if (axes.empty()) axes.push_back({1, {1, 1}});
  std::ranges::reverse(axes);
  return axes;
}

QuantizedAdd quantized_add(const KernelSource& source) {
  return QuantizedAdd::make(source.input(0).quantization, source.input(1).quantization,
                            source.output().quantization, source.op.activation(), source.rounding,
                            source.op.code == OpCode::sub ? SecondSign::minus : SecondSign::plus);
}

/// Version 3 has int16 whose scales are no powers of two.
OperatorDefinition definitions::add() {
  return checked(binary_definition("ADD", {10500, 11400, 20400, 20400}, version_by_type<3>,
                                   fitting_sum, make_add));
}

OperatorDefinition definitions::sub() {
  return checked(binary_definition("SUB", {10600, 11400, 11400, 11400, 20400}, version_by_type<5>,
                                   fitting_sum, make_sub));
}

QuantizedMul quantized_mul(const KernelSource& source) {
  return QuantizedMul::make(source.input(0).quantization, source.input(1).quantization,
                            source.output().quantization, source.op.activation(), source.rounding);
}

OperatorDefinition definitions::mul() {
  return checked(binary_definition("MUL", {10500, 11400, 11500, 20300}, mul_version,
                                   fitting_product, make_mul));
}

QuantizedPrelu quantized_prelu(const KernelSource& source) {
  return QuantizedPrelu::make(source.input(0).quantization, source.input(1).quantization,
                              source.output().quantization, source.rounding);
}

QuantizedExtreme quantized_extreme(const KernelSource& source) {
  return QuantizedExtreme(source.op.code == OpCode::maximum);
}

OperatorDefinition definitions::maximum() {
  return checked(extreme_definition("MAXIMUM", make_maximum));
}

OperatorDefinition definitions::minimum() {
  return checked(extreme_definition("MINIMUM", make_minimum));
}

OperatorDefinition definitions::prelu() {
  return checked({.name = "PRELU",
                  .releases = {10800},
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .each_element = true,
                  .check = check_prelu,
                  .make_kernel = make_prelu});
}

}  // namespace octet::detail
