#pragma once

#include <octet/layers/program/program.h>

namespace octet {

/// A step of a quantized layer as its StepScheme says: on integers, or in floats with fake
/// quantization. Observes ranges and passes gradients as the context asks.
Tensor run_quantized(const Step& step, const StepInputs& in);

}  // namespace octet
