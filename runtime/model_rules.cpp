#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/code_table.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/runtime/integer_model.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

using detail::kMaxRank;

[[noreturn]] void fail_tensor(const IntegerModel& model, std::size_t index,
                              std::string_view problem) {
  throw FormatError(fmt::format("tensor {} '{}': {}", index, model.tensors[index].name, problem));
}

void check_shape(const IntegerModel& model, std::size_t index) {
  const ModelTensor& tensor = model.tensors[index];
  if (tensor.shape.size() > kMaxRank) {
    fail_tensor(model, index, fmt::format("rank {}, more than {}", tensor.shape.size(), kMaxRank));
  }
  for (const std::int32_t extent : tensor.shape) {
    if (extent < 1) fail_tensor(model, index, fmt::format("extent {} in its shape", extent));
  }
  const std::size_t bytes = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype);
  if (tensor.is_constant() && tensor.data.size() != bytes) {
    fail_tensor(
        model, index,
        fmt::format("{} bytes of data, but its shape [{}] of {} needs {}", tensor.data.size(),
                    fmt::join(tensor.shape, ", "), to_string(tensor.dtype), bytes));
  }
  const auto& signature = tensor.shape_signature;
  if (signature.empty()) return;
  bool fits = signature.size() == tensor.shape.size();
  for (std::size_t i = 0; fits && i < signature.size(); ++i) {
    fits = signature[i] == -1 || signature[i] == tensor.shape[i];
  }
  if (!fits) {
    fail_tensor(model, index,
                fmt::format("shape_signature [{}] does not fit its shape [{}]",
                            fmt::join(signature, ", "), fmt::join(tensor.shape, ", ")));
  }
}

void check_quantization(const IntegerModel& model, std::size_t index) {
  const ModelTensor& tensor = model.tensors[index];
  if (!tensor.is_quantized()) return;
  const QuantParams& q = tensor.quantization;
  if (tensor.dtype == DType::float32) {
    fail_tensor(model, index, fmt::format("quantized {}", to_string(tensor.dtype)));
  }
  if (q.quantized_dimension < 0 || static_cast<std::size_t>(q.quantized_dimension) >=
                                       std::max<std::size_t>(tensor.shape.size(), 1)) {
    fail_tensor(model, index,
                fmt::format("quantized_dimension {} outside its rank {}", q.quantized_dimension,
                            tensor.shape.size()));
  }
  if (q.zero_points.size() != q.scales.size()) {
    fail_tensor(model, index,
                fmt::format("{} zero points for {} scales", q.zero_points.size(), q.scales.size()));
  }
  if (q.scales.size() > 1) {
    const std::int64_t extent =
        tensor.shape.empty() ? 1 : tensor.shape[static_cast<std::size_t>(q.quantized_dimension)];
    if (static_cast<std::int64_t>(q.scales.size()) != extent) {
      fail_tensor(model, index,
                  fmt::format("{} scales for an axis of extent {}", q.scales.size(), extent));
    }
  }
  for (const float scale : q.scales) {
    if (!std::isfinite(scale) || scale <= 0) {
      fail_tensor(model, index, fmt::format("scale {} is not finite and positive", scale));
    }
  }
  const auto [lowest, highest] = integer_limits(tensor.dtype);
  for (const std::int32_t zero_point : q.zero_points) {
    if (zero_point < lowest || zero_point > highest) {
      fail_tensor(model, index,
                  fmt::format("zero point {} outside {}", zero_point, to_string(tensor.dtype)));
    }
  }
}

void check_decoded_bits(const IntegerModel& model, std::size_t index) {
  const ModelTensor& tensor = model.tensors[index];
  if (tensor.decoded_bits == 0) return;
  const bool fits = tensor.dtype == DType::int8 && tensor.is_constant() && tensor.stored_bits == 8;
  if (!fits || tensor.decoded_bits < 1 || tensor.decoded_bits > 7 ||
      bits_of_table({reinterpret_cast<const std::int8_t*>(tensor.data.data()),
                     tensor.data.size()}) > tensor.decoded_bits) {
    fail_tensor(model, index,
                fmt::format("decoded from {} bits, expected a constant of int8 with at most so "
                            "many values",
                            tensor.decoded_bits));
  }
}

void check_stored_bits(const IntegerModel& model, std::size_t index) {
  const ModelTensor& tensor = model.tensors[index];
  if (tensor.stored_bits == 8) return;
  if (!is_packed_width(tensor.stored_bits)) {
    fail_tensor(model, index,
                fmt::format("expected 2, 4 or 8 stored bits, found {}", tensor.stored_bits));
  }
  const bool has_zero_points =
      std::ranges::any_of(tensor.quantization.zero_points, [](std::int32_t z) { return z != 0; });
  if (tensor.dtype != DType::int8 || !tensor.is_constant() || has_zero_points) {
    fail_tensor(model, index,
                fmt::format("stored in {} bits, expected a constant of int8 with zero points 0",
                            tensor.stored_bits));
  }
  const int half = 1 << (tensor.stored_bits - 1);
  for (const std::uint8_t byte : tensor.data) {
    const int code = static_cast<std::int8_t>(byte);
    if (code >= -half && code < half) continue;
    fail_tensor(
        model, index,
        fmt::format("stored in {} bits, which do not hold its value {}", tensor.stored_bits, code));
  }
}

/// Which tensors have a value yet, operator by operator.
class Availability {
 public:
  explicit Availability(const IntegerModel& model)
      : model_(model), available_(model.tensors.size()) {
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      available_[i] = model.tensors[i].is_constant();
    }
  }

  void add_input(std::int32_t index) {
    check_index(index, "model input");
    define(index, "model input");
  }

  void run(std::size_t position) {
    const Operator& op = model_.operators[position];
    const std::string who = fmt::format("operator {} ({})", position, to_string(op.code));
    for (const std::int32_t input : op.inputs) {
      if (input != -1) read(input, who);
    }
    for (const std::int32_t output : op.outputs) check_index(output, who);
    detail::check_operator(model_, position);
    for (const std::int32_t output : op.outputs) define(output, who);
  }

  void read(std::int32_t index, std::string_view who) const {
    check_index(index, who);
    if (!available_[static_cast<std::size_t>(index)]) {
      throw FormatError(
          fmt::format("{}: reads tensor {} '{}' before it has a value", who, index, name(index)));
    }
  }

 private:
  std::string_view name(std::int32_t index) const {
    return model_.tensors[static_cast<std::size_t>(index)].name;
  }

  void check_index(std::int32_t index, std::string_view who) const {
    if (index < 0 || static_cast<std::size_t>(index) >= model_.tensors.size()) {
      throw FormatError(fmt::format("{}: tensor index {} outside the {} tensors", who, index,
                                    model_.tensors.size()));
    }
  }

  void define(std::int32_t index, std::string_view who) {
    const auto i = static_cast<std::size_t>(index);
    if (available_[i]) {
      throw FormatError(fmt::format("{}: writes tensor {} '{}', which has a value already", who,
                                    index, name(index)));
    }
    available_[i] = true;
  }

  const IntegerModel& model_;
  std::vector<bool> available_;
};

}  // namespace

void detail::check_tensor(const IntegerModel& model, std::size_t index) {
  check_shape(model, index);
  check_quantization(model, index);
  check_stored_bits(model, index);
  check_decoded_bits(model, index);
}

void IntegerModel::validate() const {
  for (std::size_t i = 0; i < tensors.size(); ++i) detail::check_tensor(*this, i);
  if (inputs.empty() || outputs.empty()) {
    throw FormatError(fmt::format("model: expected inputs and outputs, found {} and {}",
                                  inputs.size(), outputs.size()));
  }
  Availability available(*this);
  for (const std::int32_t input : inputs) available.add_input(input);
  for (std::size_t i = 0; i < operators.size(); ++i) available.run(i);
  for (const std::int32_t output : outputs) available.read(output, "model output");
}

Rounding rounding_of(const IntegerModel& model) {
  const auto entry = model.metadata.find(kRoundingKey);
  if (entry == model.metadata.end()) {
    const bool wide = std::ranges::any_of(model.operators, [&](const Operator& op) {
      return detail::has_weights(op.code) &&
             detail::Operands(model, op).input().dtype == DType::int16;
    });
    return wide ? Rounding::q15 : Rounding::fp32;
  }
  try {
    return parse_rounding(entry->second);
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("metadata '{}': {}", kRoundingKey, error.what()));
  }
}

}  // namespace octet
