#include <fmt/format.h>
#include <octet/import/onnx/import_onnx.h>

#include "commands.h"

namespace octet::tools {

void import_model(const ImportOptions& options) {
  const Model model = import_onnx(options.file);
  model.save(options.out);
  // Names of layers come from the file; they have letters, digits, '.', '-' and '_' alone.
  fmt::print("{}", model.summary());
}

}  // namespace octet::tools
