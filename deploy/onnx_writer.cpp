#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/quant/requantize.h>
#include <octet/deploy/interpreter.h>
#include <octet/deploy/kernel.h>
#include <octet/deploy/onnx_graph.h>
#include <octet/deploy/onnx_writer.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace octet {
namespace {

using detail::OnnxAttribute;
using detail::OnnxGraph;
using detail::OnnxType;
using Names = std::vector<std::string>;
using Extents = std::vector<std::int64_t>;

constexpr auto kInt32 = static_cast<std::int64_t>(OnnxType::int32);

OnnxType type_of(const ModelTensor& tensor) {
  switch (tensor.dtype) {
    case DType::float32:
      return OnnxType::float32;
    case DType::uint8:
      return OnnxType::uint8;
    case DType::int8:
      return OnnxType::int8;
    default:
      throw InvalidArgument(
          fmt::format("to_onnx: tensor '{}' is {}; expected float32, int8 or uint8, the types that "
                      "QuantizeLinear knows",
                      tensor.name, to_string(tensor.dtype)));
  }
}

/// Extents with -1 for an unknown batch.
const std::vector<std::int32_t>& signature(const ModelTensor& tensor) {
  return tensor.shape_signature.empty() ? tensor.shape : tensor.shape_signature;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

class OnnxWriter {
 public:
  OnnxWriter(const IntegerModel& model, const OnnxOptions& options)
      : model_(model),
        exact_(options.style == OnnxStyle::exact),
        options_(options),
        graph_(model.name) {}

  std::vector<std::uint8_t> write() {
    name_values();
    for (const std::int32_t i : model_.inputs) add_input(i);
    for (const Operator& op : model_.operators) add_operator(op);
    for (const std::int32_t i : model_.outputs) add_output(i);
    for (const std::string& name : options_.code_outputs) add_code_output(name);
    graph_.description(model_.description);
    for (const auto& [key, value] : model_.metadata) graph_.metadata(key, value);
    return graph_.bytes();
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  std::string& value(std::int32_t i) { return values_[static_cast<std::size_t>(i)]; }

  static bool contains(const std::vector<std::int32_t>& list, std::int32_t i) {
    return std::ranges::find(list, i) != list.end();
  }

  /// Whether a value of codes is a real at its end of the graph.
  bool has_float_end(std::int32_t i) const {
    return options_.float_io && tensor(i).is_quantized() &&
           (contains(model_.inputs, i) || contains(model_.outputs, i));
  }

  std::string base_name(std::int32_t i) const {
    return tensor(i).name.empty() ? fmt::format("tensor_{}", i) : tensor(i).name;
  }

  /// The ends of the graph get their names first: nothing else may take them.
  void name_values() {
    values_.resize(model_.tensors.size());
    for (const bool ends : {true, false}) {
      for (std::int32_t i = 0; i < std::ssize(values_); ++i) {
        const bool is_end = contains(model_.inputs, i) || contains(model_.outputs, i);
        if (tensor(i).is_constant() || is_end != ends) continue;
        if (!has_float_end(i)) {
          value(i) = graph_.unique(base_name(i));
          continue;
        }
        // An input that is an output as well is two values.
        if (contains(model_.inputs, i)) real_inputs_[i] = graph_.unique(base_name(i));
        if (contains(model_.outputs, i)) real_outputs_[i] = graph_.unique(base_name(i));
        value(i) = graph_.unique(base_name(i) + "/codes");
      }
    }
  }

  void add_input(std::int32_t i) {
    const ModelTensor& t = tensor(i);
    if (!has_float_end(i)) {
      graph_.input(value(i), type_of(t), signature(t));
      return;
    }
    graph_.input(real_inputs_[i], OnnxType::float32, signature(t));
    quantize(real_inputs_[i], i, t.quantization.scales);
  }

  void add_output(std::int32_t i) {
    const ModelTensor& t = tensor(i);
    if (!has_float_end(i)) {
      graph_.output(value(i), type_of(t), signature(t));
      return;
    }
    dequantize(i, t.quantization.scales, real_outputs_[i]);
    graph_.output(real_outputs_[i], OnnxType::float32, signature(t));
  }

  void add_code_output(const std::string& name) {
    for (std::int32_t i = 0; i < std::ssize(values_); ++i) {
      const ModelTensor& t = tensor(i);
      if (t.name != name || t.is_constant() || !t.is_quantized()) continue;
      const bool there_already = contains(model_.outputs, i) && !has_float_end(i);
      if (!there_already) graph_.output(value(i), type_of(t), signature(t));
      return;
    }
    throw InvalidArgument(fmt::format(
        "to_onnx: code_outputs: expected the name of a computed, quantized tensor, found '{}'",
        name));
  }

  std::string constant(const std::string& name, const std::vector<float>& values) {
    const Extents shape = values.size() == 1 ? Extents{} : Extents{std::ssize(values)};
    return graph_.constant(name, OnnxType::float32, shape, bytes_of(values));
  }

  std::string node(std::string_view op, const Names& inputs, const std::string& name,
                   const std::vector<OnnxAttribute>& attributes = {}) {
    return graph_.node(op, inputs, graph_.unique(name), attributes);
  }

  /// The scales and zero points of codes, and the axis that they run along.
  struct Grid {
    Names operands;
    std::vector<OnnxAttribute> attributes;
  };

  Grid grid(std::int32_t i, const std::vector<float>& scales, OnnxType type) {
    const QuantParams& q = tensor(i).quantization;
    const std::string scale = base_name(i) + (scales == q.scales ? "/scale" : "/step");
    auto& operands = grids_[{i, scale}];
    if (operands.empty()) {
      operands = {constant(scale, scales), zero_points(i, scales.size(), type)};
    }
    Grid result{operands, {}};
    if (scales.size() > 1) {
      result.attributes.push_back({"axis", std::int64_t{q.quantized_dimension}});
    }
    return result;
  }

  std::string zero_points(std::int32_t i, std::size_t count, OnnxType type) {
    const std::string name = base_name(i) + "/zero_point";
    const Extents shape = count == 1 ? Extents{} : Extents{static_cast<std::int64_t>(count)};
    if (type == OnnxType::int32) {
      const std::vector<std::int32_t> zeros(count, 0);
      return graph_.constant(name, type, shape, bytes_of(zeros));
    }
    std::vector<std::uint8_t> codes(count);
    const auto& zero_points = tensor(i).quantization.zero_points;
    for (std::size_t c = 0; c < count; ++c) {
      codes[c] = static_cast<std::uint8_t>(zero_points[std::min(c, zero_points.size() - 1)]);
    }
    return graph_.constant(name, type, shape, bytes_of(codes));
  }

  /// QuantizeLinear of `from` to the codes of tensor i.
  void quantize(const std::string& from, std::int32_t i, const std::vector<float>& scales) {
    Grid g = grid(i, scales, type_of(tensor(i)));
    g.operands.insert(g.operands.begin(), from);
    graph_.node("QuantizeLinear", g.operands, value(i), g.attributes);
  }

  void dequantize(std::int32_t i, const std::vector<float>& scales, const std::string& output) {
    Grid g = grid(i, scales, type_of(tensor(i)));
    g.operands.insert(g.operands.begin(), value(i));
    graph_.node("DequantizeLinear", g.operands, output, g.attributes);
  }

  /// The reals that the codes of tensor i stand for; the value itself where it is no codes.
  std::string reals(std::int32_t i) {
    if (!tensor(i).is_quantized()) return value(i);
    return dequantized(i, tensor(i).quantization.scales, "/real");
  }

  /// What sums are made of: codes less zero point where exact, reals otherwise.
  std::string terms(std::int32_t i) {
    return exact_ && tensor(i).is_quantized() ? dequantized(i, {1.0F}, "/steps") : reals(i);
  }

  std::string dequantized(std::int32_t i, const std::vector<float>& scales,
                          const std::string& suffix) {
    std::string& name = dequantized_[{i, suffix}];
    if (name.empty()) {
      name = graph_.unique(base_name(i) + suffix);
      dequantize(i, scales, name);
    }
    return name;
  }

  void add_operator(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    switch (op.code) {
      case OpCode::fully_connected:
        return add_fully_connected(op);
      case OpCode::quantize:
        if (tensor(in).is_quantized()) return add_function(op);
        return quantize(value(in), out, tensor(out).quantization.scales);
      case OpCode::dequantize:
        return dequantize_to(in, out);
      case OpCode::reshape:
        graph_.node("Reshape", Names{value(in), shape_of(out)}, value(out));
        return;
      case OpCode::softmax:
        return add_softmax(op);
      case OpCode::logistic:
      case OpCode::tanh:
      case OpCode::relu:
      case OpCode::relu6:
      case OpCode::relu_n1_to_1:
        return add_function(op);
    }
    throw InvalidArgument(fmt::format("to_onnx: no ONNX form of {}", to_string(op.code)));
  }

  void dequantize_to(std::int32_t in, std::int32_t out) {
    dequantize(in, tensor(in).quantization.scales, value(out));
  }

  /// The shape of a tensor as an operand of Reshape.
  std::string shape_of(std::int32_t i) {
    const auto& extents = signature(tensor(i));
    const Extents shape(extents.begin(), extents.end());
    const Extents rank{std::ssize(shape)};
    return graph_.constant(base_name(i) + "/shape", OnnxType::int64, rank, bytes_of(shape));
  }

  void add_softmax(const Operator& op) {
    const std::string name = base_name(op.outputs[0]);
    std::string x = reals(op.inputs[0]);
    if (op.beta != 1.0F) {
      x = node("Mul", {x, constant(name + "/beta", {op.beta})}, name + "/scaled");
    }
    finish(node("Softmax", {x}, name + "/softmax", {{"axis", std::int64_t{-1}}}), op.outputs[0]);
  }

  /// Ends an operator that computes reals.
  void finish(const std::string& real, std::int32_t out) {
    if (tensor(out).is_quantized()) {
      quantize(real, out, tensor(out).quantization.scales);
    } else {
      graph_.node("Identity", Names{real}, value(out));
    }
  }

  /// A function of one number, by code: a table where exact, the function of reals otherwise.
  void add_function(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    const std::string name = base_name(out);
    if (exact_ && tensor(in).is_quantized()) return add_table(op);
    if (op.code == OpCode::logistic) return finish(node("Sigmoid", {reals(in)}, name + "/f"), out);
    if (op.code == OpCode::tanh) return finish(node("Tanh", {reals(in)}, name + "/f"), out);
    finish_clamped(reals(in), out, detail::activation_of(op.code));
  }

  void add_table(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    const std::string name = base_name(out);
    const std::string table =
        graph_.constant(name + "/table", type_of(tensor(out)), Extents{256}, tabulate(op));
    std::string index = node("Cast", {value(in)}, name + "/integer", {{"to", kInt32}});
    if (tensor(in).dtype == DType::int8) {
      const std::vector<std::int32_t> lowest{-128};
      const std::string zero =
          graph_.constant(name + "/lowest_code", OnnxType::int32, {}, bytes_of(lowest));
      index = node("Sub", {index, zero}, name + "/index");
    }
    graph_.node("Gather", Names{table, index}, value(out));
  }

  /// What our interpreter makes of every code, lowest first.
  std::vector<std::uint8_t> tabulate(Operator op) const {
    IntegerModel one;
    for (const std::int32_t i : {op.inputs[0], op.outputs[0]}) {
      ModelTensor t = tensor(i);
      t.shape = {1, 256};
      t.shape_signature.clear();
      one.tensors.push_back(std::move(t));
    }
    one.inputs = op.inputs = {0};
    one.outputs = op.outputs = {1};
    one.operators = {std::move(op)};
    Interpreter interpreter(one, {.rounding = Rounding::fp32});
    const int lowest = code_limits(one.tensors[0].dtype).first;
    for (int i = 0; i < 256; ++i) {
      interpreter.input_bytes()[static_cast<std::size_t>(i)] = static_cast<std::byte>(lowest + i);
    }
    interpreter.invoke();
    std::vector<std::uint8_t> table;
    for (const std::byte code : interpreter.output_bytes()) {
      table.push_back(static_cast<std::uint8_t>(code));
    }
    return table;
  }

  void add_fully_connected(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    const std::string name = base_name(out);
    const bool integer = tensor(in).is_quantized();
    Names operands{rows(in, tensor(op.inputs[1]).shape[1], name), weights(op.inputs[1])};
    if (op.inputs.size() > 2 && op.inputs[2] != -1) operands.push_back(bias(op));
    std::string y = node("Gemm", operands, name + "/sum", {{"transB", std::int64_t{1}}});
    if (integer && exact_) {
      const auto scales = Requantizer::fully_connected(
          tensor(in).quantization.scale(), tensor(op.inputs[1]).quantization.scales,
          tensor(out).quantization.scale(), Rounding::fp32);
      const std::vector<float> factors(scales.factors().begin(), scales.factors().end());
      y = node("Mul", {y, constant(name + "/factor", factors)}, name + "/rescaled");
    }
    if (tensor(out).shape.size() != 2) y = node("Reshape", {y, shape_of(out)}, name + "/shaped");
    finish_clamped(y, out, op.activation);
  }

  /// Gemm takes a matrix.
  std::string rows(std::int32_t in, std::int64_t depth, const std::string& name) {
    std::string x = terms(in);
    const auto& shape = tensor(in).shape;
    if (shape.size() == 2 && shape[1] == depth) return x;
    const std::vector<std::int64_t> target{-1, depth};
    const std::string operand =
        graph_.constant(name + "/rows_shape", OnnxType::int64, Extents{2}, bytes_of(target));
    return node("Reshape", {std::move(x), operand}, name + "/rows");
  }

  std::string weights(std::int32_t i) {
    const ModelTensor& t = tensor(i);
    const Extents shape(t.shape.begin(), t.shape.end());
    if (value(i).empty()) value(i) = graph_.constant(base_name(i), type_of(t), shape, t.data);
    return terms(i);
  }

  std::string bias(const Operator& op) {
    const std::int32_t i = op.inputs[2];
    const ModelTensor& t = tensor(i);
    const std::string name = base_name(i);
    const OnnxType type = t.dtype == DType::float32 ? OnnxType::float32 : OnnxType::int32;
    const std::string codes = graph_.constant(name, type, Extents{t.size()}, t.data);
    if (type == OnnxType::float32) return codes;
    // A bias has the scale input * weight, whatever its tensor says.
    std::vector<float> scales{1.0F};
    if (!exact_) {
      scales = tensor(op.inputs[1]).quantization.scales;
      for (float& scale : scales) scale *= tensor(op.inputs[0]).quantization.scale();
    }
    std::vector<OnnxAttribute> axis;
    if (scales.size() > 1) axis.push_back({"axis", std::int64_t{0}});
    return node("DequantizeLinear",
                {codes, constant(name + "/scale", scales), zero_points(i, scales.size(), type)},
                name + "/terms", axis);
  }

  /// Ends an operator with an activation: by the saturation of QuantizeLinear where the codes of
  /// the activation are all that there are, by a clamp in front of it otherwise.
  void finish_clamped(const std::string& x, std::int32_t out, FusedActivation activation) {
    const ModelTensor& t = tensor(out);
    if (!t.is_quantized()) return finish_clamped_real(x, out, activation);
    const auto [lowest, highest] = code_limits(t.dtype);
    const std::int32_t zero_point = t.quantization.zero_point();
    const auto range =
        activation_range(activation, t.quantization.scale(), zero_point, lowest, highest);
    const float step = exact_ ? 1.0F : t.quantization.scale();
    std::string y = x;
    if (range.lo > lowest || range.hi < highest) {
      y = clamp(x, static_cast<float>(range.lo - zero_point) * step,
                static_cast<float>(range.hi - zero_point) * step, base_name(out));
    }
    quantize(y, out, {step});
  }

  void finish_clamped_real(const std::string& x, std::int32_t out, FusedActivation activation) {
    constexpr float kMost = std::numeric_limits<float>::max();
    switch (activation) {
      case FusedActivation::none:
        return finish(x, out);
      case FusedActivation::relu:
        return finish(clamp(x, 0.0F, kMost, base_name(out)), out);
      case FusedActivation::relu6:
        return finish(clamp(x, 0.0F, 6.0F, base_name(out)), out);
      case FusedActivation::relu_n1_to_1:
        return finish(clamp(x, -1.0F, 1.0F, base_name(out)), out);
    }
  }

  std::string clamp(const std::string& x, float lo, float hi, const std::string& name) {
    return node("Clip", {x, constant(name + "/lowest", {lo}), constant(name + "/highest", {hi})},
                name + "/clamped");
  }

  const IntegerModel& model_;
  bool exact_;
  const OnnxOptions& options_;
  OnnxGraph graph_;
  /// By tensor: the name of its codes, or of its reals where it is not quantized.
  Names values_;
  std::map<std::int32_t, std::string> real_inputs_;
  std::map<std::int32_t, std::string> real_outputs_;
  /// By tensor and suffix: what has been dequantized already.
  std::map<std::pair<std::int32_t, std::string>, std::string> dequantized_;
  std::map<std::pair<std::int32_t, std::string>, Names> grids_;
};

}  // namespace

std::vector<std::uint8_t> to_onnx(const IntegerModel& model, const OnnxOptions& options) {
  model.validate();
  return OnnxWriter(model, options).write();
}

void write_onnx(const IntegerModel& model, const std::filesystem::path& path,
                const OnnxOptions& options) {
  write_file_atomic(path, to_onnx(model, options));
}

}  // namespace octet
