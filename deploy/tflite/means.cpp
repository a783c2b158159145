#include <octet/deploy/tflite/expand.h>
#include <octet/runtime/operators/operands.h>
#include <octet/runtime/operators/strided_slice.h>

#include <iterator>

// What becomes of operators that have been read: constants, and MEANs that are others of Octet.

namespace octet::detail {
namespace {

using Extents = std::vector<std::int32_t>;

bool is_constant_of(Draft& draft, std::int32_t index, DType dtype) {
  return draft.exists(index) && draft.tensor(index).is_constant() &&
         draft.tensor(index).dtype == dtype;
}

bool is_mean(const Operator& op, Draft& draft) {
  return op.code == OpCode::mean && op.inputs.size() == 2 && op.outputs.size() == 1 &&
         draft.exists(op.inputs[0]) && draft.exists(op.outputs[0]) &&
         is_constant_of(draft, op.inputs[1], DType::int32);
}

}  // namespace

bool fold_shape(const Operator& op, Draft draft) {
  if (op.code != OpCode::strided_slice || op.inputs.size() != 4 || op.outputs.size() != 1) {
    return false;
  }
  for (const std::int32_t index : op.inputs) {
    if (!is_constant_of(draft, index, DType::int32) || draft.tensor(index).shape.size() != 1) {
      return false;
    }
  }
  const Operands operands(draft.model(), op);
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (operands.input(i).size() != 1) return false;
  }
  const SliceAxis axis = slice_axes(operands)[0];
  const Extents from = values_of<std::int32_t>(operands.input());
  if (axis.step < 1 || axis.begin < 0 || axis.extent() < 1 || axis.end > std::ssize(from) ||
      !draft.exists(op.outputs[0])) {
    return false;
  }
  Extents values;
  for (Index i = axis.begin; i < axis.end; i += axis.step) {
    values.push_back(from[static_cast<std::size_t>(i)]);
  }
  ModelTensor& made = draft.tensor(op.outputs[0]);
  if (made.is_constant() || made.dtype != DType::int32 || made.size() != std::ssize(values)) {
    return false;
  }
  draft.set_data(made, values);
  return true;
}

bool mean_of_steps(const Operator& op, Draft draft) {
  if (!is_mean(op, draft)) return false;
  const Extents from = draft.tensor(op.inputs[0]).shape;
  const Extents axes = values_of<std::int32_t>(draft.tensor(op.inputs[1]));
  if (from.size() != 3 || axes.size() != 1 || (axes[0] != 1 && axes[0] != -2)) return false;
  const auto& attributes = op.as<MeanAttributes>();
  const std::int32_t image = draft.add_tensor(op.inputs[0], {from[0], from[1], 1, from[2]}, 0);
  const std::int32_t pixels = draft.add_constant(op.outputs[0], DType::int32, {2}, Extents{1, 2});
  draft.reshape(op.inputs[0], image);
  if (!attributes.keep_dims) {
    draft.add(OpCode::mean, {image, pixels}, op.outputs[0], attributes);
    return true;
  }
  const std::int32_t kept = draft.add_tensor(op.outputs[0], {from[0], 1, 1, from[2]}, 0);
  draft.add(OpCode::mean, {image, pixels}, kept, attributes);
  draft.reshape(kept, op.outputs[0]);
  return true;
}

bool mean_of_rows(const Operator& op, Draft draft) {
  if (!is_mean(op, draft)) return false;
  const ModelTensor& x = draft.tensor(op.inputs[0]);
  const Extents axes = values_of<std::int32_t>(draft.tensor(op.inputs[1]));
  const auto rank = static_cast<std::int32_t>(x.shape.size());
  if (x.dtype != DType::float32 || rank < 2 || axes.size() != 1 ||
      (axes[0] != -1 && axes[0] != rank - 1) || x.shape.back() < 1) {
    return false;
  }
  const std::int32_t count = x.shape.back();
  Extents sums = x.shape;
  sums.back() = 1;
  const std::vector<float> weights(static_cast<std::size_t>(count),
                                   1.0F / static_cast<float>(count));
  const std::int32_t kernel =
      draft.add_constant(op.outputs[0], DType::float32, {1, count}, weights);
  const bool keeps = op.as<MeanAttributes>().keep_dims;
  const std::int32_t sum = keeps ? op.outputs[0] : draft.add_tensor(op.inputs[0], sums, 0);
  draft.add(OpCode::fully_connected, {op.inputs[0], kernel, -1}, sum,
            FullyConnectedAttributes{.keep_num_dims = true});
  if (!keeps) draft.reshape(sum, op.outputs[0]);
  return true;
}

}  // namespace octet::detail
