#include <octet/deploy/tflite/uint8_codes.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

constexpr std::int32_t kShift = 128;

bool is_uint8(const tflite::Tensor& tensor) {
  return tensor.type() == tflite::TensorType::UINT8 && tensor.quantization() != nullptr &&
         size_or_zero(tensor.quantization()->scale()) > 0;
}

bool computes(const tflite::OperatorCode& code) {
  const tflite::BuiltinOperator number = builtin_of(code);
  return number != tflite::BuiltinOperator::QUANTIZE &&
         number != tflite::BuiltinOperator::DEQUANTIZE && number != tflite::BuiltinOperator::CUSTOM;
}

/// Appends the uint8 twin of tensor `index`, whose name it takes: runtimes know ends by name.
std::int32_t add_twin(IntegerModel& model, std::int32_t index, Budget& budget) {
  ModelTensor& inner = model.tensors[static_cast<std::size_t>(index)];
  budget.take(sizeof(ModelTensor) + 2 * inner.name.size() +
              2 * sizeof(std::int32_t) * inner.shape.size());
  ModelTensor twin = inner;
  inner.name += "/int8";
  twin.dtype = DType::uint8;
  std::tie(twin.quantization.qmin, twin.quantization.qmax) = integer_limits(DType::uint8);
  for (std::int32_t& zero_point : twin.quantization.zero_points) zero_point += kShift;
  model.tensors.push_back(std::move(twin));
  return static_cast<std::int32_t>(model.tensors.size() - 1);
}

Operator quantize(std::int32_t from, std::int32_t to, Budget& budget) {
  budget.take(sizeof(Operator) + 2 * sizeof(std::int32_t));
  return {.code = OpCode::quantize,
          .inputs = {from},
          .outputs = {to},
          .attributes = default_attributes(OpCode::quantize)};
}

}  // namespace

std::vector<bool> uint8_values(const tflite::Model& file, const tflite::SubGraph& graph,
                               Budget& budget) {
  const std::size_t count = size_or_zero(graph.tensors());
  budget.take(count);
  std::vector<bool> values(count);
  const auto mark = [&](const flatbuffers::Vector<std::int32_t>* operands) {
    // Whoever reads the operator says that these are too many.
    if (size_or_zero(operands) > 2 * kMostInputs) return;
    for (const std::int32_t i : read_operands(operands, budget)) {
      if (i < 0 || static_cast<std::size_t>(i) >= count) continue;
      const auto at = static_cast<flatbuffers::uoffset_t>(i);
      if (is_uint8(*graph.tensors()->Get(at))) values[static_cast<std::size_t>(i)] = true;
    }
  };
  for (flatbuffers::uoffset_t i = 0; i < size_or_zero(graph.operators()); ++i) {
    const tflite::Operator& op = *graph.operators()->Get(i);
    if (op.opcode_index() >= size_or_zero(file.operator_codes())) continue;
    if (!computes(*file.operator_codes()->Get(op.opcode_index()))) continue;
    mark(op.inputs());
    mark(op.outputs());
  }
  return values;
}

void make_int8(ModelTensor& tensor) {
  tensor.dtype = DType::int8;
  std::tie(tensor.quantization.qmin, tensor.quantization.qmax) = integer_limits(DType::int8);
  for (std::int32_t& zero_point : tensor.quantization.zero_points) zero_point -= kShift;
  for (std::uint8_t& code : tensor.data) code ^= static_cast<std::uint8_t>(kShift);
}

void make_symmetric(ModelTensor& tensor) {
  QuantParams& q = tensor.quantization;
  const std::size_t channels = q.zero_points.size();
  const auto axis = static_cast<std::size_t>(std::max(q.quantized_dimension, 0));
  const auto is_zero = [](std::int32_t zero_point) { return zero_point == 0; };
  if (tensor.dtype != DType::int8 || !tensor.is_constant() || channels < 2 ||
      axis >= tensor.shape.size() || std::ranges::all_of(q.zero_points, is_zero) ||
      static_cast<std::size_t>(tensor.shape[axis]) != channels) {
    return;
  }
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) {
    inner *= static_cast<std::size_t>(tensor.shape[i]);
  }
  std::vector<std::uint8_t> codes(tensor.data.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::int32_t code =
        static_cast<std::int8_t>(tensor.data[i]) - q.zero_points[i / inner % channels];
    if (code < q.qmin || code > q.qmax) return;
    codes[i] = static_cast<std::uint8_t>(code);
  }
  tensor.data = std::move(codes);
  std::ranges::fill(q.zero_points, 0);
}

void require_same_on_int8(const Operator& op, std::size_t index) {
  if (op.code != OpCode::average_pool_2d) return;
  const auto& pool = op.as<PoolAttributes>();
  const bool same = pool.padding == Padding::same && (pool.filter_h > 1 || pool.filter_w > 1);
  if (!same && pool.filter_h % 2 != 0 && pool.filter_w % 2 != 0) return;
  fail_tflite(
      "operator {} (AVERAGE_POOL_2D): on uint8 its halves are rounded up, which Octet's, on int8, "
      "are not; expected an odd number of pixels in every window, found windows of {} x {}{}",
      index, pool.filter_h, pool.filter_w, same ? " with padding" : "");
}

void keep_uint8_ends(IntegerModel& model, const std::vector<bool>& values, Budget& budget) {
  const auto is_shifted = [&](std::int32_t i) {
    return i >= 0 && static_cast<std::size_t>(i) < values.size() &&
           values[static_cast<std::size_t>(i)];
  };
  std::vector<Operator> first;
  for (std::int32_t& input : model.inputs) {
    if (!is_shifted(input)) continue;
    const std::int32_t twin = add_twin(model, input, budget);
    first.push_back(quantize(twin, input, budget));
    input = twin;
  }
  model.operators.insert(model.operators.begin(), first.begin(), first.end());
  for (std::int32_t& output : model.outputs) {
    if (!is_shifted(output)) continue;
    const std::int32_t twin = add_twin(model, output, budget);
    model.operators.push_back(quantize(output, twin, budget));
    output = twin;
  }
}

}  // namespace octet::detail
