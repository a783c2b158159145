#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// How int8 weights are read whose operators multiply float32 activations by them, which the
/// TensorFlow converter calls dynamic range quantization.
enum class HybridWeights {
  refused,   ///< runtimes quantize the activations of every batch, which Interpreter does not
  as_floats  ///< as the float32 values that they stand for
};

/// How a .tflite file is read.
struct TfliteReading {
  HybridWeights hybrid = HybridWeights::refused;
  /// Tensors of the file that become the inputs of the model, by name, by what octet inspect prints
  /// of a long name, or by number; none: those of the file.
  std::vector<std::string> from{};
  /// Tensors of the file that become the outputs of the model; none: those of the file. What they
  /// do not follow from may be of any kind.
  std::vector<std::string> to{};
};

/// The model in a .tflite file, ours or another tool's, of one subgraph and the operators of
/// OpCode, and those that are others of these: DEPTH_TO_SPACE, EMBEDDING_LOOKUP, EXPAND_DIMS, PACK,
/// SLICE, SPACE_TO_DEPTH, SPLIT_V, UNPACK, and of floats DIV by a constant, SQUARED_DIFFERENCE and
/// MEAN over the last axis. SHAPE, and what takes it apart for a RESHAPE, become constants.
/// Constants of float16 become float32, and a DEQUANTIZE of them goes. Resource variables become
/// states, see kept_states(): inputs and outputs behind the others, which StreamingInterpreter and
/// C source carry from step to step. Values of uint8 become int8, each code less 128, but for
/// inputs and outputs, which get a QUANTIZE. Trusts nothing: structure, indices, shapes and sizes
/// are checked before anything of their size is allocated. Throws FormatError that names what is
/// broken or not supported, and where the operators in front of that are a model (this was tried),
/// the `to` that reads them.
IntegerModel from_tflite(std::span<const std::uint8_t> bytes, const TfliteReading& reading = {});

/// Maps `path` (IoError), then from_tflite(), whose errors get the file's name in front. The model
/// has its constants of its own: the file may change afterwards.
IntegerModel read_tflite(const std::filesystem::path& path, const TfliteReading& reading = {});

}  // namespace octet
