#include <octet/core/quant/packed_codes.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/packed_weights.h>

#include <algorithm>

namespace octet {
namespace {

bool holds(const ModelTensor& weights, int bits) {
  const int half = 1 << (bits - 1);
  return std::ranges::all_of(weights.data, [half](std::uint8_t byte) {
    const int code = static_cast<std::int8_t>(byte);
    return code >= -half && code < half;
  });
}

std::ptrdiff_t readers_of(const IntegerModel& model, std::int32_t tensor) {
  std::ptrdiff_t readers = std::ranges::count(model.outputs, tensor);
  for (const Operator& op : model.operators) readers += std::ranges::count(op.inputs, tensor);
  return readers;
}

WeightForm form_of(const detail::Operands& operands) {
  const ModelTensor& weights = operands.input(1);
  return {.code = operands.op.code,
          .depth = static_cast<Index>(weights.size() / weights.shape[0]),
          .per_channel = weights.quantization.per_channel(),
          .is_grouped =
              operands.op.code == OpCode::conv_2d && weights.shape[3] != operands.input().shape[3]};
}

/// Whether input 1 is int8 weights that nothing else reads.
bool has_own_weights(const detail::Operands& operands) {
  if (definition(operands.op.code).least_weight_bits == 8) return false;
  const ModelTensor& weights = operands.input(1);
  const auto& zero_points = weights.quantization.zero_points;
  return weights.dtype == DType::int8 && weights.is_constant() &&
         readers_of(operands.model, operands.op.inputs[1]) == 1 &&
         std::ranges::all_of(zero_points, [](std::int32_t z) { return z == 0; });
}

}  // namespace

bool takes_packed_weights(const WeightForm& form, Rounding rounding, int bits) {
  if (bits < definition(form.code).least_weight_bits || form.is_grouped) return false;
  // Of int16 codes, LiteRT alone takes packed weights.
  if (rounding == Rounding::q15) return false;
  if (rounding == Rounding::double_rounding) {
    return bits == 4 && (form.code != OpCode::fully_connected || !form.per_channel);
  }
  return detail::contract_of_weights(form.code, rounding, bits, form.depth, form.per_channel) ==
         rounding;
}

IntegerModel pack_weights(IntegerModel model) {
  model.validate();
  const Rounding rounding = rounding_of(model);
  for (const Operator& op : model.operators) {
    const detail::KernelSource source(model, op, rounding);
    if (!has_own_weights(source)) continue;
    ModelTensor& weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
    for (const int bits : {2, 4}) {
      if (weights.stored_bits <= bits || !holds(weights, bits)) continue;
      if (takes_packed_weights(form_of(source), rounding, bits)) weights.stored_bits = bits;
    }
  }
  return model;
}

}  // namespace octet
