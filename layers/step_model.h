#pragma once

#include <octet/core/language.h>

#include <octet/layers/model.h>
#include <octet/runtime/streaming_interpreter.h>

#include <vector>

namespace octet {

/// A model of one step of time, and the states that it carries on: see step_model().
struct StepModel {
  Model model;
  /// One for each recurrent layer: the state is input "NAME_state" of the model, NAME being the
  /// layer's, and the output that the layer gives.
  std::vector<CarriedState> states;
};

/// The model that computes of one step of time what `model` computes of a sequence, in float or on
/// integers: inputs [steps, features] become [1, features], and every GRU
/// and SimpleRNN reads the state that it gave at the step before from one more input. Inputs and
/// outputs come in the model's order, the states behind them; a model that gives the state already
/// has one output for both. Weights, ranges and scales are copied. Run step after step from states
/// of 0, its results are those that `model` gives behind each step, to the bit on integers; of what
/// `model` computes behind the last step alone they are its results if the sequence ended here.
///
/// What reads a sequence has to compute each step of it alone: Dense, convolutions of width 1,
/// activations, sums and products, joins of features. Throws InvalidArgument, naming the layer,
/// where one does not, where a recurrent layer is given a first state already or has more than one
/// state, as LSTM, where a layer is used several
/// times, where no layer carries a state, and before build().
StepModel step_model(const Model& model);

}  // namespace octet
