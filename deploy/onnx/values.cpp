#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/values.h>

namespace octet::detail {
namespace {

std::vector<OnnxAttribute> along(const std::vector<float>& scales, int axis) {
  if (scales.size() == 1) return {};
  return {{"axis", std::int64_t{axis}}};
}

/// Of a constant that holds `count` numbers: one is a scalar.
OnnxValues::Extents shape_of(std::size_t count) {
  return count == 1 ? OnnxValues::Extents{} : OnnxValues::Extents{static_cast<std::int64_t>(count)};
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

OnnxType OnnxValues::type_of(const ModelTensor& tensor) {
  switch (tensor.dtype) {
    case DType::float32:
      return OnnxType::float32;
    case DType::uint8:
      return OnnxType::uint8;
    case DType::int8:
      return OnnxType::int8;
    default:
      throw InvalidArgument(
          fmt::format("tensor '{}' is {}; expected float32, int8 or uint8, the types that "
                      "QuantizeLinear knows",
                      tensor.name, to_string(tensor.dtype)));
  }
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
    name = constant(base_name(i), type_of(t), {t.shape.begin(), t.shape.end()}, t.data);
  }
  return name;
}

void OnnxValues::add_input(std::int32_t i) {
  const ModelTensor& t = tensor(i);
  if (!has_float_end(i)) {
    ends_.insert(value(i));
    graph_.input(value(i), type_of(t), signature(t));
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
  const ModelTensor& t = tensor(i);
  const bool real = has_float_end(i);
  const OnnxType type = real ? OnnxType::float32 : type_of(t);
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
    declare_output(value(i), type_of(t), i, "/codes");
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

std::string OnnxValues::node(std::string_view op, const Names& inputs, const std::string& name,
                             const std::vector<OnnxAttribute>& attributes) {
  return graph_.node(op, inputs, graph_.unique(name), attributes);
}

std::string OnnxValues::zero_points(std::int32_t i, std::size_t count) {
  const ModelTensor& t = tensor(i);
  const std::string name = base_name(i) + "/zero_point";
  if (t.dtype == DType::int32) {
    return constant(name, OnnxType::int32, shape_of(count), std::vector<std::int32_t>(count, 0));
  }
  std::vector<std::uint8_t> codes;
  for (std::size_t c = 0; c < count; ++c) {
    codes.push_back(static_cast<std::uint8_t>(t.quantization.zero_point(c)));
  }
  return constant(name, type_of(t), shape_of(count), codes);
}

/// QuantizeLinear or DequantizeLinear of tensor i.
void OnnxValues::convert(std::string_view op, const std::string& from, std::int32_t i,
                         const std::vector<float>& scales, const std::string& to) {
  const bool own = scales == tensor(i).quantization.scales;
  const std::string scale = base_name(i) + (own ? "/scale" : "/step");
  Names& grid = grids_[{i, scale}];
  if (grid.empty()) grid = {constant(scale, scales), zero_points(i, scales.size())};
  graph_.node(op, Names{from, grid[0], grid[1]}, to,
              along(scales, tensor(i).quantization.quantized_dimension));
}

void OnnxValues::quantize(const std::string& from, std::int32_t i) {
  convert("QuantizeLinear", from, i, tensor(i).quantization.scales, value(i));
}

void OnnxValues::quantize(const std::string& from, std::int32_t i, float step) {
  convert("QuantizeLinear", from, i, {step}, value(i));
}

void OnnxValues::dequantize(std::int32_t i, const std::string& output) {
  convert("DequantizeLinear", value(i), i, tensor(i).quantization.scales, output);
}

std::string OnnxValues::reals(std::int32_t i) {
  if (!tensor(i).is_quantized()) return value(i);
  return dequantized(i, tensor(i).quantization.scales, "/real");
}

std::string OnnxValues::terms(std::int32_t i) {
  if (options_.style != OnnxStyle::exact || !tensor(i).is_quantized()) return reals(i);
  return dequantized(i, {1.0F}, "/steps");
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
  return node("DequantizeLinear",
              {codes, constant(name + "/scale", scales), zero_points(i, scales.size())},
              name + "/terms", along(scales, 0));
}

}  // namespace octet::detail
