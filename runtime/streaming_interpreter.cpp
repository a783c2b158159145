#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/runtime/streaming_interpreter.h>

#include <algorithm>
#include <sstream>
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

constexpr const char* kStatesKey = "octet.states";

void require_results(const IntegerModel& model, const CarriedStates& states) {
  require_states(model, states.states);
  std::vector<bool> known(model.outputs.size());
  std::fill_n(known.begin(), std::min(states.results, known.size()), true);
  for (const CarriedState& state : states.states) {
    const auto other = [&](const CarriedState& s) { return s.output == state.output; };
    if (std::ranges::count_if(states.states, other) == 1) known[state.output] = true;
  }
  if (states.results <= known.size() && std::ranges::count(known, false) == 0) return;
  throw InvalidArgument(
      fmt::format("states: expected each of {} outputs to be one of the first, which are results, "
                  "or one state, found {} results and {} states",
                  known.size(), states.results, states.states.size()));
}

}  // namespace

void keep_states(IntegerModel& model, const CarriedStates& states) {
  require_results(model, states);
  std::string& text = model.metadata[kStatesKey] = std::to_string(states.results);
  for (const auto& [input, output] : states.states) text += fmt::format(" {}:{}", input, output);
}

CarriedStates kept_states(const IntegerModel& model) {
  CarriedStates states;
  const auto entry = model.metadata.find(kStatesKey);
  if (entry == model.metadata.end()) return states;
  std::istringstream text(entry->second);
  text >> states.results;
  for (CarriedState state; text && !text.eof();) {
    char colon = 0;
    text >> state.input >> colon >> state.output;
    if (colon != ':') text.setstate(std::ios::failbit);
    states.states.push_back(state);
  }
  try {
    if (!text) throw InvalidArgument("expected results and input:output of each state");
    require_results(model, states);
  } catch (const InvalidArgument& error) {
    throw FormatError(
        fmt::format("metadata '{}', \"{}\": {}", kStatesKey, entry->second, error.what()));
  }
  return states;
}

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
