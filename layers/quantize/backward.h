#pragma once

#include <octet/layers/layer.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet {

class Model;

/// "float32", "int8" or "int8-stochastic". Throws InvalidArgument for a value outside the
/// enumeration.
std::string_view to_string(Backward backward);
/// The Backward of that name. Throws InvalidArgument for another.
Backward parse_backward(std::string_view name);

/// Returns the names of the layers of a quantized model that Backward::int8 leaves in floats, in
/// their order: those with weights for which has_int8_gradients() is false, or whose products are
/// not computed on int8 in training, as with Simulation::fake_quant, on int16 and in float; those
/// that multiply two values, as attention does; and those of your own with parameters that override
/// forward_all().
std::vector<std::string> layers_with_float_gradients(const Model& model);

}  // namespace octet
