#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/code_requantize.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/map.h>
#include <octet/runtime/operators/relu.h>

namespace octet::detail {

FusedActivation relu_activation(OpCode code) {
  if (code == OpCode::relu) return FusedActivation::relu;
  if (code == OpCode::relu6) return FusedActivation::relu6;
  if (code == OpCode::relu_n1_to_1) return FusedActivation::relu_n1_to_1;
  throw InvalidArgument(fmt::format("relu_activation: {} is no clamp", to_string(code)));
}

namespace {

void check_relu(const OperatorView& view) { view.require_elementwise(); }

ByteTable relu_table(const KernelSource& source) {
  const auto clamp =
      CodeRequantizer::activation(relu_activation(source.op.code), stored_params(source.input()),
                                  stored_params(source.output()));
  return tabulate(source, [&](std::int32_t code) { return clamp.apply(code); });
}

std::unique_ptr<Kernel> make_relu(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, FloatClamp(relu_activation(source.op.code)));
}

constexpr OperatorDefinition relu_definition(std::string_view name) {
  return {.name = name,
          .default_attributes = default_of<NoAttributes>,
          .least_inputs = 1,
          .most_inputs = 1,
          .output_grid = OutputGrid::measured,
          .check = check_relu,
          .make_kernel = make_relu,
          .byte_table = relu_table};
}

}  // namespace

OperatorDefinition definitions::relu() { return checked(relu_definition("RELU")); }
OperatorDefinition definitions::relu6() { return checked(relu_definition("RELU6")); }
OperatorDefinition definitions::relu_n1_to_1() { return checked(relu_definition("RELU_N1_TO_1")); }

}  // namespace octet::detail
