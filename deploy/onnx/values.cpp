#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/values.h>

namespace octet::detail {
namespace {

std::vector<OnnxAttribute> along(const std::vector<float>& scales, int axis) {
  if (scales.size() == 1) return {};
  return {{"axis", std::int64_t{axis}}};
}

/// The shape of a constant that holds `count` numbers: one number is a scalar.
OnnxValues::Extents shape_of(std::size_t count) {
  return count == 1 ? OnnxValues::Extents{} : OnnxValues::Extents{static_cast<std::int64_t>(count)};
}

/// From a code of int8 to the code of uint8 that stands for the same value.
constexpr std::int32_t kUint8Offset = 128;

OnnxType stored_type(const ModelTensor& tensor) {
  switch (tensor.dtype) {
    case DType::float32:
      return OnnxType::float32;
    case DType::int32:
      return OnnxType::int32;
    case DType::uint8:
      return OnnxType::uint8;
    case DType::int8:
      return OnnxType::int8;
    default:
      throw InvalidArgument(
          fmt::format("tensor '{}' is {}; expected float32, int32, int8 or uint8, the types "
                      "of real values, of indices and of quantized values",
                      tensor.name, to_string(tensor.dtype)));
  }
}

}  // namespace

OnnxValues::OnnxValues(const IntegerModel& model, const OnnxOptions& options, OnnxGraph& graph)
    : model_(model),
      options_(options),
      graph_(graph),
      values_(model.tensors.size()),
      is_input_(model.tensors.size()),
      is_output_(model.tensors.size()),
      puts_out_codes_(model.tensors.size()) {
  for (const std::int32_t i : model_.inputs) is_input_[static_cast<std::size_t>(i)] = true;
  for (const std::int32_t i : model_.outputs) is_output_[static_cast<std::size_t>(i)] = true;
  is_computed_ = is_input_;
  for (const Operator& op : model_.operators) {
    for (const std::int32_t i : op.outputs) is_computed_[static_cast<std::size_t>(i)] = true;
  }
  name_values();
  for (const std::int32_t i : model_.inputs) add_input(i);
}

OnnxType OnnxValues::type_of(std::int32_t i) const {
  return code_offset(i) == 0 ? stored_type(tensor(i)) : OnnxType::uint8;
}

std::int32_t OnnxValues::code_offset(std::int32_t i) const {
  return !is_exact() && tensor(i).dtype == DType::int8 ? kUint8Offset : 0;
}

/// Whether a value of codes is a real at its end of the graph.
bool OnnxValues::has_float_end(std::int32_t i) const {
  return options_.float_io && tensor(i).is_quantized() && is_end(i);
}

std::string OnnxValues::base_name(std::int32_t i) const {
  return tensor(i).name.empty() ? fmt::format("tensor_{}", i) : tensor(i).name;
}

/// The ends of the graph get their names first: nothing else may take them.
void OnnxValues::name_values() {
  for (const bool ends : {true, false}) {
    for (std::int32_t i = 0; i < std::ssize(values_); ++i) {
      if (is_end(i) != ends) continue;
      std::string name = base_name(i);
      // An input that is an output as well is two values, and so is a constant.
      if (has_float_end(i) && is_input(i)) real_inputs_[i] = graph_.unique(name);
      if (is_output(i) && (has_float_end(i) || tensor(i).is_constant())) {
        made_outputs_[i] = graph_.unique(name);
      }
      if (tensor(i).is_constant()) continue;
      if (has_float_end(i)) name += "/codes";
      values_[static_cast<std::size_t>(i)] = graph_.unique(name);
    }
  }
}

const std::string& OnnxValues::value(std::int32_t i) {
  std::string& name = values_[static_cast<std::size_t>(i)];
  const ModelTensor& t = tensor(i);
  if (name.empty()) {
    std::vector<std::uint8_t> data = t.data;
    if (code_offset(i) != 0) {
      for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(byte + kUint8Offset);
    }
    name = constant(base_name(i), type_of(i), {t.shape.begin(), t.shape.end()}, data);
  }
  return name;
}

void OnnxValues::add_input(std::int32_t i) {
  const ModelTensor& t = tensor(i);
  if (!has_float_end(i)) {
    ends_.insert(value(i));
    graph_.input(value(i), type_of(i), signature(t));
    return;
  }
  ends_.insert(real_inputs_[i]);
  graph_.input(real_inputs_[i], OnnxType::float32, signature(t));
  quantize(real_inputs_[i], i);
}

/// In ONNX no two ends of a graph have one name: what is an end already is put out as a copy.
void OnnxValues::declare_output(std::string name, OnnxType type, std::int32_t i,
                                std::string_view copy) {
  if (ends_.contains(name)) name = node("Identity", {name}, base_name(i) + std::string(copy));
  ends_.insert(name);
  graph_.output(name, type, signature(tensor(i)));
}

void OnnxValues::add_output(std::int32_t i) {
  const bool real = has_float_end(i);
  const OnnxType type = real ? OnnxType::float32 : type_of(i);
  if (!real) puts_out_codes_[static_cast<std::size_t>(i)] = true;
  const auto made = made_outputs_.find(i);
  if (made == made_outputs_.end()) return declare_output(value(i), type, i, "/copy");
  if (!ends_.contains(made->second)) {
    if (real) {
      dequantize(i, made->second);
    } else {
      graph_.node("Identity", Names{value(i)}, made->second);
    }
  }
  declare_output(made->second, type, i, "/copy");
}

void OnnxValues::add_outputs() {
  for (const std::int32_t i : model_.outputs) add_output(i);
  for (const std::string& name : options_.code_outputs) add_code_output(name);
}

void OnnxValues::add_code_output(const std::string& name) {
  for (std::int32_t i = 0; i < std::ssize(values_); ++i) {
    const ModelTensor& t = tensor(i);
    if (t.name != name || !is_computed_[static_cast<std::size_t>(i)] || !t.is_quantized()) continue;
    if (puts_out_codes_[static_cast<std::size_t>(i)]) return;
    puts_out_codes_[static_cast<std::size_t>(i)] = true;
    declare_output(value(i), type_of(i), i, "/codes");
    return;
  }
  throw InvalidArgument(
      fmt::format("to_onnx: code_outputs: expected the name of a computed, quantized tensor, found "
                  "'{}'; octet inspect lists the names",
                  name));
}

std::string OnnxValues::constant(const std::string& name, const std::vector<float>& values) {
  return constant(name, OnnxType::float32, shape_of(values.size()), values);
}

std::string OnnxValues::code_constant(const std::string& name, std::int32_t i, std::int32_t code) {
  return constant(name, type_of(i), Extents{},
                  std::vector<std::uint8_t>{static_cast<std::uint8_t>(code + code_offset(i))});
}

std::string OnnxValues::node(std::string_view op, const Names& inputs, const std::string& name,
                             const std::vector<OnnxAttribute>& attributes) {
  return graph_.node(op, inputs, graph_.unique(name), attributes);
}

std::string OnnxValues::zero_points(std::int32_t i, OnnxType type, std::size_t count) {
  const QuantParams& params = tensor(i).quantization;
  const std::int32_t offset = type == stored_type(tensor(i)) ? 0 : kUint8Offset;
  std::vector<std::uint8_t> codes;
  for (std::size_t c = 0; c < count; ++c) {
    codes.push_back(static_cast<std::uint8_t>(params.zero_point(c) + offset));
  }
  return constant(base_name(i) + "/zero_point", type, shape_of(count), codes);
}

void OnnxValues::convert(std::string_view op, const std::string& from, std::int32_t i,
                         OnnxType type, const std::vector<float>& scales, int axis,
                         const std::string& to) {
  const bool own = scales == tensor(i).quantization.scales;
  const std::string scale = base_name(i) + (own ? "/scale" : "/step");
  Names& grid = grids_[{i, type, scale}];
  if (grid.empty()) grid = {constant(scale, scales), zero_points(i, type, scales.size())};
  graph_.node(op, Names{from, grid[0], grid[1]}, to, along(scales, axis));
}

void OnnxValues::convert(std::string_view op, const std::string& from, std::int32_t i,
                         const std::vector<float>& scales, const std::string& to) {
  convert(op, from, i, type_of(i), scales, tensor(i).quantization.quantized_dimension, to);
}

void OnnxValues::quantize(const std::string& from, std::int32_t i) {
  convert("QuantizeLinear", from, i, tensor(i).quantization.scales, value(i));
}

void OnnxValues::quantize(const std::string& from, std::int32_t i, float step,
                          const std::string& to) {
  convert("QuantizeLinear", from, i, {step}, to);
}

void OnnxValues::dequantize(std::int32_t i, const std::string& output) {
  convert("DequantizeLinear", value(i), i, tensor(i).quantization.scales, output);
}

std::string OnnxValues::reals(std::int32_t i) {
  if (!tensor(i).is_quantized()) return value(i);
  return dequantized(i, tensor(i).quantization.scales, "/real");
}

std::vector<float> OnnxValues::term_scales(std::int32_t i) const {
  return is_exact() ? std::vector<float>{1.0F} : tensor(i).quantization.scales;
}

std::string OnnxValues::terms(std::int32_t i) {
  if (!is_exact() || !tensor(i).is_quantized()) return reals(i);
  return dequantized(i, term_scales(i), "/steps");
}

std::string OnnxValues::terms_of(std::int32_t i, const std::string& codes,
                                 const std::string& name) {
  if (!tensor(i).is_quantized()) return codes;
  std::string to = graph_.unique(name + "/terms");
  convert("DequantizeLinear", codes, i, term_scales(i), to);
  return to;
}

std::string OnnxValues::weight_terms(std::int32_t i, std::string_view suffix, const Extents& shape,
                                     std::span<const std::uint8_t> data, int units_axis) {
  std::string& name = dequantized_[{i, std::string(suffix)}];
  if (!name.empty()) return name;
  const ModelTensor& t = tensor(i);
  const OnnxType type = stored_type(t);
  if (!t.is_quantized()) {
    name = graph_.constant(base_name(i), type, shape, std::as_bytes(data));
    return name;
  }
  const std::string codes = type == OnnxType::int8
                                ? weight_codes(base_name(i), shape, data)
                                : graph_.constant(base_name(i), type, shape, std::as_bytes(data));
  name = graph_.unique(base_name(i) + std::string(suffix));
  convert("DequantizeLinear", codes, i, type, term_scales(i), units_axis, name);
  return name;
}

std::string OnnxValues::dequantized(std::int32_t i, const std::vector<float>& scales,
                                    const std::string& suffix) {
  std::string& name = dequantized_[{i, suffix}];
  if (name.empty()) {
    name = graph_.unique(base_name(i) + suffix);
    convert("DequantizeLinear", value(i), i, scales, name);
  }
  return name;
}

std::string OnnxValues::bias_terms(std::int32_t i, const std::vector<float>& scales) {
  const std::string name = base_name(i);
  const std::string codes = constant(name, OnnxType::int32, {tensor(i).size()}, tensor(i).data);
  const std::string zeros = constant(name + "/zero_point", OnnxType::int32, shape_of(scales.size()),
                                     std::vector<std::int32_t>(scales.size(), 0));
  return node("DequantizeLinear", {codes, constant(name + "/scale", scales), zeros},
              name + "/terms", along(scales, 0));
}

}  // namespace octet::detail
