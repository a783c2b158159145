#include <fmt/core.h>

#include "commands.h"
#include "float_model.h"
#include "show.h"

namespace octet::tools {

void import_model(const ImportOptions& options) {
  const Model model = read_float_model(options.file);
  model.save(options.out);
  // Names of layers come from the file; they have letters, digits, '.', '-' and '_' alone.
  show("{}", model.summary());
}

}  // namespace octet::tools
