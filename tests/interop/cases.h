#pragma once

#include <octet/octet.h>
#include <octet/tests/interop/case_folder.h>

// The cases by where their models come from.

namespace octet::interop {

constexpr std::size_t kTrainImages = 20000;

/// What of the test set the networks of the examples are run on.
struct NetworkImages {
  std::size_t first = 0;
  std::size_t results = 1000;
  /// Images of which every layer is compared.
  std::size_t layers = 20;
};

/// Multilayer perceptrons, trained: every layer on every test image.
void add_images(CaseFolder& folder, const DataSplit& data);
/// The networks of the examples, batch normalization folded.
void add_networks(CaseFolder& folder, const DataSplit& data, const NetworkImages& count);
/// Random nets, graphs and single operators, every layer.
void add_random_cases(CaseFolder& folder);
/// How many cases of each width, 2 to 7 bits, there are, about: random nets, and operators on
/// scales that are powers of two.
struct PackedCount {
  std::uint32_t nets = 20;
  std::uint32_t ties = 18;
  /// Whether the multilayer perceptrons are .tflite files of packed weights, too.
  bool packed_files = false;
};

/// Weights of 2 to 7 bits, which ONNX files hold packed: every layer of random nets, and of
/// multilayer perceptrons on every test image.
void add_packed_cases(CaseFolder& folder, const DataSplit& data, const PackedCount& count = {});
/// .tflite files of packed weights: `nets` random nets with weights in 4 bits, and as many in 2;
/// and as many operators each on scales that are powers of two.
void add_few_bits_cases(CaseFolder& folder, std::uint32_t nets);
/// Codes of int16 with int8 weights, under contract q15: chains of dense layers, and convolutions.
void add_int16_cases(CaseFolder& folder);
/// Detectors of floats that end in a TFLite_Detection_PostProcess.
void add_detection_cases(CaseFolder& folder);
/// The networks of a folder of .tflite files. Throws InvalidArgument where it holds none.
void add_foreign_networks(CaseFolder& folder, const fs::path& files);

/// The codes of `reals` on the grid of the model's input.
std::vector<std::int8_t> quantized(const IntegerModel& model, std::span<const float> reals);
/// The model with every layer's codes as an output.
IntegerModel with_all_layers(IntegerModel model);

}  // namespace octet::interop
