#pragma once

#include <octet/import/import_options.h>
#include <octet/layers/model.h>
#include <octet/runtime/integer_model.h>

#include <string>

namespace octet::tools {

/// A float model: import_onnx() of an .onnx file, import_tflite() of a .tflite file, else
/// load_model(). Throws as those do, and where only the checkpoint before a damaged one could be
/// read.
Model read_float_model(const std::string& file, const octet::ImportOptions& options = {});

/// What a file of read_float_model() says of the examples that it was trained on: a model that has
/// nothing but metadata, and none of other formats than .tflite. Throws as read_tflite().
IntegerModel metadata_of(const std::string& file);

}  // namespace octet::tools
