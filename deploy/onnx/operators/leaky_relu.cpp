#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

void write_leaky_relu(OnnxNodes& nodes, const Operands& o) {
  nodes.finish_function(o, "LeakyRelu", {{"alpha", o.op.as<LeakyReluAttributes>().alpha}});
}

}  // namespace

OnnxOperator onnx_forms::leaky_relu() { return {write_leaky_relu}; }

}  // namespace octet::detail
