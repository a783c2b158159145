#pragma once

#include <octet/core/function_ref.h>
#include <octet/deploy/tflite/operators.h>

#include <cstdint>
#include <string>
#include <vector>

// A .tflite file as its tables.

namespace octet::detail {

template <class T>
std::size_t size_or_zero(const T* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// Calls read(file) for the tables in `bytes`, all of which lie inside of them. Throws FormatError
/// where the bytes are no .tflite file.
void with_tflite(std::span<const std::uint8_t> bytes, FunctionRef<void(const tflite::Model&)> read);

/// Why from_tflite() would not take each operator of each graph, if all others were fine; empty
/// where it would. Throws FormatError where the parts add up to much more than the file.
std::vector<std::vector<std::string>> tflite_refusals(const tflite::Model& file,
                                                      std::size_t file_bytes);

}  // namespace octet::detail
