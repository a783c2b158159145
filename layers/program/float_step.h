#pragma once

#include <octet/layers/program/program.h>

namespace octet {

/// A step in floats, with its gradients.
Tensor run_in_floats(const Step& step, const StepInputs& in);

}  // namespace octet
