#pragma once

#include <octet/core/language.h>

#include <octet/layers/lower_options.h>
#include <octet/layers/model.h>
#include <octet/runtime/streaming_interpreter.h>

#include <vector>

namespace octet {

/// A model of one step of time, or of as few as it answers for, and the states that it carries on:
/// see step_model().
struct StepModel {
  Model model;
  /// A state is input "NAME_state" of the model, NAME being that of the layer that keeps it, or the
  /// "NAME_cell" of an LSTM, and an output. "NAME_begun_state" tells a layer that begins with zeros
  /// which results of a layer that waits belong to the sequence. At the beginning all are 0, which
  /// is the zero point.
  std::vector<CarriedState> states;
  /// How many steps of the inputs the model takes at once: the product of strides that follow one
  /// another, where those of several branches have a common multiple.
  Index steps = 1;
  /// By output of the model in front of the states: how many steps come before the first of the
  /// sequence that the original gives; of a result that is no sequence, how many calls come before
  /// the one that gives the original's.
  std::vector<Index> delays;
};

struct StepModelOptions {
  /// Whether convolutions may look ahead: those with padding same then wait for what they read, and
  /// their results, and all that are made of them, come so much later. A stream has no end, so that
  /// the last results, for which they would read zeros behind it, do not come; behind such a layer
  /// stands none that makes one result of a whole sequence.
  bool delay = false;
};

/// The model that computes of a piece of a sequence what `model` computes of the whole sequence, in
/// float or on integers, piece by piece and without end: inputs [steps, features] become
/// [StepModel::steps, features], and what a layer has to remember is one more input and one more
/// output. Inputs and outputs come in the model's order, the states behind them; a model that gives
/// a state already has one output for both. Weights, ranges and scales are copied. On integers, no
/// bit differs from what `model` gives.
///
/// - Dense, activations, sums, products, joins of features and all else that computes each step
///   alone stay as they are; of several sequences, the earlier ones wait for the latest.
/// - GRU, LSTM and SimpleRNN read the states that they gave before.
/// - Conv1D, DepthwiseConv1D, MaxPool1D and AveragePool1D keep the last steps that they have read.
///   With padding causal the results are the model's from the first on. With padding valid those of
///   windows that are not full yet come first, `delays` of them. With padding same they have to
///   know what comes later: see StepModelOptions::delay.
/// - Recurrent layers and padded windows begin with zeros. Where they read results that come before
///   the sequence's first, these, or the states behind them, are multiplied by 0, and later ones by
///   1: exactly on integers; in float a 0 may have another sign.
/// - What computes a single result of a whole sequence, as GlobalAveragePool1D, Flatten and a GRU
///   without return_sequences, gives one in every call: of the last steps, as many as the sequence
///   has, or for a GRU as if the sequence ended there.
///
/// Throws InvalidArgument, naming the layer, where one looks at several steps in another way, is
/// given a first state already or is used several times, where a window reads values whose scale is
/// learned, where sequences that are put together have other strides, where the steps that a
/// recurrent layer goes through in one call are partly in front of the sequence, where no layer
/// carries a state, and before build(); with StepModelOptions::delay where a layer needs steps that
/// do not come.
StepModel step_model(const Model& model, const StepModelOptions& options = {});

/// lower() of the model, with its states kept, see keep_states(): C source of it has functions for
/// them. Throws as lower().
IntegerModel lower(const StepModel& model, const LowerOptions& options = {});

}  // namespace octet
