#pragma once

#include <octet/deploy/tflite/file_access.h>
#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <cstdint>
#include <vector>

// Models of uint8, as TensorFlow 1 wrote them: a code of uint8 less 128 is the code of int8 that
// stands for the same value, on the same scale and a zero point 128 lower. Operators subtract zero
// points before they compute anything, so that both have the same bytes, but for the 128.

namespace octet::detail {

/// By tensor of `graph`: whether it is quantized to uint8 and an operator computes with it.
/// QUANTIZE and DEQUANTIZE do not, and the Interpreter has them on uint8.
std::vector<bool> uint8_values(const tflite::Model& file, const tflite::SubGraph& graph,
                               Budget& budget);

/// Makes codes of int8 of a tensor of uint8.
void make_int8(ModelTensor& tensor);

/// Takes zero points off int8 constants with several of them, where all codes stay codes of int8:
/// weights of channels that are 0 all through may have one, and operators take none.
void make_symmetric(ModelTensor& tensor);

/// Throws FormatError where an operator on tensors of uint8 would have other bytes on int8: an
/// AVERAGE_POOL_2D over an even number of pixels rounds halves up, on int8 away from code 0.
void require_same_on_int8(const Operator& op, std::size_t index);

/// Lets the model keep inputs and outputs of uint8 where `values`, the tensors that are int8 now,
/// says so: by a QUANTIZE behind each input and in front of each output.
void keep_uint8_ends(IntegerModel& model, const std::vector<bool>& values, Budget& budget);

}  // namespace octet::detail
