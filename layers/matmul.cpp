#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/graph.h>
#include <octet/layers/matmul.h>
#include <octet/layers/program/float_operators.h>

#include <algorithm>

namespace octet {
namespace {

bool fits(const Shape& a, const Shape& b, const MatMulOptions& options) {
  if (a.rank() < 2 || a.rank() != b.rank()) return false;
  return std::equal(a.begin(), a.end() - 2, b.begin()) &&
         a.dim(options.transpose_first ? -2 : -1) == b.dim(options.transpose_second ? -1 : -2);
}

}  // namespace

std::vector<GraphValue> MatMul::emit(Graph& g, std::span<const GraphValue> inputs) const {
  if (inputs.size() != 2 || !fits(g.shape(inputs[0]), g.shape(inputs[1]), options_)) {
    std::string found;
    for (const GraphValue input : inputs) {
      found += (found.empty() ? "" : " and ") + g.shape(input).to_string();
    }
    throw InvalidArgument(fmt::format(
        "MatMul \"{}\": expected two values of matrices, {} and {}, with the same axes in front, "
        "found {}",
        name(), options_.transpose_first ? "[.., k, n]" : "[.., n, k]",
        options_.transpose_second ? "[.., m, k]" : "[.., k, m]", found));
  }
  return {g.op(OpCode::batch_matmul, {inputs[0], inputs[1]},
               BatchMatmulAttributes{.adj_x = options_.transpose_first,
                                     .adj_y = options_.transpose_second})};
}

void MatMul::describe(Description& description) const {
  description.set("transpose_first", options_.transpose_first)
      .set("transpose_second", options_.transpose_second);
}

std::unique_ptr<Layer> MatMul::make(const Description& d) {
  return std::make_unique<MatMul>(MatMulOptions{.transpose_first = d.flag("transpose_first"),
                                                .transpose_second = d.flag("transpose_second")});
}

Tensor float_forms::batch_matmul(const FloatCall& call) {
  const auto& attributes = call.as<BatchMatmulAttributes>();
  return octet::batch_matmul(call.x[0], call.x[1], transpose_of(attributes.adj_x),
                             transpose_of(attributes.adj_y));
}

}  // namespace octet
