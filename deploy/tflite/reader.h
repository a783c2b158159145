#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <span>

namespace octet {

/// How int8 weights are read whose operators multiply float32 activations by them, which the
/// TensorFlow converter calls dynamic range quantization.
enum class HybridWeights {
  refused,   ///< runtimes quantize the activations of every batch, which Interpreter does not
  as_floats  ///< as the float32 values that they stand for
};

/// The model in a .tflite file, ours or another tool's, of one subgraph and the operators of
/// OpCode, and those that are others of these: EMBEDDING_LOOKUP, EXPAND_DIMS, PACK, SLICE, SPLIT_V,
/// UNPACK, and of floats SQUARED_DIFFERENCE and MEAN over the last axis. SHAPE, and what takes it
/// apart for a RESHAPE, become constants. Constants of float16 become float32, and a DEQUANTIZE of
/// them goes. Resource variables become states, see kept_states(): inputs and outputs behind the
/// others, which StreamingInterpreter and C source carry from step to step. Trusts nothing:
/// structure, indices, shapes and sizes are checked before anything of their size is allocated.
/// Throws FormatError that names what is broken or not supported.
IntegerModel from_tflite(std::span<const std::uint8_t> bytes,
                         HybridWeights hybrid = HybridWeights::refused);

/// Maps `path` (IoError), then from_tflite(), whose errors get the file's name in front. The model
/// has its constants of its own: the file may change afterwards.
IntegerModel read_tflite(const std::filesystem::path& path,
                         HybridWeights hybrid = HybridWeights::refused);

}  // namespace octet
