#include "float_model.h"

#include <octet/core/archive.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/train/load_model.h>

#include <filesystem>

namespace octet::tools {

Model read_float_model(const std::string& file, const octet::ImportOptions& options) {
  const std::filesystem::path extension = std::filesystem::path(file).extension();
  if (extension == ".onnx") return import_onnx(file, options);
  if (extension == ".tflite") return import_tflite(file, options);
  // A damaged file is an error: load_model() would go on with the checkpoint before it.
  Archive::read(file);
  return load_model(file);
}

IntegerModel metadata_of(const std::string& file) {
  IntegerModel says;
  if (std::filesystem::path(file).extension() == ".tflite") {
    says.metadata = read_tflite(file, {.hybrid = HybridWeights::as_floats}).metadata;
  }
  return says;
}

}  // namespace octet::tools
