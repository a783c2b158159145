#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

void write_logistic(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Sigmoid"); }

}  // namespace

OnnxOperator onnx_forms::logistic() { return {write_logistic}; }

}  // namespace octet::detail
