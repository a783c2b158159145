#pragma once

#include <octet/core/language.h>

#include <octet/core/dtype.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>
#include <octet/core/shape.h>
#include <octet/runtime/operator.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

/// One tensor of an IntegerModel: a constant where it has data, else computed or an input.
struct ModelTensor {
  std::string name;
  DType dtype = DType::int8;
  /// Extents with 1 for an unknown batch.
  std::vector<std::int32_t> shape;
  /// Extents with -1 for an unknown batch; empty where it equals `shape`.
  std::vector<std::int32_t> shape_signature;
  /// Scales and zero points; no scales where the tensor is not quantized.
  QuantParams quantization;
  /// Row-major, little-endian.
  std::vector<std::uint8_t> data;
  /// Bits of a value in files: 8, or 4 or 2 where the values of constant weights fit. `data` has a
  /// byte per value all the same. FULLY_CONNECTED takes weights of 4 and 2 bits, CONV_2D and
  /// DEPTHWISE_CONV_2D of 4; how runtimes rescale their sums: see contract_of_weights().
  int stored_bits = 8;
  /// Bits, 1 to 7, of the indices that a file holds in the place of constant int8 values: an
  /// operator TFLM_DECODE turns them into int8 before TensorFlow Lite Micro runs the model. 0:
  /// there is none.
  int decoded_bits = 0;

  /// Bytes of the data in a file.
  std::size_t stored_bytes() const;
  bool is_constant() const { return !data.empty(); }
  bool is_quantized() const { return !quantization.scales.empty(); }
  /// `shape` without its first extent, the batch; no extents of a single number.
  Shape example_shape() const;
  /// The number of elements of `shape`. Throws FormatError for a negative extent or from 2^31 on.
  std::int64_t size() const;
};

/// A network in integers: what is interpreted, and what every export writes. lower() makes one from
/// a trained model, read_tflite() from a file.
struct IntegerModel {
  std::string name = "main";
  std::string description;
  std::vector<ModelTensor> tensors;
  /// In the order in which they run.
  std::vector<Operator> operators;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  /// Free text by name, stored in the file; "octet.rounding" holds the rounding mode.
  std::map<std::string, std::string> metadata;

  /// Throws FormatError that names the tensor or operator at fault: an index outside, a shape whose
  /// size does not fit its data, an operand of a type or shape that its operator does not take,
  /// attributes of another operator, a value read before it is written.
  void validate() const;
};

/// The entry of the metadata that names the rounding mode.
inline constexpr const char* kRoundingKey = "octet.rounding";

/// The rounding mode that the model's metadata "octet.rounding" names; where there is none, q15 for
/// a model whose operators with weights read int16, else fp32. Throws FormatError for another name.
Rounding rounding_of(const IntegerModel& model);

}  // namespace octet
