#pragma once

#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/requantize.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/quant/tensorflow/reference.h>

#include <algorithm>
#include <cstring>
#include <vector>

// What tfjs-tflite computes. Its XNNPACK is of a time that knew no FULLY_CONNECTED with a scale per
// channel: TensorFlow Lite's reference kernel does it, and rescales in double. All else is fp32.

namespace octet::interop {

using Bytes = std::vector<std::byte>;

inline const ModelTensor& tensor_of(const IntegerModel& model, std::int32_t i) {
  return model.tensors[static_cast<std::size_t>(i)];
}

inline bool is_per_channel(const IntegerModel& model, const Operator& op) {
  return op.code == OpCode::fully_connected &&
         tensor_of(model, op.inputs[1]).quantization.per_channel();
}

/// FULLY_CONNECTED with a scale per channel; `x` and the result are rows of codes.
inline Bytes reference_dense(const IntegerModel& model, const Operator& op, const Bytes& x) {
  const ModelTensor& weights = tensor_of(model, op.inputs[1]);
  const QuantParams& in = tensor_of(model, op.inputs[0]).quantization;
  const QuantParams& out = tensor_of(model, op.outputs[0]).quantization;
  const PackedS8 packed(reinterpret_cast<const std::int8_t*>(weights.data.data()), weights.shape[0],
                        weights.shape[1]);
  const auto units = static_cast<std::size_t>(packed.rows());
  const auto rows = x.size() / static_cast<std::size_t>(packed.depth());
  std::vector<std::int32_t> bias(units);
  if (op.inputs.size() > 2 && op.inputs[2] != -1) {
    std::memcpy(bias.data(), tensor_of(model, op.inputs[2]).data.data(), units * sizeof(bias[0]));
  }
  const auto limits =
      activation_range(op.activation(), out.scale(), out.zero_point(), out.qmin, out.qmax);
  std::vector<std::int32_t> sums(rows * units);
  gemm_s8(static_cast<Index>(rows), reinterpret_cast<const std::int8_t*>(x.data()), packed.depth(),
          packed, sums.data());
  Bytes y(sums.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t unit = i % units;
    const std::int32_t sum = sums[i] - in.zero_point() * packed.row_sums()[unit] + bias[unit];
    const std::int32_t code =
        requantize_reference(sum, in.scale(), weights.quantization.scale(unit), out.scale()) +
        out.zero_point();
    y[i] = static_cast<std::byte>(std::clamp(code, limits.lo, limits.hi));
  }
  return y;
}

/// One operator by our interpreter; `values` has what it reads.
inline Bytes run_operator(const IntegerModel& model, const Operator& op,
                          const std::vector<Bytes>& values, Index samples) {
  IntegerModel one = model;
  one.operators = {op};
  one.inputs.clear();
  one.outputs = {op.outputs[0]};
  for (const std::int32_t i : op.inputs) {
    const bool given = i == -1 || tensor_of(model, i).is_constant();
    if (!given && !std::ranges::count(one.inputs, i)) one.inputs.push_back(i);
  }
  const std::vector<std::int32_t> inputs = one.inputs;
  Interpreter interpreter(std::move(one), {.rounding = Rounding::fp32, .batch = samples});
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::ranges::copy(values[static_cast<std::size_t>(inputs[k])],
                      interpreter.input_bytes(k).begin());
  }
  interpreter.invoke();
  return {interpreter.output_bytes().begin(), interpreter.output_bytes().end()};
}

/// The values of every tensor that is computed, by its index.
inline std::vector<Bytes> run_reference(const IntegerModel& model, const Bytes& input,
                                        Index samples) {
  std::vector<Bytes> values(model.tensors.size());
  const auto value = [&](std::int32_t i) -> Bytes& { return values[static_cast<std::size_t>(i)]; };
  value(model.inputs[0]) = input;
  for (const Operator& op : model.operators) {
    value(op.outputs[0]) = is_per_channel(model, op)
                               ? reference_dense(model, op, value(op.inputs[0]))
                               : run_operator(model, op, values, samples);
  }
  return values;
}

}  // namespace octet::interop
