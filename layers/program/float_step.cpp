#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/program/float_linear.h>
#include <octet/layers/program/float_operators.h>
#include <octet/layers/program/float_step.h>

namespace octet {
namespace {

Tensor linear_step(const Step& step, const StepInputs& in) {
  const Tensor& x = in.x[0];
  if (step.folded != nullptr && step.folded->uses_batch(in.context)) {
    return apply_activation(step.clamp, step.folded->normalized(x, in.context));
  }
  return linear_in_floats(*step.layer, weights_of(step, in), x, step.clamp);
}

}  // namespace

Tensor run_in_floats(const Step& step, const StepInputs& in) {
  switch (step.kind) {
    case Step::Kind::op:
      if (in.context.logits && step.code == OpCode::softmax) return in.x[0];
      return float_operator(step, in.result, in.x);
    case Step::Kind::linear:
      return linear_step(step, in);
    case Step::Kind::function:
      return step.function.run(in.x, in.context, step.clamp);
    case Step::Kind::parameter:
      return parameter_of(step);
    case Step::Kind::quantize:
    case Step::Kind::requantize:
      break;
  }
  throw InvalidArgument(
      fmt::format("layer \"{}\": expected a step that computes in floats", step.layer->name()));
}

}  // namespace octet
