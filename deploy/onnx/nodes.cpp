#include <fmt/core.h>
#include <octet/deploy/onnx/operators.h>

#include <algorithm>
#include <limits>

namespace octet::detail {

std::string OnnxNodes::shape_of(std::int32_t i) {
  const auto& extents = OnnxValues::signature(tensor(i));
  const Extents shape(extents.begin(), extents.end());
  return values_.constant(base_name(i) + "/shape", OnnxType::int64, {std::ssize(shape)}, shape);
}

std::string OnnxNodes::rows(std::int32_t i, std::int64_t depth, const std::string& name) {
  const auto& shape = tensor(i).shape;
  if (shape.size() == 2 && shape[1] == depth) return values_.terms(i);
  const std::string target =
      values_.constant(name + "/rows_shape", OnnxType::int64, {2}, Extents{-1, depth});
  const std::string rows = values_.node("Reshape", {values_.value(i), target}, name + "/rows");
  return values_.terms_of(i, rows, name + "/rows");
}

void OnnxNodes::finish(const std::string& real, std::int32_t out) {
  if (tensor(out).is_quantized()) {
    values_.quantize(real, out);
  } else {
    node_to("Identity", {real}, out);
  }
}

std::string OnnxNodes::finish_rearranged(const std::string& x, std::int32_t out,
                                         FusedActivation activation) {
  if (!tensor(out).is_quantized()) return clamped_real(x, out, activation);
  std::string codes = graph_.unique(base_name(out) + "/computed");
  finish_clamped(x, out, activation, codes);
  return codes;
}

void OnnxNodes::finish_clamped(const std::string& x, std::int32_t out, FusedActivation activation) {
  if (!tensor(out).is_quantized()) return finish(clamped_real(x, out, activation), out);
  finish_clamped(x, out, activation, values_.value(out));
}

void OnnxNodes::finish_clamped(const std::string& x, std::int32_t out, FusedActivation activation,
                               const std::string& to) {
  const ModelTensor& t = tensor(out);
  const auto [lowest, highest] = integer_limits(t.dtype);
  const std::int32_t zero_point = t.quantization.zero_point();
  const auto range = activation_range(activation, stored_params(t), Rounding::fp32);
  const float step = exact_ ? 1.0F : t.quantization.scale();
  std::string y = x;
  if (range.lo > lowest || range.hi < highest) {
    y = clamp(x, static_cast<float>(range.lo - zero_point) * step,
              static_cast<float>(range.hi - zero_point) * step, base_name(out));
  }
  values_.quantize(y, out, step, to);
}

std::string OnnxNodes::clamped_real(const std::string& x, std::int32_t out,
                                    FusedActivation activation) {
  if (activation == FusedActivation::none) return x;
  constexpr float kMost = std::numeric_limits<float>::max();
  const RealLimits limits = real_limits(activation);
  return clamp(x, limits.lo, std::min(limits.hi, kMost), base_name(out));
}

void OnnxNodes::finish_regridded(const std::string& x, std::int32_t out,
                                 FusedActivation activation) {
  const ModelTensor& t = tensor(out);
  if (!t.is_quantized()) return finish(clamped_real(x, out, activation), out);
  const float scale = t.quantization.scale();
  const std::int32_t zero_point = t.quantization.zero_point();
  const auto [lowest, highest] = integer_limits(t.dtype);
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

std::string OnnxNodes::clamp(const std::string& x, float lo, float hi, const std::string& name) {
  const std::string lowest = values_.constant(name + "/lowest", {lo});
  const std::string highest = values_.constant(name + "/highest", {hi});
  return values_.node("Clip", {x, lowest, highest}, name + "/clamped");
}

std::string OnnxNodes::integers(std::int32_t i, OnnxType type, const std::string& name) {
  return values_.node("Cast", {values_.value(i)}, name + "/integer",
                      {{"to", static_cast<std::int64_t>(type)}});
}

std::string OnnxNodes::with_integer(std::string_view op, const std::string& x, std::int64_t value,
                                    const std::string& name) {
  const std::string constant =
      values_.constant(name + "/by", OnnxType::int64, Extents{}, std::vector<std::int64_t>{value});
  return values_.node(op, {x, constant}, name);
}

void OnnxNodes::finish_integers(const std::string& x, std::int32_t out, ActivationRange range) {
  const std::string name = base_name(out);
  const auto limit = [&](std::string_view which, std::int64_t value) {
    return values_.constant(name + std::string(which), OnnxType::int64, Extents{},
                            std::vector<std::int64_t>{value});
  };
  const std::string codes = values_.node(
      "Clip", {x, limit("/lowest", range.lo), limit("/highest", range.hi)}, name + "/clamped");
  node_to("Cast", {codes}, out, {{"to", static_cast<std::int64_t>(values_.type_of(out))}});
}

void OnnxNodes::finish_table(const Operands& operands) {
  const std::int32_t in = operands.op.inputs[0];
  const std::int32_t out = operands.op.outputs[0];
  const std::string name = base_name(out);
  const std::int32_t lowest = integer_limits(tensor(in).dtype).first;
  const ByteTable by_bits = byte_table({model_, operands.op, Rounding::fp32});
  std::vector<std::uint8_t> codes(256);
  for (std::int32_t i = 0; i < 256; ++i) {
    codes[static_cast<std::size_t>(i)] = by_bits[static_cast<std::uint8_t>(lowest + i)];
  }
  const std::string table =
      values_.constant(name + "/table", values_.type_of(out), Extents{256}, codes);
  std::string index = integers(in, OnnxType::int32, name);
  if (lowest != 0) {
    const std::string first = values_.constant(name + "/lowest_code", OnnxType::int32, Extents{},
                                               std::vector<std::int32_t>{lowest});
    index = values_.node("Sub", {index, first}, name + "/index");
  }
  node_to("Gather", {table, index}, out);
}

void OnnxNodes::finish_function(const Operands& operands, std::string_view function,
                                const std::vector<OnnxAttribute>& attributes) {
  if (exact_ && operands.input().is_quantized()) return finish_table(operands);
  const std::int32_t out = operands.op.outputs[0];
  const std::string x = values_.reals(operands.op.inputs[0]);
  finish(values_.node(function, {x}, base_name(out) + "/function", attributes), out);
}

}  // namespace octet::detail
