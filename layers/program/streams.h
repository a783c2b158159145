#pragma once

#include <octet/layers/model.h>

#include <vector>

namespace octet {

class Recurrent;

/// How the result of a layer comes about while its network reads sequences piece by piece, see
/// step_model().
struct Stream {
  enum class Kind {
    outside,    ///< no step of time is read: inputs that are no sequences, and what is made of such
    each_step,  ///< every step alone, those of one moment of all inputs, or an input
    recurrent,  ///< every step and the states behind the step before
    window,     ///< windows that slide along the steps
    whole       ///< all steps at once
  };
  Kind kind = Kind::outside;
  /// Steps of the network's inputs from one step of the result to the next; 0 of a result that is
  /// no sequence.
  Index rate = 0;
  /// How many steps of the result come before the first that the whole sequence has.
  Index delay = 0;
  /// How many steps a window keeps of what it has read.
  Index kept = 0;
  /// How many of the steps that a layer reads first come before the sequence; the layer begins with
  /// zeros, and has to read them in place of these.
  Index zeroed = 0;
  /// How many steps of the network's inputs a result is made of that is no sequence.
  Index end = 0;
  /// Whether the last steps that the whole sequence has never come: a layer looks ahead.
  bool unfinished = false;
};

/// The layer that quantization wraps, or the layer itself.
const Layer& inner_of(const Layer& layer);
/// Null for any other layer.
const Recurrent* recurrent_of(const Layer& layer);

/// Throws InvalidArgument that names step_model() and the layer.
[[noreturn]] void fail_to_stream(const Layer& layer, std::string_view why);

/// The streams of all layers of a built model. A window over S steps, behind one another by s, with
/// F zeros in front, that reads a sequence delayed by D, keeps the P steps, S - s <= P < S, for
/// which D + P - F is a multiple of s, and is itself delayed by (D + P - F) / s. Where F > 0, D
/// steps are zeroed; before a recurrent layer they always are, and it is delayed by D. A layer that
/// computes each step of several sequences is delayed as the latest of them. `delays`:
/// whether convolutions may look ahead, as StepModelOptions::delay says. Throws InvalidArgument,
/// naming the layer, where step_model() does.
std::vector<Stream> streams_of(const Model& model, bool delays);

}  // namespace octet
