#include <octet/runtime/operators/add.h>
#include <octet/runtime/operators/binary.h>

#include <span>
#include <utility>

namespace octet::detail {
namespace {

void check_add(const OperatorView& view) { check_binary(view, view.op.activation()); }

std::unique_ptr<Kernel> make_add(const KernelSource& source) {
  return make_binary(source, code_adder, [](float a, float b) { return a + b; });
}

std::unique_ptr<Kernel> make_sub(const KernelSource& source) {
  return make_binary(source, code_adder, [](float a, float b) { return a - b; });
}

QuantParams fitting_sum(std::span<const QuantParams> inputs, QuantParams measured) {
  return CodeAdder::fitting_grid(inputs[0], inputs[1], std::move(measured));
}

}  // namespace

CodeAdder code_adder(const KernelSource& source) {
  return CodeAdder::make(source.input(0).quantization, source.input(1).quantization,
                         source.output().quantization, source.op.activation(), source.rounding,
                         source.op.code == OpCode::sub ? SecondSign::minus : SecondSign::plus);
}

OperatorDefinition definitions::add() {
  return checked({.name = "ADD",
                  .default_attributes = default_of<BinaryAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .fitting_grid = fitting_sum,
                  .check = check_add,
                  .make_kernel = make_add});
}

OperatorDefinition definitions::sub() {
  return checked({.name = "SUB",
                  .default_attributes = default_of<BinaryAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .fitting_grid = fitting_sum,
                  .check = check_add,
                  .make_kernel = make_sub});
}

}  // namespace octet::detail
