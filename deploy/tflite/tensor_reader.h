#pragma once

#include <octet/deploy/tflite/budget.h>
#include <octet/deploy/tflite/file_access.h>
#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octet::detail {

/// Reads the tensors of a .tflite file; whatever is copied is taken from `budget`. Both must
/// outlive it.
class TensorReader {
 public:
  TensorReader(const tflite::Model& file, Budget& budget) : file_(&file), budget_(&budget) {}

  /// Throws FormatError, naming the tensor, for what Octet does not take.
  ModelTensor read(std::size_t index, const tflite::Tensor& source) const;

  /// The bytes of a buffer, null where it has none. Throws FormatError for one that does not exist
  /// or lies behind the FlatBuffer; `who` names what wants it.
  const flatbuffers::Vector<std::uint8_t>* buffer_data(std::size_t index,
                                                       std::string_view who) const;

  /// Up to the first zero byte, where runtimes stop reading.
  std::string text(const flatbuffers::String* text) const;

 private:
  void read_data(const flatbuffers::Vector<std::uint8_t>* data, std::string_view who,
                 ModelTensor& tensor) const;
  /// The constants of a tensor of float16, as float32.
  void read_halves(const flatbuffers::Vector<std::uint8_t>& data, std::string_view who,
                   ModelTensor& tensor) const;
  void read_quantization(const tflite::QuantizationParameters& source, std::string_view who,
                         ModelTensor& tensor) const;

  const tflite::Model* file_;
  Budget* budget_;
};

}  // namespace octet::detail
