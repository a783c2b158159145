// What users see of an interpreter's tensors: details, bytes, and labels from floats.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/byte_codes.h>
#include <octet/core/quant/quantize.h>
#include <octet/runtime/interpreter_impl.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace octet {
namespace {

template <class T>
std::int32_t argmax(const std::byte* values, std::size_t count) {
  const auto* first = reinterpret_cast<const T*>(values);
  return static_cast<std::int32_t>(std::max_element(first, first + count) - first);
}

std::int32_t checked(const std::vector<std::int32_t>& indices, std::size_t i,
                     std::string_view role) {
  if (i >= indices.size()) {
    throw InvalidArgument(
        fmt::format("Interpreter: {} {} outside the {} of the model", role, i, indices.size()));
  }
  return indices[i];
}

void check_type(const ModelTensor& tensor, DType requested) {
  if (tensor.dtype != requested) {
    throw InvalidArgument(fmt::format("Interpreter: tensor '{}' is {}, not {}", tensor.name,
                                      to_string(tensor.dtype), to_string(requested)));
  }
}

/// Floats that are integers, of inputs such as indices.
void integer_input(std::span<const float> values, const ModelTensor& tensor, std::int32_t* to) {
  constexpr float kBeyond = 2147483648.0F;
  for (const float value : values) {
    if (value != std::trunc(value) || value < -kBeyond || value >= kBeyond) {
      throw InvalidArgument(fmt::format(
          "predict: expected integers for input '{}' of int32, found {}", tensor.name, value));
    }
    *to++ = static_cast<std::int32_t>(value);
  }
}

}  // namespace

std::optional<float> decision_threshold(const IntegerModel& model, std::size_t output) {
  if (output >= model.outputs.size()) return {};
  std::int32_t tensor = model.outputs[output];
  const ModelTensor& result = model.tensors[static_cast<std::size_t>(tensor)];
  if (result.size() != 1 || result.dtype == DType::int32) return {};
  // What moves, quantizes or dequantizes the value is not what decides.
  for (auto op = model.operators.rbegin(); op != model.operators.rend(); ++op) {
    if (std::ranges::count(op->outputs, tensor) == 0) continue;
    switch (op->code) {
      case OpCode::softmax:
        return {};
      case OpCode::logistic:
        return 0.5F;
      case OpCode::quantize:
      case OpCode::dequantize:
      case OpCode::reshape:
      case OpCode::squeeze:
        tensor = op->inputs[0];
        break;
      default:
        return 0.0F;
    }
  }
  return 0.0F;
}

TensorDetails tensor_details(const IntegerModel& model, std::int32_t index) {
  if (index < 0 || static_cast<std::size_t>(index) >= model.tensors.size()) {
    throw InvalidArgument(fmt::format("tensor_details: index {} outside the {} tensors", index,
                                      model.tensors.size()));
  }
  const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(index)];
  const QuantParams& q = tensor.quantization;
  TensorDetails details;
  details.name = tensor.name;
  details.index = index;
  details.shape = tensor.shape;
  details.shape_signature = tensor.shape_signature.empty() ? tensor.shape : tensor.shape_signature;
  details.dtype = tensor.dtype;
  if (!tensor.is_quantized()) return details;
  if (!q.per_channel()) details.quantization = {q.scale(), q.zero_point()};
  details.quantization_parameters = {q.scales, q.zero_points, q.quantized_dimension};
  return details;
}

TensorDetails Interpreter::Impl::details(std::int32_t index) const {
  TensorDetails result = tensor_details(*model, index);
  if (batched[at(index)] && !result.shape.empty()) {
    result.shape[0] *= static_cast<std::int32_t>(batch);
  }
  return result;
}

std::vector<TensorDetails> Interpreter::Impl::details(
    const std::vector<std::int32_t>& indices) const {
  std::vector<TensorDetails> result;
  result.reserve(indices.size());
  for (const std::int32_t index : indices) result.push_back(details(index));
  return result;
}

std::vector<TensorDetails> Interpreter::get_input_details() const {
  return impl().details(model().inputs);
}

std::vector<TensorDetails> Interpreter::get_output_details() const {
  return impl().details(model().outputs);
}

std::vector<TensorDetails> Interpreter::get_tensor_details() const {
  std::vector<std::int32_t> named;
  for (std::size_t i = 0; i < model().tensors.size(); ++i) {
    if (!model().tensors[i].name.empty()) named.push_back(static_cast<std::int32_t>(i));
  }
  return impl().details(named);
}

std::span<std::byte> Interpreter::input_bytes(std::size_t i) {
  const std::int32_t index = checked(model().inputs, i, "input");
  return {impl().writable[Impl::at(index)], impl().bytes_of(index)};
}

std::span<const std::byte> Interpreter::output_bytes(std::size_t i) const {
  return tensor_bytes(checked(model().outputs, i, "output"));
}

std::span<std::byte> Interpreter::typed_input(std::size_t i, DType requested) {
  check_type(model().tensors[Impl::at(checked(model().inputs, i, "input"))], requested);
  return input_bytes(i);
}

std::span<const std::byte> Interpreter::typed_output(std::size_t i, DType requested) const {
  check_type(model().tensors[Impl::at(checked(model().outputs, i, "output"))], requested);
  return output_bytes(i);
}

std::span<const std::byte> Interpreter::tensor_bytes(std::int32_t index) const {
  if (index < 0 || Impl::at(index) >= model().tensors.size()) {
    throw InvalidArgument(fmt::format("tensor_bytes: index {} outside the {} tensors", index,
                                      model().tensors.size()));
  }
  const ModelTensor& tensor = model().tensors[Impl::at(index)];
  if (!tensor.is_constant()) {
    const bool kept = impl().options.keep_tensors && impl().computed[Impl::at(index)];
    if (!kept && !impl().is_input[Impl::at(index)] && !impl().is_output[Impl::at(index)]) {
      throw InvalidArgument(
          fmt::format("tensor_bytes: tensor {} '{}' is not kept; set keep_tensors to read "
                      "intermediate tensors",
                      index, tensor.name));
    }
  }
  return {impl().readable[Impl::at(index)], impl().bytes_of(index)};
}

std::span<const std::byte> Interpreter::tensor_bytes(std::int32_t index, Index sample) const {
  const std::span<const std::byte> all = tensor_bytes(index);
  if (sample < 0 || sample >= batch()) {
    throw InvalidArgument(
        fmt::format("tensor_bytes: sample {} outside the batch of {}", sample, batch()));
  }
  const std::size_t size = impl_->sample_bytes(index);
  const std::size_t first = impl_->batched[Impl::at(index)] ? static_cast<std::size_t>(sample) : 0;
  return all.subspan(first * size, size);
}

template <class Code>
void Interpreter::Impl::quantize_input(std::span<const float> values, const ModelTensor& tensor,
                                       Code* to) const {
  const auto size = static_cast<std::size_t>(tensor.size());
  const RoundMode mode = quantize_mode(rounding);
  const QuantParams params = detail::stored_params(tensor);
  if (!params.per_channel()) {
    quantize(values, params, std::span(to, values.size()), mode);
    return;
  }
  const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  for (std::size_t i = 0; i < values.size(); i += size) {
    quantize(values.subspan(i, size), shape, params, std::span(to + i, size), mode);
  }
}

void Interpreter::Impl::set_input(std::span<const float> values, std::size_t i) {
  const std::int32_t index = model->inputs[i];
  const ModelTensor& tensor = model->tensors[at(index)];
  std::byte* to = writable[at(index)];
  if (tensor.dtype == DType::float32) {
    std::memcpy(to, values.data(), values.size_bytes());
  } else if (tensor.is_quantized() && tensor.dtype == DType::int8) {
    quantize_input(values, tensor, reinterpret_cast<std::int8_t*>(to));
  } else if (tensor.is_quantized() && tensor.dtype == DType::uint8) {
    quantize_input(values, tensor, reinterpret_cast<std::uint8_t*>(to));
  } else if (tensor.is_quantized() && tensor.dtype == DType::int16) {
    quantize_input(values, tensor, reinterpret_cast<std::int16_t*>(to));
  } else if (tensor.dtype == DType::int32) {
    integer_input(values, tensor, reinterpret_cast<std::int32_t*>(to));
  } else {
    throw InvalidArgument(fmt::format("predict: input '{}' of {} takes no floats", tensor.name,
                                      to_string(tensor.dtype)));
  }
}

const std::byte* Interpreter::Impl::output_of(Index sample, std::size_t i) const {
  const std::int32_t index = model->outputs[i];
  const Index at_sample = batched[at(index)] ? sample : 0;
  return readable[at(index)] + static_cast<std::size_t>(at_sample) * sample_bytes(index);
}

void Interpreter::Impl::real_output(Index sample, std::span<float> to, std::size_t i) const {
  const ModelTensor& tensor = model->tensors[at(model->outputs[i])];
  const std::byte* from = output_of(sample, i);
  const auto dequantized = [&](const auto* codes) {
    dequantize(std::span(codes, to.size()), detail::stored_params(tensor), to);
  };
  if (tensor.dtype == DType::float32) {
    std::memcpy(to.data(), from, to.size_bytes());
  } else if (tensor.is_quantized() && tensor.dtype == DType::int8) {
    dequantized(reinterpret_cast<const std::int8_t*>(from));
  } else if (tensor.is_quantized() && tensor.dtype == DType::uint8) {
    dequantized(reinterpret_cast<const std::uint8_t*>(from));
  } else if (tensor.is_quantized() && tensor.dtype == DType::int16) {
    dequantized(reinterpret_cast<const std::int16_t*>(from));
  } else if (tensor.dtype == DType::int32) {
    std::ranges::transform(std::span(reinterpret_cast<const std::int32_t*>(from), to.size()),
                           to.begin(), [](std::int32_t n) { return static_cast<float>(n); });
  } else {
    throw InvalidArgument(fmt::format("run: output '{}' of {} gives no real values", tensor.name,
                                      to_string(tensor.dtype)));
  }
}

std::int32_t Interpreter::Impl::label(Index sample, std::optional<float> threshold) const {
  if (threshold) {
    float value = 0.0F;
    real_output(sample, {&value, 1});
    return value > *threshold ? 1 : 0;
  }
  const ModelTensor& tensor = model->tensors[at(model->outputs[0])];
  const auto count = static_cast<std::size_t>(tensor.size());
  const std::byte* from = output_of(sample);
  switch (tensor.dtype) {
    case DType::float32:
      return argmax<float>(from, count);
    case DType::int8:
      return argmax<std::int8_t>(from, count);
    case DType::uint8:
      return argmax<std::uint8_t>(from, count);
    case DType::int16:
      return argmax<std::int16_t>(from, count);
    case DType::int32:
      if (count == 1) return *reinterpret_cast<const std::int32_t*>(from);
      throw InvalidArgument(
          fmt::format("predict: expected one class of each sample, found {} in output '{}'; read "
                      "them by output<std::int32_t>()",
                      count, tensor.name));
    default:
      throw InvalidArgument(fmt::format("predict: output '{}' of {} gives no classes", tensor.name,
                                        to_string(tensor.dtype)));
  }
}

void Interpreter::Impl::run_samples(std::size_t size,
                                    FunctionRef<void(std::size_t begin, std::size_t end)> set,
                                    FunctionRef<void(Index samples)> take) {
  const auto of_sample = static_cast<std::size_t>(model->tensors[at(model->inputs[0])].size());
  if (model->inputs.size() != 1 || size % of_sample != 0) {
    throw InvalidArgument(
        fmt::format("predict: expected one input and samples of {} values, found {} inputs and {} "
                    "values",
                    of_sample, model->inputs.size(), size));
  }
  const std::size_t per_batch = static_cast<std::size_t>(batch) * of_sample;
  for (std::size_t begin = 0; begin < size; begin += per_batch) {
    const std::size_t end = std::min(begin + per_batch, size);
    set(begin, end);
    invoke();
    take(static_cast<Index>((end - begin) / of_sample));
  }
}

std::vector<std::int32_t> Interpreter::Impl::labels_of(
    std::size_t size, FunctionRef<void(std::size_t begin, std::size_t end)> set) {
  const std::optional<float> threshold = decision_threshold(*model);
  std::vector<std::int32_t> labels;
  labels.reserve(size / static_cast<std::size_t>(model->tensors[at(model->inputs[0])].size()));
  run_samples(size, set, [&](Index samples) {
    for (Index i = 0; i < samples; ++i) labels.push_back(label(i, threshold));
  });
  return labels;
}

std::vector<float> Interpreter::run(std::span<const float> values) {
  const auto width = static_cast<std::size_t>(
      model().tensors[Impl::at(checked(model().outputs, 0, "output"))].size());
  std::vector<float> result;
  impl().run_samples(
      values.size(),
      [&](std::size_t begin, std::size_t end) {
        impl().set_input(values.subspan(begin, end - begin));
      },
      [&](Index samples) {
        for (Index i = 0; i < samples; ++i) {
          result.resize(result.size() + width);
          impl().real_output(i, std::span(result).last(width));
        }
      });
  return result;
}

std::size_t Interpreter::Impl::samples_in(std::span<const std::span<const float>> inputs) const {
  if (inputs.size() != model->inputs.size()) {
    throw InvalidArgument(fmt::format(
        "run: expected values for each of the {} inputs of the model, found {}; give them in the "
        "model's order",
        model->inputs.size(), inputs.size()));
  }
  std::size_t samples = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const ModelTensor& tensor = model->tensors[at(model->inputs[k])];
    const auto size = static_cast<std::size_t>(tensor.size());
    if (k == 0) samples = inputs[k].size() / size;
    if (inputs[k].size() == samples * size) continue;
    throw InvalidArgument(
        fmt::format("run: expected {} samples of {} values for input '{}', found {} values; do the "
                    "inputs have samples in one number, in the model's order?",
                    samples, size, tensor.name, inputs[k].size()));
  }
  return samples;
}

std::vector<std::vector<float>> Interpreter::run_all(
    std::span<const std::span<const float>> inputs) {
  const auto size_of_tensor = [&](std::int32_t index) {
    return static_cast<std::size_t>(model().tensors[Impl::at(index)].size());
  };
  const std::size_t samples = impl().samples_in(inputs);
  const auto per_batch = static_cast<std::size_t>(batch());
  std::vector<std::vector<float>> results(model().outputs.size());
  for (std::size_t begin = 0; begin < samples; begin += per_batch) {
    const std::size_t count = std::min(per_batch, samples - begin);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::size_t size = size_of_tensor(model().inputs[k]);
      impl().set_input(inputs[k].subspan(begin * size, count * size), k);
    }
    invoke();
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::size_t size = size_of_tensor(model().outputs[k]);
      for (std::size_t i = 0; i < count; ++i) {
        results[k].resize(results[k].size() + size);
        impl().real_output(static_cast<Index>(i), std::span(results[k]).last(size), k);
      }
    }
  }
  return results;
}

std::vector<std::int32_t> Interpreter::predict(std::span<const float> values) {
  return impl().labels_of(values.size(), [&](std::size_t begin, std::size_t end) {
    impl().set_input(values.subspan(begin, end - begin));
  });
}

std::vector<std::int32_t> Interpreter::predict_bytes(std::span<const std::uint8_t> bytes) {
  const std::int32_t index = checked(model().inputs, 0, "input");
  const ModelTensor& tensor = model().tensors[Impl::at(index)];
  if (tensor.dtype == DType::int8 && tensor.is_quantized() && !tensor.quantization.per_channel()) {
    const ByteCodes codes(detail::stored_params(tensor), quantize_mode(rounding()));
    auto* to = reinterpret_cast<std::int8_t*>(impl().writable[Impl::at(index)]);
    return impl().labels_of(bytes.size(), [&](std::size_t begin, std::size_t end) {
      const auto rows = bytes.subspan(begin, end - begin);
      codes.run(rows, std::span(to, rows.size()));
    });
  }
  std::vector<float> reals;
  return impl().labels_of(bytes.size(), [&](std::size_t begin, std::size_t end) {
    reals.resize(end - begin);
    octet::kernels().passes.bytes_to_unit(bytes.data() + begin, reals.size(), reals.data());
    impl().set_input(reals);
  });
}

}  // namespace octet
