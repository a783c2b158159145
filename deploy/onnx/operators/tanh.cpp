#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

void write_tanh(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Tanh"); }

}  // namespace

OnnxOperator onnx_forms::tanh() { return {write_tanh}; }

}  // namespace octet::detail
