#pragma once

#include <octet/deploy/tflite/budget.h>
#include <octet/runtime/integer_model.h>

#include <vector>

namespace octet::detail {

/// Makes `tensor` a constant of float32 with these values.
void set_reals(ModelTensor& tensor, const std::vector<float>& reals);

/// Makes a constant of int8, int16 or uint8 the float32 values that it stands for. Throws
/// FormatError for other scales than one, or one for each index of an axis.
void make_real(ModelTensor& tensor);

/// See HybridWeights::as_floats.
void make_hybrid_weights_real(IntegerModel& model, Budget& budget);

}  // namespace octet::detail
