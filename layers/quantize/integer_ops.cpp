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

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace octet {
namespace {

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
  const std::int32_t result = lowering.append(step, {nullptr, owner, in.result}, tensors);
  std::vector<std::int32_t> results;
  for (const Operator& op : lowering.model().operators) results.push_back(op.outputs[0]);
  results.back() = result;
  lowering.finish(results);
  return std::move(lowering.model());
}

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

/// The operators of a step, and the quantization parameters of their results.
struct OperatorsOfStep {
  OperatorsOfStep(IntegerModel model, Rounding rounding) : prepared(std::move(model), rounding) {
    for (const std::int32_t output : prepared.model().outputs) {
      const ModelTensor& tensor = prepared.model().tensors[static_cast<std::size_t>(output)];
      results.push_back(std::make_shared<const QuantParams>(tensor.quantization));
    }
  }

  PreparedOperators prepared;
  std::vector<std::shared_ptr<const QuantParams>> results;
};

/// Runs operators on the quantized values of `inputs`: the results of all of them.
std::vector<Tensor> run_on_codes(const OperatorsOfStep& operators, std::span<const Tensor> inputs,
                                 const std::string& owner) {
  const IntegerModel& model = operators.prepared.model();
  const Index batch = one_batch(inputs, owner);
  std::vector<detail::StoredIntegers> held;
  std::vector<const std::byte*> from;
  held.reserve(inputs.size());
  from.reserve(inputs.size());
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
  if (batch > 0) operators.prepared.run(batch, from, to);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(model.outputs[i])];
    results.push_back(quantized_tensor(tensor.example_shape().with_batch(batch),
                                       operators.results[i], {tensor.dtype, std::move(made[i])}));
  }
  return results;
}

/// g where `real` is between the limits, else 0: g itself where it is known that all of it is.
Tensor passed(const Tensor& real, const Tensor& g, const RealLimits& limits) {
  const GradientWindow window{limits.lo, limits.hi, -kUnbounded, kUnbounded};
  return is_known_inside(real, window) ? g : inside_window(real, g, window, writable_gradient(g));
}

}  // namespace

Tensor with_gradients_of(const Tensor& real, const Tensor& result, bool clips,
                         const LearnedRange& learned) {
  const auto& grid = result.quantization();
  std::vector<Tensor> sources = {real};
  learned.append_to(sources);
  const auto backward = [real, grid, clips, learned](const Tensor& g) {
    std::vector<Tensor> of_learned;
    learned.append_gradients(of_learned, real, g);
    // Behind what reads g: it may be written over.
    std::vector<Tensor> gradients = {clips ? passed(real, g, learned.passes_or(real_limits(*grid)))
                                           : g};
    std::ranges::move(of_learned, std::back_inserter(gradients));
    return gradients;
  };
  return record("integer_operator", result, sources, backward);
}

/// The operators of a step for one set of scales.
class PreparedStep {
 public:
  using Operators = std::shared_ptr<const OperatorsOfStep>;
  /// The quantization parameters of the inputs, and of the result where it has a quantizer.
  struct Scales {
    std::vector<std::shared_ptr<const QuantParams>> inputs;
    std::optional<QuantParams> result;

    bool operator==(const Scales& other) const {
      const auto same = [](const auto& a, const auto& b) { return a == b || *a == *b; };
      return std::ranges::equal(inputs, other.inputs, same) && result == other.result;
    }
  };

  /// The operators for these scales. `make` makes them unless they are those of the last call.
  /// Several threads may run one model.
  Operators for_scales(Scales scales, FunctionRef<Operators()> make) {
    const std::lock_guard guard(mutex_);
    if (operators_ == nullptr || scales != scales_) {
      operators_ = make();
      scales_ = std::move(scales);
    }
    return operators_;
  }

 private:
  std::mutex mutex_;
  Scales scales_;
  Operators operators_;
};

std::shared_ptr<PreparedStep> make_prepared_step() { return std::make_shared<PreparedStep>(); }

namespace {

/// The operators of a step, made anew where a scale has changed, or the weights may have.
PreparedStep::Operators prepared_operators(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const auto make = [&] {
    return std::make_shared<const OperatorsOfStep>(single_step_model(step, in),
                                                   scheme.options->rounding);
  };
  const bool keeps = scheme.prepared != nullptr && step.kind != Step::Kind::linear &&
                     step.parameter_inputs.empty();
  if (!keeps) return make();
  PreparedStep::Scales scales;
  scales.inputs.reserve(in.x.size());
  for (const Tensor& x : in.x) {
    require_grid(x, scheme.owner);
    scales.inputs.push_back(x.quantization());
  }
  if (scheme.result != nullptr) scales.result = scheme.result->params();
  return scheme.prepared->for_scales(std::move(scales), make);
}

}  // namespace

Tensor integer_operator(const Step& step, const StepInputs& in, const Tensor& real, bool clips,
                        const LearnedRange& learned) {
  const StepScheme& scheme = *step.scheme;
  std::vector<Tensor> x;
  x.reserve(in.x.size());
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    if (!step.reads_parameter(i)) x.push_back(in.x[i]);
  }
  const std::vector<Tensor> results = run_on_codes(*prepared_operators(step, in), x, scheme.owner);
  if (in.before != nullptr) in.before->insert(in.before->end(), results.begin(), results.end() - 1);
  return real.defined() ? with_gradients_of(real, results.back(), clips, learned) : results.back();
}

}  // namespace octet
