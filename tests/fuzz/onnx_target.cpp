#include <octet/core/error.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/onnx/outline_internal.h>

#include "targets.h"

namespace octet::fuzz {

void onnx(Data input) {
  try {
    detail::outline_onnx(input, "");
    const Model model = import_onnx(input);
    require(model.built(), "an imported model is built");
    for (const NamedTensor& tensor : model.parameters()) {
      require(tensor.tensor.size() <= static_cast<Index>(16 * input.size() + 65536),
              "no tensor is much larger than the file");
    }
  } catch (const FormatError&) {
    return;
  } catch (const InvalidArgument&) {
    // What Octet has no equal of.
    return;
  }
}

}  // namespace octet::fuzz
