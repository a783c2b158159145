#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/file_states.h>
#include <octet/deploy/tflite/operators.h>
#include <octet/runtime/streaming_interpreter.h>

#include <algorithm>
#include <string>
#include <utility>

namespace octet::detail {
namespace {

/// Whether a tensor is a constant of nothing but the real value 0.
bool is_zero(const ModelTensor& tensor) {
  if (!tensor.is_constant() || tensor.quantization.per_channel()) return false;
  const std::int32_t zero_point = tensor.quantization.zero_point();
  const auto all_are = [&]<class T>(T /*type*/) {
    return std::ranges::all_of(values_of<T>(tensor), [&](T v) { return v == zero_point; });
  };
  if (tensor.dtype == DType::int16) return all_are(std::int16_t{});
  return tensor.dtype == DType::int8 && all_are(std::int8_t{});
}

class StateTaker {
 public:
  explicit StateTaker(IntegerModel& model) : model_(model), states_(kept_states(model)) {}

  FileStates take(TfliteStates form) {
    for (Operator& op : model_.operators) take_changed(op);
    if (of_one_call_ > 0) mark_one_call();
    if (form == TfliteStates::variables) take_resources();
    drop_ends();
    drop_tensors();
    return std::move(taken_);
  }

 private:
  std::int32_t input_of(const CarriedState& state) const { return model_.inputs[state.input]; }
  std::int32_t output_of(const CarriedState& state) const { return model_.outputs[state.output]; }

  ModelTensor& tensor(std::int32_t i) { return model_.tensors[static_cast<std::size_t>(i)]; }

  /// The outputs for variable tensors go, as do the states.
  void take_changed(Operator& op) {
    const auto states = definition(op.code).file_states;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::int32_t before = op.inputs[states[i]];
      const std::int32_t next = op.outputs[i + 1];
      if (is_zero(tensor(before)) && readers_of(model_, next) == 0) {
        tensor(before).data.clear();
        taken_.changed.insert(before);
        dropped_.insert(next);
        ++of_one_call_;
        continue;
      }
      const auto found = std::ranges::find_if(states_.states, [&](const CarriedState& state) {
        return input_of(state) == before && output_of(state) == next;
      });
      if (found == states_.states.end() || readers_of(model_, next) > 1 ||
          found->output < states_.results) {
        throw InvalidArgument(fmt::format(
            "to_tflite: {} '{}': expected its state '{}' to be carried and no result, as variable "
            "tensors of a file are, found others; name its states by keep_states()",
            to_string(op.code), tensor(op.outputs[0]).name, tensor(before).name));
      }
      taken_.changed.insert(before);
      dropped_.insert(next);
      drop(*found);
    }
    op.outputs.resize(op.outputs.size() - states.size());
  }

  void mark_one_call() {
    if (of_one_call_ == taken_.changed.size()) {
      model_.metadata[kStatesOfOneCall] = "true";
      return;
    }
    throw InvalidArgument(
        "to_tflite: expected the variable tensors of all operators to be carried on, or all to "
        "begin "
        "at 0 in each call, found both; a file has one or the other");
  }

  void take_resources() {
    if (states_.states.empty() && taken_.changed.empty()) {
      throw InvalidArgument(
          "to_tflite: expected a model that carries states to write as variables, found none; "
          "lower() of a step_model() does");
    }
    while (!states_.states.empty()) {
      const CarriedState state = states_.states.front();
      taken_.resources.push_back({input_of(state), output_of(state)});
      drop(state);
    }
  }

  void drop(CarriedState state) {
    std::erase(states_.states, state);
    inputs_.insert(state.input);
    if (state.output >= states_.results) outputs_.insert(state.output);
  }

  /// Inputs and outputs that are none of the file's, after which states are counted anew.
  void drop_ends() {
    const auto drop_from = [](std::vector<std::int32_t>& ends, const std::set<std::size_t>& gone) {
      for (auto i = gone.rbegin(); i != gone.rend(); ++i) {
        ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(*i));
      }
    };
    const auto before = [](const std::set<std::size_t>& gone, std::size_t i) {
      return static_cast<std::size_t>(std::distance(gone.begin(), gone.lower_bound(i)));
    };
    drop_from(model_.inputs, inputs_);
    drop_from(model_.outputs, outputs_);
    for (CarriedState& state : states_.states) {
      state.input -= before(inputs_, state.input);
      state.output -= before(outputs_, state.output);
    }
    model_.metadata.erase("octet.states");
    if (!states_.states.empty()) keep_states(model_, states_);
  }

  void drop_tensors() {
    std::vector<std::int32_t> places(model_.tensors.size());
    std::int32_t kept = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(places.size()); ++i) {
      const auto at = static_cast<std::size_t>(i);
      places[at] = kept;
      if (dropped_.contains(i)) continue;
      if (kept != i) model_.tensors[static_cast<std::size_t>(kept)] = std::move(model_.tensors[at]);
      ++kept;
    }
    model_.tensors.resize(static_cast<std::size_t>(kept));
    const auto renumber = [&](std::int32_t& i) {
      if (i >= 0) i = places[static_cast<std::size_t>(i)];
    };
    for (Operator& op : model_.operators) {
      std::ranges::for_each(op.inputs, renumber);
      std::ranges::for_each(op.outputs, renumber);
    }
    std::ranges::for_each(model_.inputs, renumber);
    std::ranges::for_each(model_.outputs, renumber);
    for (auto& [read, assigned] : taken_.resources) {
      renumber(read);
      renumber(assigned);
    }
    std::set<std::int32_t> changed;
    for (std::int32_t i : taken_.changed) {
      renumber(i);
      changed.insert(i);
    }
    taken_.changed = std::move(changed);
  }

  IntegerModel& model_;
  CarriedStates states_;
  FileStates taken_;
  /// Numbers of inputs and outputs, and tensors, that go.
  std::set<std::size_t> inputs_;
  std::set<std::size_t> outputs_;
  std::set<std::int32_t> dropped_;
  /// How many variable tensors are constants of 0 in the model.
  std::size_t of_one_call_ = 0;
};

}  // namespace

bool has_file_states(const IntegerModel& model, TfliteStates form) {
  return form == TfliteStates::variables ||
         std::ranges::any_of(model.operators, [](const Operator& op) {
           return !definition(op.code).file_states.empty();
         });
}

FileStates take_states(IntegerModel& model, TfliteStates form) {
  return StateTaker(model).take(form);
}

}  // namespace octet::detail
