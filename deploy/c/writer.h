#pragma once

#include <octet/core/quant/rounding.h>
#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
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
  /// Four rows or windows at a time, and windows of 3 x 3 by a function of their own.
  fast,
  /// One row at a time, two units at once, and one function for windows of all sizes where the
  /// processor has no vectors: less flash, and static buffers for one row instead of four.
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
  /// their values one after the other. Empty: four random samples, or fewer large ones.
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
  /// Bytes of inputs and outputs that have no place in the static buffers.
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

/// The model, forks and all, in plain C99 that is C++17 too, for machines down to microcontrollers:
/// constants, static buffers and `int NAME_invoke(const int8_t *input, int8_t *output)` for one
/// sample (uint8_t where the model has such ends), which gives the Interpreter's bytes. Several
/// inputs are the parameters input1, input2, ..., in the order of the model's, and several outputs
/// output1, output2, ...; macros and helpers are then named after them, NAME_INPUT1_SIZE. It uses
/// no heap, no library and, in any rounding mode, no floating point: the float roundings of fp32
/// are computed in integers. With GCC and Clang, Arm's DSP instructions, Helium, and vectors of
/// x86 (SSE2, SSE4.1, AVX2) are used where the compiler's flags say that the processor has them. A
/// QUANTIZE of an input of floats and a DEQUANTIZE to an output become NAME_quantize_input() and
/// NAME_dequantize_output(), which every model has and which alone depend on compiler flags:
/// -ffast-math and x87 arithmetic change their last bits. Compiled with -DNAME_SELFTEST (NAME in
/// capitals) it has a main() that returns 0 where golden inputs give golden outputs.
///
/// A model with metadata "octet.front_end" (LogMel::description()) has its front end in the source
/// too: NAME_features() makes the input of 16-bit sound, and NAME_front_end_take() the codes of each
/// frame of a stream, in integers that give training's bytes.
///
/// `name` prefixes every identifier: a C identifier that begins with a letter, has no two
/// underscores in a row and none at its end. Throws InvalidArgument for other names, for a model
/// that is no graph of int8 operators, for one that takes more RAM than it may, for self-test
/// inputs that are no whole samples, and for what makes too much text: samples of more than 2^22
/// values in all, or operators that share constants, each of which writes them out (64 MiB, or 16
/// bytes for every byte of constants); FormatError where the model is not valid.
CSource to_c_source(const IntegerModel& model, std::string_view name,
                    const CSourceOptions& options = {});

/// Writes to_c_source() to `stem` + ".h" and `stem` + ".c"; the last part of the path is the name.
/// Each file is replaced as a whole or not at all (IoError).
CSource write_c_source(const IntegerModel& model, const std::filesystem::path& stem,
                       const CSourceOptions& options = {});

}  // namespace octet
