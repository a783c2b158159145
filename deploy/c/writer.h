#pragma once

#include <octet/deploy/c/source.h>
#include <octet/runtime/integer_model.h>

#include <filesystem>
#include <string_view>

namespace octet {

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
/// too: NAME_features() makes the input of 16-bit sound, and NAME_front_end_take() the quantized
/// values of each frame of a stream, in integers that give training's bytes.
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
