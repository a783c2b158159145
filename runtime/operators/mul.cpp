#include <octet/runtime/operators/binary.h>
#include <octet/runtime/operators/mul.h>

#include <span>
#include <utility>

namespace octet::detail {
namespace {

void check_mul(const OperatorView& view) { check_binary(view, view.op.activation()); }

std::unique_ptr<Kernel> make_mul(const KernelSource& source) {
  return make_binary(source, code_multiplier, [](float a, float b) { return a * b; });
}

QuantParams fitting_product(std::span<const QuantParams> inputs, QuantParams measured) {
  return CodeMultiplier::fitting_grid(inputs[0], inputs[1], std::move(measured));
}

}  // namespace

CodeMultiplier code_multiplier(const KernelSource& source) {
  return CodeMultiplier::make(source.input(0).quantization, source.input(1).quantization,
                              source.output().quantization, source.op.activation(),
                              source.rounding);
}

OperatorDefinition definitions::mul() {
  return checked({.name = "MUL",
                  .default_attributes = default_of<BinaryAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .fitting_grid = fitting_product,
                  .check = check_mul,
                  .make_kernel = make_mul});
}

}  // namespace octet::detail
