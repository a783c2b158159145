#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/deploy/c/rings.h>
#include <octet/deploy/c/row_chain.h>
#include <octet/deploy/c/source.h>
#include <octet/deploy/c/text.h>
#include <octet/deploy/example_metadata.h>
#include <octet/frontend/log_mel.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/streaming_interpreter.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace octet::detail {

/// One result of an operator of the C source and the memory that it goes between.
struct CStep {
  /// From 1.
  int number = 0;
  KernelSource source;
  /// Which of the operator's outputs the step computes.
  std::size_t result = 0;
  /// C expressions: an input, a place in the arena, a constant, or an output.
  std::vector<std::string> from;
  std::string to;
  /// Where the operator's own states go, in the order of its outputs.
  std::vector<std::string> states{};
  /// The C function that computes it: that of an equal one in front of it where there is one.
  std::string function{};
  /// Words that the step works in; empty where it needs none.
  std::string scratch{};
  /// How the step computes some rows of its image; nothing where it computes all.
  std::optional<CRowwise> rows{};
};

/// One input or output of a model as C source has it.
struct CEnd {
  /// The parameter: "input", or of several inputs "input1", "input2", ...; and the same in
  /// capitals, for macros.
  std::string name;
  std::string macro;
  const ModelTensor* tensor = nullptr;
  /// Whether it is a state, which callers neither give nor take.
  bool is_state = false;
  /// The C expression of where its values lie: the parameter, or memory in the struct of states.
  std::string place;
  /// For an output that no step writes, the C expression of the quantized values that it holds.
  std::string copied{};
  /// For an input that has a place in the arena, the C expression of that.
  std::string buffer{};
  /// For an input of indices: the rows of the smallest table that they choose from; else 0.
  std::int64_t rows = 0;
  /// Whether the new state may be written over this input, the old one: nothing reads it behind
  /// that.
  bool is_overwritten = false;
};

/// A state of a plan as a ring.
struct CRingStep {
  CRing ring;
  /// The step in front of which the newest values go in, and where those lie.
  std::size_t step = 0;
  std::string newest;
};

/// A model laid out as C source.
struct CPlan {
  std::string name;
  /// `name` in capitals, for macros.
  std::string macro;
  Rounding rounding = Rounding::fp32;
  CWeights weights = CWeights::int8;
  CCode code = CCode::fast;
  bool input_in_arena = false;
  /// Rows that an operator of a chain makes at a time; 0: there is no chain.
  std::int64_t rows = 0;
  std::uint32_t crc = 0;
  /// What lies between the float ends: a graph of operators on codes.
  std::shared_ptr<const IntegerModel> model;
  /// RESHAPE moves nothing and is no step.
  std::vector<CStep> steps;
  /// Bytes of the memory that steps write for others to read, and that they work in.
  std::int64_t arena_bytes = 0;
  /// Steps that run by rows, the first of them, where their images lie in the arena, and what the
  /// function that runs them is called with; and bytes of the arena if there were none.
  std::optional<CRowChain> chain;
  std::size_t chain_step = 0;
  std::vector<std::size_t> chain_offsets;
  std::vector<std::string> chain_arguments;
  std::int64_t whole_arena_bytes = 0;
  /// Constants that steps read as they read values, and their bytes.
  std::string constants;
  std::int64_t constant_bytes = 0;
  /// In the order of the model's.
  std::vector<CEnd> inputs;
  std::vector<CEnd> outputs;
  CarriedStates states;
  /// In the order of the steps.
  std::vector<CRingStep> rings;
  /// What makes the input of sound; none where the model does not say.
  std::optional<LogMel> front_end;
  /// Names of the classes in the order of labels; empty where the model has none.
  std::vector<std::string> class_names;
  /// The error of a reconstruction above which an input is an anomaly; none where none is known.
  std::optional<float> anomaly_threshold;
  /// Normalizes callers' floats before they are quantized.
  Normalization normalization;

  /// @name@ and @NAME@: what every template may use.
  Fillings fillings() const;
  /// fillings(), and @end@, @END@, @type@, @place@ and @count@, the number of values, of an input
  /// or output.
  Fillings fillings(const CEnd& end) const;
};

/// The codes of all these inputs or outputs for one sample, and their bytes.
std::int64_t size_of(const std::vector<CEnd>& ends);
std::int64_t bytes_of(const std::vector<CEnd>& ends);

/// Whether an input holds indices, of int32, not codes.
bool has_indices(const CPlan& plan);

/// Leaves the states out of inputs or outputs.
std::vector<CEnd> given(const std::vector<CEnd>& ends);

/// The inputs that callers give, and behind them the outputs that they take.
std::vector<CEnd> given_ends(const CPlan& plan);

/// What callers call for one sample: @name@_invoke(), or @name@_step() of a model with states.
std::string_view c_call(const CPlan& plan);

/// The parameters of the ends in that call.
std::string c_parameters(const CPlan& plan);

/// "int8_t" or "uint8_t", "int16_t" of the cell states of LSTMs, or "int32_t" of indices and of
/// what ARG_MAX gives.
std::string_view c_type(DType dtype);

/// The codes of int8 or uint8, which lie in a byte each, or numbers of int16 or int32.
std::int32_t code_of(DType dtype, std::uint8_t byte);
std::vector<std::int32_t> codes_of(DType dtype, std::span<const std::uint8_t> bytes);

/// Checks name and model, and prepares what does not depend on where values lie. Throws as
/// to_c_source().
CPlan make_c_plan(const IntegerModel& model, std::string_view name, const CSourceOptions& options);

/// Makes the steps of a plan, and lays out what they read and write. Throws as to_c_source().
void lay_out(CPlan& plan);

/// A place in the arena as a C expression.
std::string c_arena_place(const CPlan& plan, std::size_t offset);
/// An expression of memory of one type as a pointer to another.
std::string c_pointer(const std::string& memory, DType memory_type, DType type,
                      std::string_view qualifier);

/// Functions that the layers of a plan call.
/// rescale_four is c_rescale_twice() of vectors.
enum class CFunction { rescale, rescale_twice, rescale_four, softmax, to_code };

/// How a step reads packed weights: one where it needs it; or those of a unit, from its row or
/// from a column, into memory that all steps share.
enum class CUnpacking { none, code, row, column };

/// A function that layers of sums share: products of one row with the weights, of several rows, of
/// windows, or of each channel by itself. Each but the last needs those before it.
enum class CKernel { row, rows, convolve, depthwise };

/// One step as C.
struct CLayer {
  /// `FULLY_CONNECTED "dense", 784 -> 256, relu`
  std::string summary;
  std::string constants;
  std::string function;
  std::int64_t flash_bytes = 0;
  std::int64_t macs = 0;
  std::int64_t largest_sum = 0;
  std::set<CFunction> calls;
  /// The kernel that the layer calls, and whether that rescales by c_rescale_twice().
  std::optional<CKernel> kernel{};
  bool rescales_twice = false;
  /// Whether that writes values of 16 bits: sums of the gates of an LSTM.
  bool is_wide = false;
  /// Factors and tables that compute the steps of an LSTM.
  std::optional<LstmStep> lstm{};
  /// Whether vectors are rescaled by a factor whose shift is above 0.
  bool shifts_left = false;
  CUnpacking unpacking = CUnpacking::none;
  /// Bits of a packed weight, and how many packed weights a unit reads.
  int weight_bits = 8;
  std::int64_t unit_weights = 0;
  /// Bytes of the layer's weights in the source, and their number: the bytes that they take
  /// unpacked.
  std::int64_t weight_bytes = 0;
  std::int64_t weight_count = 0;
};

/// What the function that rounds twice is called, behind @name@_.
std::string_view c_rescale_twice(const CPlan& plan);

/// The functions that are called, in the order that C needs.
std::string c_arithmetic(const CPlan& plan, const std::set<CFunction>& calls);

/// The memory that weights are unpacked to, in bytes.
std::int64_t c_unpacked_bytes(const std::vector<CLayer>& layers);
/// The static buffer that weights are unpacked to, and the functions that read packed weights.
std::string c_unpacking(const CPlan& plan, const std::vector<CLayer>& layers);

/// The macros and types that constants and kernels need; empty where no layer calls a kernel.
std::string c_paths(const CPlan& plan, const std::vector<CLayer>& layers);

/// The bytes of the points that all LSTMs share.
std::int64_t c_lstm_bytes(const std::vector<CLayer>& layers);

/// The kernels that layers call, in the order that C needs.
std::string c_kernels(const CPlan& plan, const std::vector<CLayer>& layers);

/// The bytes of the struct of states.
std::int64_t c_state_bytes(const CPlan& plan);
/// The type of the states, and @name@_reset() and @name@_step(), for the header, of which they take
/// @parameters@, @input_sizes@ and @output_sizes@; empty for a model without states.
std::string c_state_declarations(const CPlan& plan, Fillings f);
/// These functions, the latter with `checks` and `calls`, and what they need.
std::string c_state_functions(const CPlan& plan, std::string_view checks, std::string_view calls);
/// Puts the newest values of a ring behind those that it keeps.
std::string c_ring_call(const CPlan& plan, const CRingStep& step);
/// Where the window of a ring lies in the struct of states.
std::string c_ring_window(const CPlan& plan, const CRing& ring);

/// The codes of real values of an input, a byte each.
void quantize_codes(std::span<const float> values, const ModelTensor& input, Rounding rounding,
                    std::uint8_t* codes);

/// The state and the functions of a model's front end, for the header and for the source, and the
/// bytes of its tables; empty and 0 for a model without one. Throws FormatError where the front end
/// does not fill the model's input.
std::string c_front_end_declarations(const CPlan& plan);
std::string c_front_end(const CPlan& plan);
std::int64_t c_front_end_bytes(const CPlan& plan);

/// Takes the names of classes and the normalization from the model's metadata. Throws FormatError
/// for entries that are none, and for a normalization that does not fit the last axis of the only
/// input's examples.
void read_example_metadata(const IntegerModel& model, CPlan& plan);

/// The macros of the names of classes; empty where there are none.
std::string c_class_names(const CPlan& plan);
std::string c_anomaly_threshold(const CPlan& plan);

/// The sentence about the normalization in the header, the lists of its numbers in the function
/// that quantizes, and the value there that becomes a code. The first two are empty without one.
std::string c_normalization_text(const CPlan& plan);
std::string c_normalization(const CPlan& plan);
std::string c_normalized_value(const CPlan& plan);
/// The bytes of these lists in flash memory.
std::int64_t c_normalization_bytes(const CPlan& plan);

/// The text of NAME.h.
/// `other_ram_bytes` is what the static buffers take with the other CCode.
std::string c_header(const CPlan& plan, const std::vector<CLayer>& layers, const CSource& figures,
                     std::int64_t other_ram_bytes);

/// The golden samples and main() of NAME.c.
std::string c_self_test(const CPlan& plan, const CSourceOptions& options);

}  // namespace octet::detail
