#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

// What is fuzzed. A target takes any bytes and returns; whatever must not happen ends in abort(),
// in a sanitizer's report or in an exception that the target does not expect. libFuzzer drives one
// target a program, replay.cpp all of them over their corpora.

namespace octet::fuzz {

using Data = std::span<const std::uint8_t>;

/// The bytes as text.
inline std::string_view text_of(Data input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// A .tflite file: read, run where it is small, written and read again.
void tflite(Data input);
/// A valid model drawn from the bytes: every code path, batch size, the file, and dense layers as
/// convolutions give the same.
void interpreter(Data input);
/// An IDX file, plain or gzipped.
void idx(Data input);
/// The images and the labels of a data set.
void dataset(Data input);
/// An .npy file, plain or gzipped.
void npy(Data input);
/// A file of CIFAR-10 records.
void cifar10(Data input);
/// A CSV file; its first bytes choose the options.
void csv(Data input);
/// A CSV file for load_data(); its first bytes choose the options.
void csv_data(Data input);
/// A .ts file; its first byte chooses the options.
void ts(Data input);
/// A JPEG, PNG or BMP file, resized; nothing where the build reads none.
void image(Data input);
/// A WAV file; nothing where the build reads none.
void wav(Data input);
/// A checkpoint or saved weights, its checksum made right: read, loaded and resumed from.
void checkpoint(Data input);
/// The description of a model's layers.
void architecture(Data input);
/// The history in a checkpoint.
void history(Data input);
/// An ONNX file, imported.
void onnx(Data input);
/// A command line of mnist_qat, words separated by zero bytes.
void options(Data input);
/// Requantization against an oracle of its own.
void requantize(Data input);

/// A .safetensors file: read, and its weights loaded under PyTorch's names.
void safetensors(Data input);

/// An .npz file: as safetensors().
void npz(Data input);

/// An .npz file of examples: arrays that a model names, and x and y.
void named_arrays(Data input);

/// The JSON of --augment.
void augmentation(Data input);

/// An entry of a model's metadata about its examples, which the first byte chooses.
void example_metadata(Data input);

struct Target {
  std::string_view name;
  void (*run)(Data);
};

inline constexpr std::array kTargets = {
    Target{"tflite", tflite},
    Target{"interpreter", interpreter},
    Target{"idx", idx},
    Target{"dataset", dataset},
    Target{"npy", npy},
    Target{"cifar10", cifar10},
    Target{"csv", csv},
    Target{"csv_data", csv_data},
    Target{"ts", ts},
    Target{"image", image},
    Target{"wav", wav},
    Target{"checkpoint", checkpoint},
    Target{"architecture", architecture},
    Target{"history", history},
    Target{"onnx", onnx},
    Target{"options", options},
    Target{"requantize", requantize},
    Target{"safetensors", safetensors},
    Target{"npz", npz},
    Target{"named_arrays", named_arrays},
    Target{"augmentation", augmentation},
    Target{"example_metadata", example_metadata},
};

/// Aborts with `what` unless `holds`.
void require(bool holds, std::string_view what);

}  // namespace octet::fuzz
