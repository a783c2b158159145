#include <fmt/format.h>
#include <octet/core/file.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "commands.h"

namespace octet::tools {
namespace {

using nlohmann::ordered_json;

std::string shape_text(const std::vector<std::int32_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
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
  std::visit([&](const auto& attributes) { attributes.for_each(add); }, op.attributes);
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

ordered_json to_json(const Operator& op, std::size_t index) {
  ordered_json json{{"index", index},
                    {"operator", to_string(op.code)},
                    {"version", op.version},
                    {"inputs", op.inputs},
                    {"outputs", op.outputs}};
  const auto add = [&](std::string_view name, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
      json[std::string(name)] = to_string(value);
    } else {
      json[std::string(name)] = value;
    }
  };
  std::visit([&](const auto& attributes) { attributes.for_each(add); }, op.attributes);
  return json;
}

ordered_json details_json(const IntegerModel& model, const std::vector<std::int32_t>& tensors) {
  ordered_json list = ordered_json::array();
  for (const std::int32_t i : tensors) list.push_back(to_json(tensor_details(model, i)));
  return list;
}

void print_json(const IntegerModel& model, const std::string& file, std::size_t bytes) {
  ordered_json json{{"file", file},
                    {"bytes", bytes},
                    {"name", model.name},
                    {"description", model.description},
                    {"metadata", model.metadata},
                    {"inputs", details_json(model, model.inputs)},
                    {"outputs", details_json(model, model.outputs)},
                    {"warnings", runtime_warnings(model)},
                    {"operators", ordered_json::array()},
                    {"tensors", ordered_json::array()}};
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    json["operators"].push_back(to_json(model.operators[i], i));
  }
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    ordered_json tensor = to_json(tensor_details(model, static_cast<std::int32_t>(i)));
    tensor["data_bytes"] = model.tensors[i].data.size();
    json["tensors"].push_back(std::move(tensor));
  }
  // A name that is not UTF-8 still prints.
  fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_details(const IntegerModel& model, std::string_view title,
                   const std::vector<std::int32_t>& tensors) {
  fmt::print("\n{}\n", title);
  for (const std::int32_t i : tensors) {
    const TensorDetails details = tensor_details(model, i);
    const auto& q = details.quantization_parameters;
    fmt::print("  name                     {}\n", printable(details.name));
    fmt::print("  index                    {}\n", details.index);
    fmt::print("  shape                    {}\n", shape_text(details.shape));
    fmt::print("  shape_signature          {}\n", shape_text(details.shape_signature));
    fmt::print("  dtype                    {}\n", to_string(details.dtype));
    fmt::print("  quantization             ({}, {})\n", double{details.quantization.first},
               details.quantization.second);
    const std::vector<double> scales(q.scales.begin(), q.scales.end());
    fmt::print("  quantization_parameters  scales [{}], zero_points [{}], quantized_dimension {}\n",
               fmt::join(scales, ", "), fmt::join(q.zero_points, ", "), q.quantized_dimension);
  }
}

void print_text(const IntegerModel& model, const std::string& file, std::size_t bytes) {
  fmt::print("{}: {} bytes\n", file, bytes);
  fmt::print("model '{}', {}\n", printable(model.name), printable(model.description));
  for (const auto& [name, value] : model.metadata) {
    fmt::print("metadata {} = {}\n", printable(name), printable(value));
  }
  for (const std::string& warning : runtime_warnings(model)) {
    fmt::print("warning: {}\n", printable(warning, kMostOfWarning));
  }
  fmt::print("\n{:>4}  {:<16} {:>7}  {:<14} {:<7} {}\n", "#", "operator", "version", "inputs",
             "output", "options");
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    const Operator& op = model.operators[i];
    fmt::print("{:>4}  {:<16} {:>7}  {:<14} {:<7}{}\n", i, to_string(op.code), op.version,
               fmt::format("{}", fmt::join(op.inputs, ", ")),
               fmt::format("{}", fmt::join(op.outputs, ", ")), options_text(op));
  }
  fmt::print("\n{:>4}  {:<32} {:<8} {:<16} {:>9}  {}\n", "#", "tensor", "type", "shape", "constant",
             "quantization");
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const auto details = tensor_details(model, static_cast<std::int32_t>(i));
    const std::size_t constant = model.tensors[i].data.size();
    fmt::print("{:>4}  {:<32} {:<8} {:<16} {:>9}  {}\n", i, printable(details.name),
               to_string(details.dtype), shape_text(details.shape),
               constant == 0 ? "-" : fmt::format("{}", constant), quantization_text(details));
  }
  print_details(model, "inputs", model.inputs);
  print_details(model, "outputs", model.outputs);
}

}  // namespace

void inspect(const InspectOptions& options) {
  const IntegerModel model = read_tflite(options.file);
  const std::size_t bytes = std::filesystem::file_size(options.file);
  const auto print = options.json ? print_json : print_text;
  print(model, options.file, bytes);
}

}  // namespace octet::tools
