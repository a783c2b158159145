#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/quant/requantize.h>
#include <octet/deploy/onnx/values.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/relu.h>

#include <limits>
#include <utility>

namespace octet {
namespace {

using detail::OnnxGraph;
using detail::OnnxType;
using detail::OnnxValues;
using Names = OnnxValues::Names;
using Extents = OnnxValues::Extents;

constexpr auto kInt32 = static_cast<std::int64_t>(OnnxType::int32);

class OnnxWriter {
 public:
  OnnxWriter(const IntegerModel& model, const OnnxOptions& options)
      : model_(model),
        exact_(options.style == OnnxStyle::exact),
        graph_(model.name),
        values_(model, options, graph_) {}

  std::vector<std::uint8_t> write() {
    for (const Operator& op : model_.operators) add_operator(op);
    values_.add_outputs();
    graph_.description(model_.description);
    for (const auto& [key, value] : model_.metadata) graph_.metadata(key, value);
    return graph_.bytes();
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const { return values_.tensor(i); }
  std::string base_name(std::int32_t i) const { return values_.base_name(i); }

  void add_operator(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    switch (op.code) {
      case OpCode::conv_2d:
      case OpCode::fully_connected:
        return add_fully_connected(op);
      case OpCode::quantize:
        if (tensor(in).is_quantized()) return add_function(op);
        return values_.quantize(values_.value(in), out);
      case OpCode::dequantize:
        return values_.dequantize(in, values_.value(out));
      case OpCode::reshape:
        graph_.node("Reshape", Names{values_.value(in), shape_of(out)}, values_.value(out));
        return;
      case OpCode::softmax:
        return add_softmax(op);
      case OpCode::logistic:
      case OpCode::tanh:
      case OpCode::relu:
      case OpCode::relu6:
      case OpCode::relu_n1_to_1:
        return add_function(op);
      case OpCode::add:
      case OpCode::concatenation:
        break;
    }
    throw InvalidArgument(fmt::format("to_onnx: no ONNX form of {}", to_string(op.code)));
  }

  /// The shape of a tensor as an operand of Reshape.
  std::string shape_of(std::int32_t i) {
    const auto& extents = OnnxValues::signature(tensor(i));
    const Extents shape(extents.begin(), extents.end());
    return values_.constant(base_name(i) + "/shape", OnnxType::int64, {std::ssize(shape)}, shape);
  }

  void add_softmax(const Operator& op) {
    const std::string name = base_name(op.outputs[0]);
    std::string x = values_.reals(op.inputs[0]);
    const float factor = op.as<SoftmaxAttributes>().beta;
    if (factor != 1.0F) {
      const std::string beta = values_.constant(name + "/beta", {factor});
      x = values_.node("Mul", {x, beta}, name + "/scaled");
    }
    finish(values_.node("Softmax", {x}, name + "/softmax", {{"axis", std::int64_t{-1}}}),
           op.outputs[0]);
  }

  /// Ends an operator that computes reals.
  void finish(const std::string& real, std::int32_t out) {
    if (tensor(out).is_quantized()) {
      values_.quantize(real, out);
    } else {
      graph_.node("Identity", Names{real}, values_.value(out));
    }
  }

  /// A function of one number: of codes a table where exact, the function of reals otherwise.
  void add_function(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    if (exact_ && tensor(in).is_quantized()) return add_table(op);
    const std::string x = values_.reals(in);
    if (op.code == OpCode::logistic || op.code == OpCode::tanh) {
      const std::string_view function = op.code == OpCode::tanh ? "Tanh" : "Sigmoid";
      return finish(values_.node(function, {x}, base_name(out) + "/function"), out);
    }
    const bool is_clamp = op.code != OpCode::quantize;
    finish_regridded(x, out, is_clamp ? detail::relu_activation(op.code) : FusedActivation::none);
  }

  /// Ends a clamp, or nothing, between two grids. Not by Clip or the saturation of QuantizeLinear
  /// alone: ONNX Runtime drops a Clip or Relu that the saturation repeats, and makes one pair of
  /// another scale of two QuantizeLinear and DequantizeLinear pairs with nothing in between. It
  /// leaves Max and Min where they are.
  void finish_regridded(const std::string& x, std::int32_t out, FusedActivation activation) {
    const ModelTensor& t = tensor(out);
    if (!t.is_quantized()) return finish_clamped_real(x, out, activation);
    const float scale = t.quantization.scale();
    const std::int32_t zero_point = t.quantization.zero_point();
    const auto [lowest, highest] = code_limits(t.dtype);
    const auto range = activation_range(activation, scale, zero_point, lowest, highest);
    const std::string name = base_name(out);
    const auto limit = [&](std::string_view which, std::int32_t code) {
      return values_.constant(fmt::format("{}/{}", name, which),
                              {static_cast<float>(code - zero_point) * scale});
    };
    std::string y = values_.node("Max", {x, limit("lowest", range.lo)}, name + "/not_below");
    if (range.hi < highest) {
      y = values_.node("Min", {y, limit("highest", range.hi)}, name + "/not_above");
    }
    values_.quantize(y, out);
  }

  void add_table(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    const std::string name = base_name(out);
    const std::string table = values_.constant(name + "/table", OnnxValues::type_of(tensor(out)),
                                               Extents{256}, tabulate(op));
    std::string index =
        values_.node("Cast", {values_.value(in)}, name + "/integer", {{"to", kInt32}});
    const std::int32_t lowest = code_limits(tensor(in).dtype).first;
    if (lowest != 0) {
      const std::string zero = values_.constant(name + "/lowest_code", OnnxType::int32, Extents{},
                                                std::vector<std::int32_t>{lowest});
      index = values_.node("Sub", {index, zero}, name + "/index");
    }
    graph_.node("Gather", Names{table, index}, values_.value(out));
  }

  /// What our kernels make of every code, lowest first.
  std::vector<std::uint8_t> tabulate(const Operator& op) const {
    const ByteTable by_bits = detail::byte_table({model_, op, Rounding::fp32});
    const std::int32_t lowest = code_limits(tensor(op.inputs[0]).dtype).first;
    std::vector<std::uint8_t> table;
    for (std::int32_t i = 0; i < 256; ++i) {
      table.push_back(by_bits[static_cast<std::uint8_t>(lowest + i)]);
    }
    return table;
  }

  void add_fully_connected(const Operator& op) {
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    const std::string name = base_name(out);
    Names operands{rows(in, tensor(op.inputs[1]).shape.back(), name), matrix(op.inputs[1])};
    if (op.inputs.size() > 2 && op.inputs[2] != -1) operands.push_back(bias(op));
    std::string y = values_.node("Gemm", operands, name + "/sum", {{"transB", std::int64_t{1}}});
    if (exact_ && tensor(in).is_quantized()) {
      const std::string factors = values_.constant(name + "/factor", rescaling_factors(op));
      y = values_.node("Mul", {y, factors}, name + "/rescaled");
    }
    if (tensor(out).shape.size() != 2) {
      y = values_.node("Reshape", {y, shape_of(out)}, name + "/shaped");
    }
    finish_clamped(y, out, op.activation());
  }

  /// Those of the fp32 contract: one, or one a unit.
  std::vector<float> rescaling_factors(const Operator& op) const {
    const auto requantizer = Requantizer::fully_connected(
        tensor(op.inputs[0]).quantization.scale(), tensor(op.inputs[1]).quantization.scales,
        tensor(op.outputs[0]).quantization.scale(), Rounding::fp32);
    return {requantizer.factors().begin(), requantizer.factors().end()};
  }

  /// Gemm takes a matrix.
  std::string rows(std::int32_t in, std::int64_t depth, const std::string& name) {
    const auto& shape = tensor(in).shape;
    std::string x = values_.terms(in);
    if (shape.size() == 2 && shape[1] == depth) return x;
    const std::string target =
        values_.constant(name + "/rows_shape", OnnxType::int64, {2}, Extents{-1, depth});
    return values_.node("Reshape", {std::move(x), target}, name + "/rows");
  }

  /// Weights [units, inputs], of CONV_2D as well.
  std::string matrix(std::int32_t weights) {
    const auto& shape = tensor(weights).shape;
    return rows(weights, shape.back(), base_name(weights));
  }

  std::string bias(const Operator& op) {
    const std::int32_t i = op.inputs[2];
    if (tensor(i).dtype == DType::float32) return values_.value(i);
    if (exact_) return values_.bias_terms(i, {1.0F});
    // A bias has the scale input * weight, whatever its tensor says.
    std::vector<float> scales = tensor(op.inputs[1]).quantization.scales;
    for (float& scale : scales) scale *= tensor(op.inputs[0]).quantization.scale();
    return values_.bias_terms(i, scales);
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
    values_.quantize(y, out, step);
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
    const std::string lowest = values_.constant(name + "/lowest", {lo});
    const std::string highest = values_.constant(name + "/highest", {hi});
    return values_.node("Clip", {x, lowest, highest}, name + "/clamped");
  }

  const IntegerModel& model_;
  bool exact_;
  OnnxGraph graph_;
  OnnxValues values_;
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
