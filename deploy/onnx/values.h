#pragma once

#include <octet/deploy/onnx/graph.h>
#include <octet/deploy/onnx/writer.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace octet::detail {

/// The tensors of a model as values of an ONNX graph: their names, the graph's ends, and the way
/// between codes and reals.
class OnnxValues {
 public:
  using Names = std::vector<std::string>;
  using Extents = std::vector<std::int64_t>;

  /// Names the values and declares the inputs. Both must outlive it.
  OnnxValues(const IntegerModel& model, const OnnxOptions& options, OnnxGraph& graph);

  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  /// The name of tensor i's codes, or of its reals where it is not quantized. A constant becomes
  /// part of the graph when it is first asked for.
  const std::string& value(std::int32_t i);
  /// What names of values that belong to tensor i begin with.
  std::string base_name(std::int32_t i) const;

  /// The reals that the codes of tensor i stand for; the value itself where it is no codes.
  std::string reals(std::int32_t i);
  /// What sums are made of: codes less zero point in style exact, reals otherwise.
  std::string terms(std::int32_t i);
  /// The terms of sums made of `codes`, the quantized values of tensor i in another shape or order.
  std::string terms_of(std::int32_t i, const std::string& codes, const std::string& name);
  /// The terms of weights: a constant that holds `data`, the numbers of tensor i in another shape
  /// or order, of which `suffix` tells, with the units along `units_axis`.
  std::string weight_terms(std::int32_t i, std::string_view suffix, const Extents& shape,
                           std::span<const std::uint8_t> data, int units_axis = 0);
  /// QuantizeLinear of `from` to the codes of tensor i, or to `to`, which are those in another
  /// shape or order: by its own scales, or by one `step`.
  void quantize(const std::string& from, std::int32_t i);
  void quantize(const std::string& from, std::int32_t i, float step, const std::string& to);
  /// DequantizeLinear of the codes of tensor i.
  void dequantize(std::int32_t i, const std::string& output);
  /// The int32 codes of a bias as terms of a sum: on `scales`, along axis 0 where there are more.
  std::string bias_terms(std::int32_t i, const std::vector<float>& scales);

  std::string constant(const std::string& name, const std::vector<float>& values);
  template <class T>
  std::string constant(const std::string& name, OnnxType type, const Extents& shape,
                       const std::vector<T>& values) {
    return graph_.constant(name, type, shape, std::as_bytes(std::span(values)));
  }
  /// One code of tensor i.
  std::string code_constant(const std::string& name, std::int32_t i, std::int32_t code);
  std::string node(std::string_view op, const Names& inputs, const std::string& name,
                   const std::vector<OnnxAttribute>& attributes = {});

  /// Declares the model's outputs, then the codes of the tensors in options.code_outputs.
  void add_outputs();

  /// The version of ONNX's operators that the file is written for.
  std::int64_t opset() const { return graph_.opset(); }

  /// Extents with -1 for an unknown batch.
  static const std::vector<std::int32_t>& signature(const ModelTensor& tensor) {
    return tensor.shape_signature.empty() ? tensor.shape : tensor.shape_signature;
  }
  /// The type of tensor i's values. Style standard writes values of int8 as uint8, each code and
  /// the zero point 128 higher: ONNX Runtime computes Conv in integers on x86 only for those.
  /// Throws InvalidArgument for a type that QuantizeLinear does not know.
  OnnxType type_of(std::int32_t i) const;

 private:
  bool is_input(std::int32_t i) const { return is_input_[static_cast<std::size_t>(i)]; }
  bool is_output(std::int32_t i) const { return is_output_[static_cast<std::size_t>(i)]; }
  bool is_end(std::int32_t i) const { return is_input(i) || is_output(i); }
  bool has_float_end(std::int32_t i) const;
  void name_values();
  void add_input(std::int32_t i);
  void add_output(std::int32_t i);
  void add_code_output(const std::string& name);
  void declare_output(std::string name, OnnxType type, std::int32_t i, std::string_view copy);
  bool is_exact() const { return options_.style == OnnxStyle::exact; }
  /// What is added to codes of tensor i: 128 where int8 is written as uint8.
  std::int32_t code_offset(std::int32_t i) const;
  /// The scales of tensor i as terms(): 1 in style exact.
  std::vector<float> term_scales(std::int32_t i) const;
  /// QuantizeLinear or DequantizeLinear of tensor i, whose codes are of `type`.
  void convert(std::string_view op, const std::string& from, std::int32_t i, OnnxType type,
               const std::vector<float>& scales, int axis, const std::string& to);
  void convert(std::string_view op, const std::string& from, std::int32_t i,
               const std::vector<float>& scales, const std::string& to);
  std::string dequantized(std::int32_t i, const std::vector<float>& scales,
                          const std::string& suffix);
  std::string zero_points(std::int32_t i, OnnxType type, std::size_t count);
  /// The int8 codes of weights, under a name that begins with `name`, made of fewer bits where the
  /// options ask for that.
  std::string weight_codes(const std::string& name, const Extents& shape,
                           std::span<const std::uint8_t> data);
  std::string int4_codes(const std::string& name, const Extents& shape,
                         std::span<const std::int8_t> codes);
  std::string plane_codes(const std::string& name, const Extents& shape,
                          std::span<const std::int8_t> codes, int bits);

  const IntegerModel& model_;
  const OnnxOptions& options_;
  OnnxGraph& graph_;
  Names values_;
  /// By tensor.
  std::vector<bool> is_input_;
  std::vector<bool> is_output_;
  std::vector<bool> is_computed_;
  /// Whether the codes themselves are an output.
  std::vector<bool> puts_out_codes_;
  std::map<std::int32_t, std::string> real_inputs_;
  /// The names of outputs that no operator writes: reals of codes, and constants.
  std::map<std::int32_t, std::string> made_outputs_;
  /// The names of the graph's inputs and outputs.
  std::set<std::string> ends_;
  /// By tensor and suffix: what has been dequantized already.
  std::map<std::pair<std::int32_t, std::string>, std::string> dequantized_;
  /// By tensor, type and the name of its scale: that and the zero point.
  std::map<std::tuple<std::int32_t, OnnxType, std::string>, Names> grids_;
};

}  // namespace octet::detail
