#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/code_table.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/packed_weights.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

bool holds(const ModelTensor& weights, int bits) {
  const int half = 1 << (bits - 1);
  return std::ranges::all_of(weights.data, [half](std::uint8_t byte) {
    const int code = static_cast<std::int8_t>(byte);
    return code >= -half && code < half;
  });
}

WeightForm form_of(const detail::Operands& operands) {
  const ModelTensor& weights = operands.input(1);
  return {.code = operands.op.code,
          .depth = static_cast<Index>(weights.size() / weights.shape[0]),
          .per_channel = weights.quantization.per_channel(),
          .is_grouped =
              operands.op.code == OpCode::conv_2d && weights.shape[3] != operands.input().shape[3]};
}

/// Whether input 1 is constants of int8 that nothing else reads.
bool has_own_codes(const detail::Operands& operands) {
  const ModelTensor& weights = operands.input(1);
  return weights.dtype == DType::int8 && weights.is_constant() &&
         detail::readers_of(operands.model, operands.op.inputs[1]) == 1;
}

/// Whether these are weights that files may pack.
bool has_own_weights(const detail::Operands& operands) {
  if (definition(operands.op.code).least_weight_bits == 8) return false;
  const auto& zero_points = operands.input(1).quantization.zero_points;
  return has_own_codes(operands) &&
         std::ranges::all_of(zero_points, [](std::int32_t z) { return z == 0; });
}

/// What a file holds for an operator TFLM_DECODE beside indices and table: two tensors, their
/// buffers and the operator itself.
constexpr std::size_t kDecodeBytes = 300;

}  // namespace

bool takes_packed_weights(const WeightForm& form, Rounding rounding, int bits) {
  if (bits < definition(form.code).least_weight_bits || form.is_grouped) return false;
  // With int16 activations, LiteRT alone takes packed weights.
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

IntegerModel decode_weights(IntegerModel model) {
  model.validate();
  const Rounding rounding = rounding_of(model);
  if (rounding != Rounding::double_rounding && rounding != Rounding::q15) {
    throw InvalidArgument(
        fmt::format("decode_weights: expected a model in rounding mode double or q15, which "
                    "TensorFlow Lite Micro "
                    "computes, found {}; train it for Target::tflm",
                    to_string(rounding)));
  }
  for (const Operator& op : model.operators) {
    if (!detail::has_weights(op.code)) continue;
    const detail::Operands operands(model, op);
    if (!has_own_codes(operands)) continue;
    ModelTensor& weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
    // Packed ones compute as others do where the contract takes them.
    if (weights.stored_bits != 8 &&
        !takes_packed_weights(form_of(operands), rounding, weights.stored_bits)) {
      continue;
    }
    ModelTensor decoded = weights;
    decoded.stored_bits = 8;
    decoded.decoded_bits = bits_of_table(
        {reinterpret_cast<const std::int8_t*>(weights.data.data()), weights.data.size()});
    if (decoded.decoded_bits == 8) continue;
    if (decoded.stored_bytes() + kDecodeBytes < weights.stored_bytes()) {
      weights = std::move(decoded);
    }
  }
  return model;
}

}  // namespace octet
