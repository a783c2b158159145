#pragma once

#include <octet/core/language.h>

#include <octet/runtime/interpreter.h>

#include <cstddef>
#include <vector>

namespace octet {

/// A state that a model carries from one step of time to the next: what this output gives at one
/// step is what this input is at the next.
struct CarriedState {
  std::size_t input = 0;
  std::size_t output = 0;

  bool operator==(const CarriedState&) const = default;
};

/// The states of a model, and how many of its outputs are results: those in front, of which some
/// may be states too.
struct CarriedStates {
  std::vector<CarriedState> states;
  std::size_t results = 0;
};

/// Makes the states part of the model, and of files of it: its metadata "octet.states". Throws
/// InvalidArgument as StreamingInterpreter does, and for fewer results than the model has outputs
/// that are no states.
void keep_states(IntegerModel& model, const CarriedStates& states);
/// What keep_states() wrote; no states where nothing did. Throws FormatError for another text, and
/// what keep_states() throws as one.
CarriedStates kept_states(const IntegerModel& model);

/// Runs a model of one step of time, as step_model() makes it, step after step, and keeps its
/// states in between. Not safe for concurrent calls on one object.
///
///     StreamingInterpreter stream(lower(one.model), one.states);
///     std::ranges::copy(features, stream.interpreter().input<std::int8_t>().begin());
///     stream.step();
///     show(stream.interpreter().output<std::int8_t>());
class StreamingInterpreter {
 public:
  /// Begins at reset(). Throws as the constructor of Interpreter, and InvalidArgument unless every
  /// state is an input and an output of one shape, type, scale and zero point, no two of them of
  /// one input.
  StreamingInterpreter(IntegerModel model, std::vector<CarriedState> states,
                       InterpreterOptions options = {});

  /// Gives every state the real value 0, as in front of a sequence.
  void reset();
  /// Computes the outputs of one step from its inputs, which have to be filled before; the states
  /// move on. Allocates nothing.
  void step();

  /// Where inputs are written and outputs read; the inputs of states are overwritten.
  Interpreter& interpreter() { return interpreter_; }
  const Interpreter& interpreter() const { return interpreter_; }

 private:
  Interpreter interpreter_;
  std::vector<CarriedState> states_;
  /// By state: what its input is at the next step.
  std::vector<std::vector<std::byte>> values_;
};

}  // namespace octet
