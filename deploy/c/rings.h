#pragma once

#include <octet/runtime/integer_model.h>
#include <octet/runtime/streaming_interpreter.h>

#include <cstddef>
#include <cstdint>
#include <vector>

// Delay lines of a model of one step: states that hold the last values of a sequence.

namespace octet::detail {

/// A state that CONCATENATION puts in front of the newest values, which makes a window, and that
/// STRIDED_SLICE cuts anew from the window's end. As a ring it is not moved: the window goes on by
/// the size of the newest values in each step, and begins again at the front after `turn` bytes.
/// What lies behind `turn` bytes is written a second time at the front, so that each window is in
/// one piece.
struct CRing {
  /// The state's input and output among those of the model.
  std::size_t input = 0;
  std::size_t output = 0;
  /// The operators that make the window, and the next state.
  std::size_t join = 0;
  std::size_t cut = 0;
  /// The tensors.
  std::int32_t window = 0;
  std::int32_t newest = 0;
  /// Bytes of the state, of the newest values, and from the front to where windows begin again.
  std::int64_t kept = 0;
  std::int64_t step = 0;
  std::int64_t turn = 0;

  std::int64_t bytes() const { return turn + kept; }
};

/// Finds the states of a model that can be rings: those that nothing else reads, whose windows lie
/// in one piece and are no outputs.
std::vector<CRing> find_rings(const IntegerModel& model, const CarriedStates& states);

}  // namespace octet::detail
