#pragma once

#include <octet/deploy/tflite/reader.h>
#include <octet/runtime/interpreter.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

// Int8 networks that carry states from step to step, which others made: LSTMs for handwritten
// digits (Coral, TFLite Micro), DTLN's first half for speech in noise, and microWakeWord's
// convolutions for speech and for a wake word.

namespace octet::test {

inline constexpr std::array kForeignStreams = {"lstm_mnist", "lstm_mnist_2", "dtln_tflm",
                                               "microwakeword_v2", "microwakeword_v2_2"};

/// The folder OCTET_MODELS_DIR with their .tflite files; empty where that is not set.
inline std::filesystem::path foreign_models_folder() {
  const char* folder = std::getenv("OCTET_MODELS_DIR");
  return folder == nullptr ? "" : folder;
}

inline IntegerModel foreign_stream(const std::string& name) {
  return read_tflite(foreign_models_folder() / (name + ".tflite"));
}

}  // namespace octet::test
