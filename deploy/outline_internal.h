#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What is in a file, whether Octet runs it or not.

namespace octet::detail {

/// The bytes of a name that are kept: a small file may name thousands of tensors alike.
inline constexpr std::size_t kMostOfOutlinedName = 60;

/// A value, or a constant.
struct OutlinedTensor {
  std::string name;
  /// "int8", "float16"; empty where the file does not say.
  std::string type;
  /// -1 for an extent that is not known; none where the file does not say.
  std::optional<std::vector<std::int64_t>> shape;
  /// Bytes of constant data in this file.
  std::size_t constant_bytes = 0;
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  std::int64_t quantized_dimension = 0;
};

struct OutlinedOperator {
  /// "CONV_2D", "MatMul", "custom operator 'NAME'".
  std::string name;
  /// 0 where the format has none.
  int version = 0;
  /// Indices of tensors; -1 for an absent input.
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  /// Why Octet does not take it; empty where it does.
  std::string refusal;
};

struct OutlinedGraph {
  std::string name;
  std::vector<OutlinedTensor> tensors;
  std::vector<OutlinedOperator> operators;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
};

/// Names are printable.
struct FileOutline {
  /// The description in the file, or the name and version of the program that wrote it.
  std::string description;
  std::vector<OutlinedGraph> graphs;
};

/// What a .tflite file holds. Throws FormatError where the bytes are no such file, or where its
/// parts add up to much more than the file.
FileOutline outline_tflite(std::span<const std::uint8_t> bytes);

}  // namespace octet::detail
