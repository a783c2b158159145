#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/passes.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/activation.h>
#include <octet/layers/lowering.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/tensor_codes.h>
#include <octet/runtime/execute.h>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace octet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A model of one layer's operators, whose inputs lie on the grids of `inputs` and whose outputs
/// are the results of all operators.
IntegerModel model_of(const Layer& layer, std::span<const Tensor> inputs,
                      const std::optional<QuantParams>& result, Rounding rounding,
                      const std::string& owner) {
  Lowering lowering(owner, Lowering::Numbers::codes);
  lowering.quantize({.owner = owner,
                     .rounding = rounding,
                     .result = result,
                     .clamps_at_zero = clamps_at_zero(layer.activation())});
  std::vector<std::int32_t> tensors;
  for (const Tensor& x : inputs) {
    tensors.push_back(lowering.input_codes(x.shape().without_batch(), require_grid(x, owner)));
  }
  const std::int32_t output = layer.lower(lowering, tensors);
  lowering.end_layer();
  std::vector<std::int32_t> results;
  for (const Operator& op : lowering.model().operators) results.push_back(op.outputs[0]);
  if (results.empty() || results.back() != output) {
    throw InvalidArgument(fmt::format(
        "{}: lower() of type {} has to return the result of the last operator that it appends",
        owner, layer.type()));
  }
  lowering.finish(results);
  return std::move(lowering.model());
}

/// The batch size of all inputs.
Index one_batch(std::span<const Tensor> inputs, const std::string& owner) {
  const Index batch = inputs.empty() ? 0 : inputs[0].dim(0);
  for (const Tensor& x : inputs) {
    if (x.dim(0) == batch) continue;
    throw InvalidArgument(fmt::format("{}: expected inputs of one batch size, found {} and {}",
                                      owner, batch, x.dim(0)));
  }
  return batch;
}

}  // namespace

const QuantParams& require_grid(const Tensor& x, const std::string& owner) {
  const auto& grid = detail::TensorAccess::grid(x);
  if (grid == nullptr) {
    throw InvalidArgument(fmt::format(
        "{}: integer simulation expects an input on a grid, found real values; quantize the layer "
        "in front too, or use Simulation::fake_quant",
        owner));
  }
  return *grid;
}

std::vector<Tensor> integer_operators(const Layer& layer, std::span<const Tensor> inputs,
                                      const Tensor& real, const std::optional<QuantParams>& result,
                                      Rounding rounding, const std::string& owner,
                                      const LearnedRange& learned) {
  const Index batch = one_batch(inputs, owner);
  const IntegerModel model = model_of(layer, inputs, result, rounding, owner);
  std::vector<TensorCodes> held;
  std::vector<const std::byte*> from;
  for (const Tensor& x : inputs) {
    held.push_back(codes_on_grid(x, require_grid(x, owner)));
    from.push_back(reinterpret_cast<const std::byte*>(held.back().get()));
  }
  std::vector<Tensor> results;
  std::vector<std::byte*> to;
  for (const std::int32_t output : model.outputs) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(output)];
    auto codes = allocate_array<std::int8_t>(static_cast<std::size_t>(batch * tensor.size()));
    to.push_back(reinterpret_cast<std::byte*>(codes.get()));
    const Shape example(std::vector<Index>(tensor.shape.begin() + 1, tensor.shape.end()));
    results.push_back(tensor_of_codes(example.with_batch(batch),
                                      std::make_shared<const QuantParams>(tensor.quantization),
                                      std::move(codes)));
  }
  if (batch > 0) run_operators(model, rounding, batch, from, to);
  if (!real.defined()) return results;
  const bool clips = result.has_value();
  const auto& grid = detail::TensorAccess::grid(results.back());
  std::vector<Tensor> sources = {real};
  learned.append_to(sources);
  const auto backward = [real, grid, clips, learned](const Tensor& g) {
    std::vector<Tensor> gradients = {g};
    if (clips) {
      const auto [lo, hi] = learned.passes_or(real_limits(*grid));
      gradients[0] = inside_window(real, g, {lo, hi, -kInfinity, kInfinity});
    }
    learned.append_gradients(gradients, real, g);
    return gradients;
  };
  results.back() = record("integer_operator", results.back(), sources, backward);
  return results;
}

}  // namespace octet
