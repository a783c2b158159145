#pragma once

#include <string>
#include <vector>

namespace octet {

class Model;

/// Returns the names of the layers of a quantized model that Backward::int8 leaves in floats, in
/// their order: those with weights for which has_int8_gradients() is false, or whose products are
/// not computed on int8 in training, as with Simulation::fake_quant, on int16 and in float; those
/// that multiply two values, as attention does; and those of your own with parameters that override
/// forward_all().
std::vector<std::string> layers_with_float_gradients(const Model& model);

}  // namespace octet
