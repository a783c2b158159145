#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/runtime/streaming_interpreter.h>

#include <algorithm>
#include <string>
#include <utility>

namespace octet {
namespace {

const ModelTensor& end_of(const IntegerModel& model, const std::vector<std::int32_t>& ends,
                          std::size_t i, std::string_view what) {
  if (i < ends.size()) return model.tensors[static_cast<std::size_t>(ends[i])];
  throw InvalidArgument(
      fmt::format("StreamingInterpreter: expected a state of one of {} {}s of the model, found {} "
                  "number {}",
                  ends.size(), what, what, i));
}

std::string text_of(const ModelTensor& tensor) {
  const bool is_quantized = !tensor.quantization.scales.empty();
  return fmt::format("{} [{}], scale {}, zero point {}", to_string(tensor.dtype),
                     fmt::join(tensor.shape, ", "),
                     is_quantized ? tensor.quantization.scale() : 0.0F,
                     is_quantized ? tensor.quantization.zero_point() : 0);
}

void require_states(const IntegerModel& model, const std::vector<CarriedState>& states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const ModelTensor& in = end_of(model, model.inputs, states[i].input, "input");
    const ModelTensor& out = end_of(model, model.outputs, states[i].output, "output");
    const bool same =
        in.shape == out.shape && in.dtype == out.dtype && in.quantization == out.quantization;
    if (!same) {
      throw InvalidArgument(
          fmt::format("StreamingInterpreter: expected a state whose input \"{}\" has the shape, "
                      "type, scale and zero point of its output \"{}\", found {} and {}",
                      in.name, out.name, text_of(in), text_of(out)));
    }
    const auto earlier = states.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(states.begin(), earlier,
                    [&](const CarriedState& other) { return other.input == states[i].input; })) {
      throw InvalidArgument(
          fmt::format("StreamingInterpreter: expected an input for each state, found two states of "
                      "input \"{}\"",
                      in.name));
    }
  }
}

}  // namespace

StreamingInterpreter::StreamingInterpreter(IntegerModel model, std::vector<CarriedState> states,
                                           InterpreterOptions options)
    : interpreter_(std::move(model), options), states_(std::move(states)) {
  require_states(interpreter_.model(), states_);
  for (const CarriedState& state : states_) {
    values_.emplace_back(interpreter_.input_bytes(state.input).size());
  }
  reset();
}

void StreamingInterpreter::reset() {
  const IntegerModel& model = interpreter_.model();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const ModelTensor& tensor = end_of(model, model.inputs, states_[i].input, "input");
    // The zero point of int16 and the 0.0 of float32 are bytes of 0.
    const bool is_byte = tensor.dtype == DType::int8 || tensor.dtype == DType::uint8;
    const std::int32_t zero = is_byte ? tensor.quantization.zero_point() : 0;
    std::ranges::fill(values_[i], static_cast<std::byte>(zero));
  }
}

void StreamingInterpreter::step() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    std::ranges::copy(values_[i], interpreter_.input_bytes(states_[i].input).begin());
  }
  interpreter_.invoke();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    std::ranges::copy(interpreter_.output_bytes(states_[i].output), values_[i].begin());
  }
}

}  // namespace octet
