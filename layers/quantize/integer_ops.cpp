#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/passes.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/program/lowering.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/runtime/execute.h>

#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// Lowers one step, as an export does, to the model that training runs it by: its inputs have the
/// quantization parameters of `in`, its outputs are the results of all of its operators.
IntegerModel single_step_model(const Step& step, const StepInputs& in) {
  const std::string& owner = step.scheme->owner;
  Lowering lowering(owner);
  std::vector<std::int32_t> tensors;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const QuantParams& params = require_grid(in.x[i], owner);
    tensors.push_back(step.reads_parameter(i)
                          ? lowering.quantized_constant(fmt::format("parameter_{}", i), in.x[i])
                          : lowering.quantized_input(in.x[i].shape().without_batch(), params));
  }
  lowering.append(step, {nullptr, owner, in.result}, tensors);
  std::vector<std::int32_t> results;
  for (const Operator& op : lowering.model().operators) results.push_back(op.outputs[0]);
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
  const auto& grid = x.quantization();
  if (grid == nullptr) {
    throw InvalidArgument(fmt::format(
        "{}: integer simulation expects a quantized input, found real values; quantize the layer "
        "in front too, or use Simulation::fake_quant",
        owner));
  }
  return *grid;
}

bool is_int16(const Tensor& x) {
  const auto& params = x.quantization();
  return params != nullptr && integer_type_of(*params) == DType::int16;
}

namespace {

std::shared_ptr<std::byte[]> memory_of(const ModelTensor& tensor, Index batch) {
  return allocate_array<std::byte>(static_cast<std::size_t>(batch * tensor.size()) *
                                   size_of(tensor.dtype));
}

/// Runs operators on the quantized values of `inputs`: the results of all of them.
std::vector<Tensor> run_on_codes(const PreparedOperators& operators, std::span<const Tensor> inputs,
                                 const std::string& owner) {
  const IntegerModel& model = operators.model();
  const Index batch = one_batch(inputs, owner);
  std::vector<detail::StoredIntegers> held;
  std::vector<const std::byte*> from;
  for (const Tensor& x : inputs) {
    held.push_back(integers_of(x, require_grid(x, owner)));
    from.push_back(held.back().bytes());
  }
  std::vector<std::shared_ptr<std::byte[]>> made;
  std::vector<std::byte*> to;
  for (const std::int32_t output : model.outputs) {
    made.push_back(memory_of(model.tensors[static_cast<std::size_t>(output)], batch));
    to.push_back(made.back().get());
  }
  if (batch > 0) operators.run(batch, from, to);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(model.outputs[i])];
    results.push_back(quantized_tensor(tensor.example_shape().with_batch(batch),
                                       std::make_shared<const QuantParams>(tensor.quantization),
                                       {tensor.dtype, std::move(made[i])}));
  }
  return results;
}

/// `result` with the gradients of `real`, which pass where they are not clipped, if they are.
Tensor with_gradients_of(const Tensor& real, const Tensor& result, bool clips,
                         const LearnedRange& learned) {
  const auto& grid = result.quantization();
  std::vector<Tensor> sources = {real};
  learned.append_to(sources);
  const auto backward = [real, grid, clips, learned](const Tensor& g) {
    std::vector<Tensor> gradients = {g};
    if (clips) {
      const auto [lo, hi] = learned.passes_or(real_limits(*grid));
      gradients[0] = inside_window(real, g, {lo, hi, -kUnbounded, kUnbounded});
    }
    learned.append_gradients(gradients, real, g);
    return gradients;
  };
  return record("integer_operator", result, sources, backward);
}

}  // namespace

/// The operators of a step for one set of scales.
class PreparedStep {
 public:
  using Operators = std::shared_ptr<const PreparedOperators>;

  /// The operators for the quantization parameters of inputs and result. `make` makes them unless
  /// they are those of the last call. Several threads may run one model.
  Operators for_params(std::vector<QuantParams> params, FunctionRef<Operators()> make) {
    const std::lock_guard guard(mutex_);
    if (operators_ == nullptr || params != params_) {
      operators_ = make();
      params_ = std::move(params);
    }
    return operators_;
  }

 private:
  std::mutex mutex_;
  std::vector<QuantParams> params_;
  Operators operators_;
};

std::shared_ptr<PreparedStep> make_prepared_step() { return std::make_shared<PreparedStep>(); }

namespace {

/// The operators of a step, made anew where a scale has changed, or the weights may have.
PreparedStep::Operators prepared_operators(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const auto make = [&] {
    return std::make_shared<const PreparedOperators>(single_step_model(step, in),
                                                     scheme.options->rounding);
  };
  const bool keeps = scheme.prepared != nullptr && step.kind != Step::Kind::linear &&
                     step.parameter_inputs.empty();
  if (!keeps) return make();
  std::vector<QuantParams> params;
  for (const Tensor& x : in.x) params.push_back(require_grid(x, scheme.owner));
  if (scheme.result != nullptr) params.push_back(scheme.result->params());
  return scheme.prepared->for_params(std::move(params), make);
}

}  // namespace

Tensor integer_operator(const Step& step, const StepInputs& in, const Tensor& real, bool clips,
                        const LearnedRange& learned) {
  const StepScheme& scheme = *step.scheme;
  std::vector<Tensor> x;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    if (!step.reads_parameter(i)) x.push_back(in.x[i]);
  }
  const std::vector<Tensor> results = run_on_codes(*prepared_operators(step, in), x, scheme.owner);
  if (in.before != nullptr) in.before->insert(in.before->end(), results.begin(), results.end() - 1);
  return real.defined() ? with_gradients_of(real, results.back(), clips, learned) : results.back();
}

}  // namespace octet
