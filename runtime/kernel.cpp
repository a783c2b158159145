#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/runtime/kernel.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <tuple>

namespace octet::detail {

namespace {

bool is_wide(const ModelTensor& tensor) { return tensor.dtype == DType::int16; }

/// Sums of int16 codes have a contract of their own, which is none of int8 codes.
void require_contract(const KernelSource& source) {
  const bool q15 = source.rounding == Rounding::q15;
  if (has_weights(source.op.code) && is_wide(source.input()) && !q15) {
    throw InvalidArgument(
        fmt::format("expected rounding mode q15 for int16, found {}; run the model in q15",
                    to_string(source.rounding)));
  }
  const bool bytes = is_byte(source.input().dtype) || is_byte(source.output().dtype);
  if (!q15 || !bytes) return;
  throw InvalidArgument(
      fmt::format("expected int16 in rounding mode q15, found {} -> {}; run models of int8 in "
                  "fp32, single or double",
                  to_string(source.input().dtype), to_string(source.output().dtype)));
}

}  // namespace

std::unique_ptr<Kernel> make_kernel(const KernelSource& source) {
  require_contract(source);
  return definition(source.op.code).make_kernel(source);
}

std::unique_ptr<Kernel> make_kernel(const IntegerModel& model, std::size_t index,
                                    Rounding rounding) {
  const Operator& op = model.operators[index];
  try {
    return make_kernel({model, op, rounding});
  } catch (const Error& error) {
    throw FormatError(fmt::format("operator {} ({}): {}", index, to_string(op.code), error.what()));
  }
}

std::vector<std::unique_ptr<Kernel>> make_kernels(const IntegerModel& model, Rounding rounding) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    kernels.push_back(make_kernel(model, i, rounding));
  }
  return kernels;
}

std::vector<bool> find_batched(const IntegerModel& model) {
  std::vector<bool> batched(model.tensors.size());
  for (const std::int32_t i : model.inputs) batched[static_cast<std::size_t>(i)] = true;
  for (const Operator& op : model.operators) {
    const bool any = std::ranges::any_of(
        op.inputs, [&](std::int32_t i) { return i != -1 && batched[static_cast<std::size_t>(i)]; });
    for (const std::int32_t i : op.outputs) batched[static_cast<std::size_t>(i)] = any;
  }
  return batched;
}

QuantParams stored_params(const ModelTensor& tensor) {
  QuantParams params = tensor.quantization;
  std::tie(params.qmin, params.qmax) = integer_limits(tensor.dtype);
  return params;
}

std::size_t sample_bytes(const ModelTensor& tensor) {
  return static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype);
}

}  // namespace octet::detail
