#include <fmt/format.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/add.h>
#include <octet/runtime/operators/float_clamp.h>

#include <algorithm>
#include <span>
#include <utility>

namespace octet::detail {
namespace {

/// Runs `add(a, b, y, count)` on pieces of samples, whether an operand comes per sample or once.
template <class T, class Add>
void for_pieces(const KernelArguments& a, std::size_t size, Add&& add) {
  const auto* first = a.input<T>(0);
  const auto* second = a.input<T>(1);
  auto* y = a.to<T>();
  const auto samples = static_cast<std::size_t>(a.samples);
  if (a.inputs[0].stride != 0 && a.inputs[1].stride != 0) {
    parallel_for(samples * size, kElementsPerChunk, [&](std::size_t begin, std::size_t end) {
      add(first + begin, second + begin, y + begin, end - begin);
    });
    return;
  }
  const std::size_t first_step = a.inputs[0].stride / sizeof(T);
  const std::size_t second_step = a.inputs[1].stride / sizeof(T);
  parallel_for(samples, std::max<std::size_t>(kElementsPerChunk / size, 1),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   add(first + i * first_step, second + i * second_step, y + i * size, size);
                 }
               });
}

class Int8Add final : public Kernel {
 public:
  explicit Int8Add(const KernelSource& source)
      : size_(static_cast<std::size_t>(source.output().size())), adder_(code_adder(source)) {}

  void run(const KernelArguments& a) const override {
    for_pieces<std::int8_t>(a, size_,
                            [&](const std::int8_t* first, const std::int8_t* second, std::int8_t* y,
                                std::size_t count) {
                              adder_.run({first, count}, {second, count}, {y, count});
                            });
  }

 private:
  std::size_t size_;
  CodeAdder adder_;
};

class FloatAdd final : public Kernel {
 public:
  explicit FloatAdd(const KernelSource& source)
      : size_(static_cast<std::size_t>(source.output().size())), clamp_(source.op.activation()) {}

  void run(const KernelArguments& a) const override {
    for_pieces<float>(a, size_,
                      [&](const float* first, const float* second, float* y, std::size_t count) {
                        for (std::size_t i = 0; i < count; ++i) y[i] = clamp_(first[i] + second[i]);
                      });
  }

 private:
  std::size_t size_;
  FloatClamp clamp_;
};

void check_add(const OperatorView& view) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (view.input(i).shape != view.output().shape) {
      view.fail(fmt::format(
          "shape [{}] of operand {} '{}' is not the output's, [{}]; broadcasting is not supported",
          fmt::join(view.input(i).shape, ", "), i, view.input(i).name,
          fmt::join(view.output().shape, ", ")));
    }
    if (view.input(i).dtype != view.output().dtype) view.fail_types();
  }
  view.require_known(view.op.activation());
  if (view.output().dtype == DType::float32) return;
  if (view.output().dtype != DType::int8) view.fail_types();
  view.require_per_tensor(view.input(0), "first input");
  view.require_per_tensor(view.input(1), "second input");
  view.require_per_tensor(view.output(), "output");
}

std::unique_ptr<Kernel> make_add(const KernelSource& source) {
  if (source.output().dtype == DType::float32) return std::make_unique<FloatAdd>(source);
  return std::make_unique<Int8Add>(source);
}

QuantParams fitting_grid(std::span<const QuantParams> inputs, QuantParams measured) {
  return CodeAdder::fitting_grid(inputs[0], inputs[1], std::move(measured));
}

}  // namespace

CodeAdder code_adder(const KernelSource& source) {
  return CodeAdder::make(source.input(0).quantization, source.input(1).quantization,
                         source.output().quantization, source.op.activation(), source.rounding);
}

OperatorDefinition definitions::add() {
  return checked({.name = "ADD",
                  .default_attributes = default_of<AddAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .fitting_grid = fitting_grid,
                  .check = check_add,
                  .make_kernel = make_add});
}

}  // namespace octet::detail
