#pragma once

#include <octet/core/quant/rounding.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// How C source holds the weights of FULLY_CONNECTED and the convolutions.
enum class CWeights {
  /// A byte each.
  int8,
  /// The weights of an operator in as few bits as hold all of its values, 2 to 7, where that takes
  /// fewer bytes. Rows begin at bytes, and the first weight of a row lies in the lowest bits: a row
  /// is what one unit reads, in DEPTHWISE_CONV_2D one tap of all units, so that 4 and 2 bits in
  /// whole bytes are the .tflite file's. Units that read their weights once decode them there;
  /// others decode a unit's into memory that all operators share. Results are the same bytes.
  packed
};

/// Says whether the code of FULLY_CONNECTED and the convolutions is to be fast or small. Results
/// are the same bytes.
enum class CCode {
  /// Four rows or windows at a time, and windows of 3 x 3 by a function of their own. States that
  /// hold the last values of a sequence are rings: no step moves what they keep.
  fast,
  /// One row at a time, two units at once, and one function for windows of all sizes where the
  /// processor has no vectors: less flash, and static buffers for one row instead of four. States
  /// are half as long as rings, which CSourceOptions::rows has none of either.
  small
};

struct CSourceOptions {
  /// How sums are rescaled. Where not given: the model's metadata "octet.rounding", else fp32.
  std::optional<Rounding> rounding{};
  CWeights weights = CWeights::int8;
  CCode code = CCode::fast;
  /// Whether the static buffers have a place for each input, NAME_input_buffer(), that is used
  /// again once the input is read. NAME_invoke() takes an input from there or from elsewhere.
  bool input_in_arena = false;
  /// Where above 0, a chain of operators on images runs by rows, if that takes less RAM: each makes
  /// up to so many rows of its image at a time, and of the images within the chain the static
  /// buffers hold the rows alone that are still to be read. The chain is the one with which the
  /// static buffers are smallest. No row is computed twice. Few rows take less RAM and more calls.
  std::int64_t rows = 0;
  /// The most bytes of RAM that static buffers, inputs and outputs may take. Where they take more
  /// with the options above, the inputs lie in the static buffers, or the code is small, or both;
  /// and where all of that takes more, a chain runs by 8, 4, 2 rows or 1 too: the first of these
  /// that fits.
  std::optional<std::int64_t> ram{};
  /// Real values that the self-test runs, samples end to end; with several inputs, a sample is
  /// their values one after the other. Samples of a model with states are the steps of a sequence.
  /// Empty: four random samples, 32 steps of a sequence, or fewer large ones.
  std::vector<float> self_test_inputs{};
};

/// A model as C source: the texts of NAME.h and NAME.c, and what they need of a machine.
struct CSource {
  std::string name;
  std::string header;
  std::string source;
  /// Bytes of constants on a machine of 32 bits; the code comes on top, with -Os two to seven
  /// kilobytes, with -O3 up to 24.
  std::int64_t flash_bytes = 0;
  /// Bytes of static buffers: values between operators, and what kernels work in; the caller's
  /// input and output come on top.
  std::int64_t ram_bytes = 0;
  /// Bytes of inputs and outputs that have no place in the static buffers, and of NAME_state.
  std::int64_t caller_bytes = 0;
  /// As in the options, or as CSourceOptions::ram has chosen.
  CCode code = CCode::fast;
  bool input_in_arena = false;
  /// 0 also where no chain would take less RAM by rows.
  std::int64_t rows = 0;
  /// Multiply-accumulates of one sample.
  std::int64_t macs = 0;
  /// The largest value of either sign that any sum can reach.
  std::int64_t accumulator_bound = 0;
};

}  // namespace octet
