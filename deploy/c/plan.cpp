#include <octet/core/error.h>
#include <octet/deploy/c/plan.h>
#include <octet/deploy/tflite/writer.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace octet::detail {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void check_name(std::string_view name) {
  const auto fail = [&](std::string_view reason) {
    throw InvalidArgument(
        fmt::format("c source: \"{}\" cannot be the name of a network in C: {}; expected letters, "
                    "digits and single underscores, as in mnist_int8",
                    name, reason));
  };
  if (name.empty()) fail("it is empty");
  if (!is_letter(name[0])) fail("it does not begin with a letter");
  for (const char c : name) {
    if (!is_letter(c) && !is_digit(c) && c != '_') fail(fmt::format("it holds '{}'", c));
  }
  if (name.find("__") != std::string_view::npos || name.back() == '_') {
    fail("C++ keeps names with two underscores in a row for itself");
  }
  // The file includes <stdint.h> and <string.h>, and finds itself where its folder is searched.
  if (name == "stdint" || name == "string") fail("a header of the C library has it");
}

[[noreturn]] void fail_model(std::string_view problem) {
  throw InvalidArgument(fmt::format("c source: {}", problem));
}

/// The model without QUANTIZE from floats at its front and DEQUANTIZE at its end.
IntegerModel without_float_ends(IntegerModel model) {
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    fail_model(fmt::format("expected a model of one input and one output, found {} and {}",
                           model.inputs.size(), model.outputs.size()));
  }
  const auto is_float = [&](std::int32_t i) {
    return model.tensors[static_cast<std::size_t>(i)].dtype == DType::float32;
  };
  auto& ops = model.operators;
  if (!ops.empty() && ops.front().code == OpCode::quantize && is_float(model.inputs[0]) &&
      ops.front().inputs[0] == model.inputs[0]) {
    model.inputs[0] = ops.front().outputs[0];
    ops.erase(ops.begin());
  }
  if (!ops.empty() && ops.back().code == OpCode::dequantize &&
      ops.back().outputs[0] == model.outputs[0]) {
    model.outputs[0] = ops.back().inputs[0];
    ops.pop_back();
  }
  return model;
}

void check_codes(const ModelTensor& tensor) {
  if (tensor.dtype != DType::int8 && tensor.dtype != DType::uint8) {
    fail_model(
        fmt::format("tensor \"{}\" is {}, expected int8 or uint8 all through; float operators have "
                    "no place in it (did you mean the int8 model?)",
                    tensor.name, to_string(tensor.dtype)));
  }
  if (tensor.quantization.scales.size() != 1) {
    fail_model(fmt::format("tensor \"{}\" has {} scales, expected one", tensor.name,
                           tensor.quantization.scales.size()));
  }
}

void check_chain(const IntegerModel& model) {
  std::int32_t current = model.inputs[0];
  check_codes(model.tensors[static_cast<std::size_t>(current)]);
  for (const Operator& op : model.operators) {
    if (op.inputs[0] != current) {
      fail_model(
          fmt::format("operator {} does not read what the one before it writes; expected a "
                      "chain",
                      to_string(op.code)));
    }
    current = op.outputs[0];
    check_codes(model.tensors[static_cast<std::size_t>(current)]);
  }
  if (current != model.outputs[0]) fail_model("the last operator does not write the output");
}

/// A buffer's or the caller's memory as the type that a step takes.
std::string pointer(std::string_view memory, DType memory_type, const ModelTensor& tensor,
                    std::string_view qualifier) {
  if (tensor.dtype == memory_type) return std::string(memory);
  return fmt::format("({}{} *){}", qualifier, c_type(tensor.dtype), memory);
}

void lay_out(CPlan& plan) {
  std::vector<const Operator*> ops;
  for (const Operator& op : plan.model->operators) {
    if (op.code != OpCode::reshape) ops.push_back(&op);
  }
  std::string from = "input";
  DType from_type = plan.input().dtype;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const KernelSource source{*plan.model, *ops[i], plan.rounding};
    const bool last = i + 1 == ops.size();
    const std::string to =
        last ? "output" : fmt::format("{}_buffer_{}", plan.name, i % 2 == 0 ? "a" : "b");
    const DType to_type = last ? plan.output().dtype : DType::int8;
    plan.steps.push_back({static_cast<int>(i) + 1, source,
                          pointer(from, from_type, source.input(), "const "),
                          pointer(to, to_type, source.output(), "")});
    if (!last) plan.buffers[i % 2] = std::max(plan.buffers[i % 2], source.output().size());
    from = to;
    from_type = to_type;
  }
}

std::uint32_t crc_of(const IntegerModel& model) {
  const std::vector<std::uint8_t> bytes = to_tflite(model);
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

std::string capitals(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string_view c_type(DType dtype) { return dtype == DType::uint8 ? "uint8_t" : "int8_t"; }

Fillings CPlan::fillings() const {
  return {{"name", name},
          {"NAME", macro},
          {"input_type", std::string(c_type(input().dtype))},
          {"output_type", std::string(c_type(output().dtype))},
          {"input_size", std::to_string(input().size())},
          {"output_size", std::to_string(output().size())}};
}

CPlan make_c_plan(const IntegerModel& model, std::string_view name, const CSourceOptions& options) {
  check_name(name);
  CPlan plan;
  plan.name = name;
  plan.macro = capitals(name);
  model.validate();
  plan.rounding = options.rounding ? *options.rounding : rounding_of(model);
  plan.crc = crc_of(model);
  plan.model = std::make_shared<const IntegerModel>(without_float_ends(model));
  check_chain(*plan.model);
  lay_out(plan);
  return plan;
}

}  // namespace octet::detail
