#pragma once

#include <gtest/gtest.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/runtime/contract_oracle.h>
#include <octet/tests/runtime/models.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace octet::test {

/// The contract by the name that the oracle has for it.
inline oracle::Contract oracle_contract(Rounding rounding) {
  if (rounding == Rounding::fp32) return oracle::Contract::fp32;
  return rounding == Rounding::single_rounding ? oracle::Contract::single : oracle::Contract::twice;
}

inline oracle::Clamp oracle_clamp(FusedActivation activation) {
  if (activation == FusedActivation::relu) return oracle::Clamp::relu;
  if (activation == FusedActivation::relu6) return oracle::Clamp::relu6;
  return activation == FusedActivation::relu_n1_to_1 ? oracle::Clamp::relu_n1_to_1
                                                     : oracle::Clamp::none;
}

inline oracle::Quant oracle_quant(const ModelTensor& tensor) {
  return {tensor.quantization.scale(), tensor.quantization.zero_point()};
}

/// A FULLY_CONNECTED operator with plain numbers for all that it holds.
inline oracle::Dense oracle_dense(const IntegerModel& model, const Operator& op) {
  const auto tensor = [&](std::int32_t i) -> const ModelTensor& {
    return model.tensors[static_cast<std::size_t>(i)];
  };
  const ModelTensor& w = tensor(op.inputs[1]);
  oracle::Dense dense;
  dense.units = static_cast<std::size_t>(w.shape[0]);
  dense.depth = static_cast<std::size_t>(w.shape[1]);
  dense.weights.assign(w.data.begin(), w.data.end());
  dense.weight_scales = w.quantization.scales;
  dense.weight_zero_point = w.quantization.zero_point();
  if (op.inputs.size() > 2 && op.inputs[2] != -1) {
    dense.bias.resize(dense.units);
    std::memcpy(dense.bias.data(), tensor(op.inputs[2]).data.data(), 4 * dense.units);
  }
  dense.in = oracle_quant(tensor(op.inputs[0]));
  dense.out = oracle_quant(tensor(op.outputs[0]));
  dense.clamp = oracle_clamp(op.activation());
  return dense;
}

/// FULLY_CONNECTED number `index` of the model, on rows of codes.
inline std::vector<std::int8_t> naive_dense(const IntegerModel& model, std::size_t index,
                                            const std::vector<std::int8_t>& x, Rounding rounding) {
  return oracle::dense(oracle_dense(model, model.operators[index]), x, oracle_contract(rounding));
}

inline std::vector<std::int8_t> random_codes(std::size_t count, Draw& draw) {
  std::vector<std::int8_t> codes(count);
  for (auto& code : codes) code = static_cast<std::int8_t>(draw.between(-128, 127));
  return codes;
}

template <class T>
std::vector<T> copy(std::span<const T> values) {
  return {values.begin(), values.end()};
}

template <class T, class U>
std::vector<U> run(Interpreter& interpreter, const std::vector<T>& x) {
  EXPECT_EQ(interpreter.input<T>().size(), x.size());
  std::copy(x.begin(), x.end(), interpreter.input<T>().begin());
  interpreter.invoke();
  return copy(std::as_const(interpreter).output<U>());
}

}  // namespace octet::test
