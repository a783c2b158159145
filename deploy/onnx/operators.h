#pragma once

#include <octet/deploy/onnx/graph.h>
#include <octet/deploy/onnx/values.h>
#include <octet/runtime/operators/definitions.h>

#include <string>
#include <vector>

namespace octet::detail {

/// Writes operators as nodes of a graph: what the functions of the operators have in common.
class OnnxNodes {
 public:
  using Names = OnnxValues::Names;
  using Extents = OnnxValues::Extents;

  OnnxNodes(const IntegerModel& model, bool exact, OnnxGraph& graph, OnnxValues& values)
      : model_(model), exact_(exact), graph_(graph), values_(values) {}

  const IntegerModel& model() const { return model_; }
  /// Whether numbers between QuantizeLinear and DequantizeLinear are steps of codes.
  bool exact() const { return exact_; }
  OnnxValues& values() { return values_; }
  const ModelTensor& tensor(std::int32_t i) const { return values_.tensor(i); }
  std::string base_name(std::int32_t i) const { return values_.base_name(i); }

  /// A node that computes tensor `out` itself.
  void node_to(std::string_view op, const Names& inputs, std::int32_t out,
               const std::vector<OnnxAttribute>& attributes = {}) {
    graph_.node(op, inputs, values_.value(out), attributes);
  }
  /// The shape of a tensor as an operand of Reshape.
  std::string shape_of(std::int32_t i);
  /// The terms of tensor i as a matrix of `depth` columns, under a name that begins with `name`.
  std::string rows(std::int32_t i, std::int64_t depth, const std::string& name);

  /// Ends an operator that computes reals.
  void finish(const std::string& real, std::int32_t out);
  /// Ends an operator with an activation: by the saturation of QuantizeLinear where the codes of
  /// the activation are all that there are, by a clamp in front of it otherwise.
  void finish_clamped(const std::string& x, std::int32_t out, FusedActivation activation);
  /// Ends an operator with an activation whose result is `out` in another shape or order, which the
  /// caller still has to make of it. Returns the name of that result.
  std::string finish_rearranged(const std::string& x, std::int32_t out, FusedActivation activation);
  /// Ends a clamp, or nothing, between two grids. Not by Clip or the saturation of QuantizeLinear
  /// alone: ONNX Runtime drops a Clip or Relu that the saturation repeats, and makes one pair of
  /// another scale of two QuantizeLinear and DequantizeLinear pairs with nothing in between. It
  /// leaves Max and Min where they are.
  void finish_regridded(const std::string& x, std::int32_t out, FusedActivation activation);
  /// The integers of `x`, which are codes of `out` but for a clamp, as those codes.
  void finish_integers(const std::string& x, std::int32_t out, ActivationRange range);
  /// The output of an operator on single bytes, looked up by code.
  void finish_table(const Operands& operands);
  /// A function of one number: a table of codes where exact, the node `function` of reals
  /// otherwise.
  void finish_function(const Operands& operands, std::string_view function,
                       const std::vector<OnnxAttribute>& attributes = {});
  /// The node `op` of x and an int64 constant. Returns the name of its result.
  std::string with_integer(std::string_view op, const std::string& x, std::int64_t value,
                           const std::string& name);
  /// The codes of tensor i as integers of `type`.
  std::string integers(std::int32_t i, OnnxType type, const std::string& name);

 private:
  void finish_clamped(const std::string& x, std::int32_t out, FusedActivation activation,
                      const std::string& to);
  std::string clamped_real(const std::string& x, std::int32_t out, FusedActivation activation);
  std::string clamp(const std::string& x, float lo, float hi, const std::string& name);

  const IntegerModel& model_;
  bool exact_;
  OnnxGraph& graph_;
  OnnxValues& values_;
};

/// Write one operator each, by families in deploy/operators/.
namespace onnx_forms {
#define OCTET_ROW(name, ...) void name(OnnxNodes& nodes, const Operands& operands);
#include <octet/runtime/operators.def>
}  // namespace onnx_forms

/// Writes an operator as nodes. Throws FormatError for an unknown code.
void write_operator(OnnxNodes& nodes, const Operands& operands);

}  // namespace octet::detail
