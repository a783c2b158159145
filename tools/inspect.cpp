#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/deploy/constant_units.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/onnx/outline_internal.h>
#include <octet/runtime/operator_cost.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "outline.h"
#include "show.h"

namespace octet::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string shape_text(const std::vector<std::int32_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// One scale, or the lowest and the highest and how many there are; "-" where there is none.
std::string scales_text(const ModelTensor& tensor) {
  const auto& scales = tensor.quantization.scales;
  if (scales.empty()) return "-";
  const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
  if (scales.size() == 1) return fmt::format("{:.6g}", *least);
  return fmt::format("{:.4g} to {:.4g} ({})", *least, *most, scales.size());
}

/// "int8", "int4" of packed codes, or "int8 of 3 bits" behind a TFLM_DECODE.
std::string stored_type(const ModelTensor& tensor) {
  if (tensor.decoded_bits > 0) return fmt::format("int8 of {} bits", tensor.decoded_bits);
  return tensor.stored_bits == 8 ? std::string(to_string(tensor.dtype))
                                 : fmt::format("int{}", tensor.stored_bits);
}

/// The scales of an operator's weights, its constants of codes.
std::string weight_scales_text(const IntegerModel& model, const Operator& op) {
  for (const std::int32_t i : op.inputs) {
    if (i == -1) continue;
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(i)];
    if (tensor.is_constant() && size_of(tensor.dtype) == 1) return scales_text(tensor);
  }
  return "-";
}

std::string quantization_text(const TensorDetails& details) {
  const auto& q = details.quantization_parameters;
  if (q.scales.empty()) return "";
  if (q.scales.size() == 1) {
    return fmt::format("scale {}, zero point {}", double{q.scales[0]}, q.zero_points[0]);
  }
  const auto [least, most] = std::minmax_element(q.scales.begin(), q.scales.end());
  return fmt::format("{} scales along axis {}, {} to {}", q.scales.size(), q.quantized_dimension,
                     double{*least}, double{*most});
}

/// One attribute as text; nothing where it is off. A type without a text does not compile.
std::string attribute_text(std::string_view /*name*/, FusedActivation activation) {
  return activation == FusedActivation::none ? "" : fmt::format(" {}", to_string(activation));
}
std::string attribute_text(std::string_view /*name*/, Padding padding) {
  return padding == Padding::valid ? "" : fmt::format(" {}", to_string(padding));
}
std::string attribute_text(std::string_view name, bool is_set) {
  return is_set ? fmt::format(" {}", name) : "";
}
std::string attribute_text(std::string_view name, std::int32_t value) {
  return fmt::format(" {} {}", name, value);
}
std::string attribute_text(std::string_view name, float value) {
  return fmt::format(" {} {}", name, value);
}
std::string attribute_text(std::string_view name, const std::vector<std::int32_t>& values) {
  return values.empty() ? "" : fmt::format(" {} {}", name, shape_text(values));
}

std::string options_text(const Operator& op) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    text += attribute_text(name, value);
  };
  std::visit([&](const auto& attributes) { for_each_field(attributes, add); }, op.attributes);
  return text;
}

ordered_json to_json(const TensorDetails& details) {
  const auto& q = details.quantization_parameters;
  return {{"name", details.name},
          {"index", details.index},
          {"shape", details.shape},
          {"shape_signature", details.shape_signature},
          {"dtype", to_string(details.dtype)},
          {"quantization", {details.quantization.first, details.quantization.second}},
          {"quantization_parameters",
           {{"scales", q.scales},
            {"zero_points", q.zero_points},
            {"quantized_dimension", q.quantized_dimension}}}};
}

ordered_json to_json(const IntegerModel& model, std::size_t index) {
  const Operator& op = model.operators[index];
  const OperatorCost cost = operator_cost(model, index);
  ordered_json json{{"index", index},
                    {"operator", to_string(op.code)},
                    {"version", op.version},
                    {"inputs", op.inputs},
                    {"outputs", op.outputs},
                    {"output_shape", model.tensors[static_cast<std::size_t>(op.outputs[0])].shape},
                    {"multiply_adds", cost.multiply_adds},
                    {"constant_bytes", cost.constant_bytes}};
  const auto add = [&](std::string_view name, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
      json[std::string(name)] = to_string(value);
    } else {
      json[std::string(name)] = value;
    }
  };
  std::visit([&](const auto& attributes) { for_each_field(attributes, add); }, op.attributes);
  return json;
}

ordered_json details_json(const IntegerModel& model, const std::vector<std::int32_t>& tensors) {
  ordered_json list = ordered_json::array();
  for (const std::int32_t i : tensors) list.push_back(to_json(tensor_details(model, i)));
  return list;
}

void print_model_json(const IntegerModel& model, const std::string& file, std::size_t bytes) {
  const OperatorCost cost = model_cost(model);
  ordered_json json{{"file", file},
                    {"bytes", bytes},
                    {"multiply_adds", cost.multiply_adds},
                    {"constant_bytes", cost.constant_bytes},
                    {"name", model.name},
                    {"description", model.description},
                    {"metadata", model.metadata},
                    {"inputs", details_json(model, model.inputs)},
                    {"outputs", details_json(model, model.outputs)},
                    {"warnings", runtime_warnings(model)},
                    {"operators", ordered_json::array()},
                    {"tensors", ordered_json::array()}};
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    json["operators"].push_back(to_json(model, i));
  }
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    ordered_json tensor = to_json(tensor_details(model, static_cast<std::int32_t>(i)));
    tensor["data_bytes"] = model.tensors[i].stored_bytes();
    json["tensors"].push_back(std::move(tensor));
  }
  show_json(json);
}

void print_details(const IntegerModel& model, std::string_view title,
                   const std::vector<std::int32_t>& tensors) {
  show("\n{}\n", title);
  for (const std::int32_t i : tensors) {
    const TensorDetails details = tensor_details(model, i);
    const auto& q = details.quantization_parameters;
    show("  name                     {}\n", printable(details.name));
    show("  index                    {}\n", details.index);
    show("  shape                    {}\n", shape_text(details.shape));
    show("  shape_signature          {}\n", shape_text(details.shape_signature));
    show("  dtype                    {}\n", to_string(details.dtype));
    show("  quantization             ({}, {})\n", double{details.quantization.first},
         details.quantization.second);
    const std::vector<double> scales(q.scales.begin(), q.scales.end());
    show("  quantization_parameters  scales [{}], zero_points [{}], quantized_dimension {}\n",
         fmt::join(scales, ", "), fmt::join(q.zero_points, ", "), q.quantized_dimension);
  }
}

void print_row(const std::array<std::string, 11>& cells) {
  std::string line =
      fmt::format("{:>5}  {:<17} {:>7}  {:<14} {:>6}  {:<17} {:>13} {:>9}  {:<12} {:<27} {}",
                  cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7],
                  cells[8], cells[9], cells[10]);
  line.erase(line.find_last_not_of(' ') + 1);
  show("{}\n", line);
}

/// Says how many units prune_constant_units() would drop.
void print_prunable(IntegerModel model) {
  std::int64_t units = 0;
  try {
    for (const PrunedUnits& layer : prune_constant_units(model)) {
      units += layer.constant + layer.unread;
    }
  } catch (const Error&) {
    // Whoever runs the model says why it cannot be run.
  }
  if (units == 0) return;
  show(
      "\nno output depends on {} units: octet export --prune-constant drops them, and training "
      "could use them\n",
      units);
}

/// A line per operator, and what all of them cost.
void print_operators(const IntegerModel& model) {
  show("\n");
  print_row({"#", "operator", "version", "inputs", "output", "shape", "multiply-adds", "constants",
             "scale", "weight scales", "options"});
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    const Operator& op = model.operators[i];
    const ModelTensor& output = model.tensors[static_cast<std::size_t>(op.outputs[0])];
    const OperatorCost cost = operator_cost(model, i);
    print_row({std::to_string(i), std::string(to_string(op.code)), std::to_string(op.version),
               fmt::format("{}", fmt::join(op.inputs, ", ")),
               fmt::format("{}", fmt::join(op.outputs, ", ")), shape_text(output.shape),
               std::to_string(cost.multiply_adds), std::to_string(cost.constant_bytes),
               scales_text(output), weight_scales_text(model, op), options_text(op)});
  }
  const OperatorCost total = model_cost(model);
  print_row({"total", fmt::format("{} operators", model.operators.size()), "", "", "", "",
             std::to_string(total.multiply_adds), std::to_string(total.constant_bytes)});
}

void print_model_text(const IntegerModel& model, const std::string& file, std::size_t bytes) {
  show("{}: {} bytes\n", file, bytes);
  show("model '{}', {}\n", printable(model.name), printable(model.description));
  for (const auto& [name, value] : model.metadata) {
    show("metadata {} = {}\n", printable(name), printable(value));
  }
  for (const std::string& warning : runtime_warnings(model)) {
    show("warning: {}\n", printable(warning, kMostOfWarning));
  }
  print_operators(model);
  print_prunable(model);
  show("\n{:>4}  {:<32} {:<8} {:<16} {:>9}  {}\n", "#", "tensor", "type", "shape", "constant",
       "quantization");
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const auto details = tensor_details(model, static_cast<std::int32_t>(i));
    const ModelTensor& tensor = model.tensors[i];
    const std::size_t constant = tensor.stored_bytes();
    show("{:>4}  {:<32} {:<8} {:<16} {:>9}  {}\n", i, printable(details.name), stored_type(tensor),
         shape_text(details.shape), constant == 0 ? "-" : fmt::format("{}", constant),
         quantization_text(details));
  }
  print_details(model, "inputs", model.inputs);
  print_details(model, "outputs", model.outputs);
}

/// Prints what is in a file that was refused, if it can be parsed at all.
template <class Outline>
void show_refused(const InspectOptions& options, std::string_view refusal, const Outline& outline) {
  const MappedFile file(options.file);
  detail::FileOutline found;
  try {
    found = outline(file.bytes(), refusal);
  } catch (const FormatError&) {
    // What refused it says why.
    return;
  }
  show_outline(options, found, refusal);
}

/// Octet runs no ONNX file, but imports some.
void inspect_onnx(const InspectOptions& options) {
  try {
    import_onnx(options.file);
  } catch (const Error& refusal) {
    show_refused(options, refusal.what(), detail::outline_onnx);
    throw;
  }
  show_refused(options, "", detail::outline_onnx);
}

}  // namespace

void inspect(const InspectOptions& options) {
  if (fs::path(options.file).extension() == ".onnx") return inspect_onnx(options);
  IntegerModel model;
  try {
    model = read_tflite(options.file);
  } catch (const FormatError& refusal) {
    show_refused(options, refusal.what(), [](const auto& bytes, std::string_view /*refusal*/) {
      return detail::outline_tflite(bytes);
    });
    throw;
  }
  const auto print = options.json ? print_model_json : print_model_text;
  print(model, options.file, fs::file_size(options.file));
}

}  // namespace octet::tools
