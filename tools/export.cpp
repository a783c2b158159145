#include <fmt/core.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/packed_weights.h>

#include "commands.h"
#include "show.h"

namespace octet::tools {

void export_model(const ExportOptions& options) {
  const IntegerModel model = read_tflite(options.file);
  if (!options.onnx.empty()) {
    write_onnx(model, options.onnx,
               {.style = options.style == "exact" ? OnnxStyle::exact : OnnxStyle::standard,
                .float_io = !options.int8_io,
                .code_outputs = options.codes});
  }
  if (!options.c.empty()) write_c_source(model, options.c);
  if (!options.tflm.empty()) write_tflite(decode_weights(model), options.tflm);
  for (const std::string& warning : runtime_warnings(model)) {
    show_error("octet: warning: {}\n", printable(warning, kMostOfWarning));
  }
}

}  // namespace octet::tools
