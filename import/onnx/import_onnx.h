#pragma once

#include <octet/import/import_options.h>
#include <octet/layers/model.h>

#include <cstdint>
#include <filesystem>
#include <span>

namespace octet {

/// The float network in an ONNX file (opset 7 to 24), as PyTorch, tf2onnx and Keras export it: a
/// built Model with the file's weights, ready to be trained on, or given to quantize_model().
///
/// ONNX images are [batch, channels, height, width], Octet's [batch, height, width, channels]: an
/// input that an image operator reads becomes [height, width, channels], kernels and the rows of a
/// Dense behind a Flatten are put in that order once, and a Transpose is a Permute only where a
/// layer reads elements in another order than the model has them. Inputs that a Transpose brings
/// into ONNX's order stay as they are. So do results: images are [height, width, channels]. What
/// scales pixels before the network is the caller's business.
///
/// Layers take the names of their weights in the file ("layer1.0.conv1" of
/// "layer1.0.conv1.weight"), or of their nodes. Weights in external data files are read from the
/// folder of `path`, never from outside it. docs/import.md lists operators and limits.
///
/// Trusts nothing: sizes are held against those of the files before anything of their size is
/// allocated. Throws IoError; FormatError where a file is broken; InvalidArgument, naming operator
/// and node, counting what would import, and proposing the `to` that would import the nodes in
/// front, where Octet has no equal.
Model import_onnx(const std::filesystem::path& path, const ImportOptions& options = {});

/// Imports a model from bytes in memory, which hold all of its weights.
Model import_onnx(std::span<const std::uint8_t> bytes, const ImportOptions& options = {});

}  // namespace octet
