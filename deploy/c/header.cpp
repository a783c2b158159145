#include <fmt/format.h>
#include <octet/deploy/c/plan.h>

#include <algorithm>

// NAME.h: what a reader wants to know of the model, and how to call it.

namespace octet::detail {
namespace {

constexpr std::string_view kHeader = R"(/*
 * @name@.h: the network "@model@" in integers, written by Octet.
 *
@ends@ *   flash     @flash@ bytes of constants; the code takes two to seven kilobytes more, with -O3
 *             up to 24
 *   ram       @ram@ bytes of static buffers
@code@@rows@@weights@ *   work      @macs@ multiply-accumulates per sample
 *   sums      |sum| <= @bound@
 *   rounding  contract @rounding@: @contract@
 *   model     CRC-32 0x@crc@ of its .tflite file
 *
@layers@ *
 * Plain C99, and C++17: no heap, no library, and no floating point in @name@_@call@(),
 * whatever the contract. What the compiler makes of it is always the same bytes. The
 * preprocessor takes paths of their own for Arm's DSP instructions (Cortex-M4, M7, M33), for
 * Helium (M55, M85), where contract fp32 does multiply floats, which no flag changes, and for
 * SSE2, SSE4.1 and AVX2 of x86.
 *
 *   -D@NAME@_NO_FLOAT   leaves out the two helpers for callers who have floats
 *   -D@NAME@_SELFTEST   adds a main() that returns 0 where golden inputs give golden outputs
 */
#ifndef @NAME@_H
#define @NAME@_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A quantized value q stands for (q - ZERO_POINT) * SCALE. */
@end_macros@
#define @NAME@_FLASH_BYTES @flash@
#define @NAME@_RAM_BYTES @ram@
#define @NAME@_MACS @macs@
#define @NAME@_ACCUMULATOR_BOUND @bound@
#define @NAME@_ROUNDING "@rounding@"
#define @NAME@_MODEL_CRC32 0x@crc@u

/* Does not compile where a sum could leave its 32 bits. */
typedef char @name@_sums_fit_32_bits[@NAME@_ACCUMULATOR_BOUND <= INT32_MAX ? 1 : -1];

@classes@#define @NAME@_OK 0
#define @NAME@_ERROR_NULL 1 /* a pointer is null; nothing was written */
@index_error@
@invoke@@states@@buffers@@sound@#ifndef @NAME@_NO_FLOAT
/*
 * For callers who have floats; @these@ a compiler that rounds
 * every result to float32 as IEEE 754 says. Neither -ffast-math nor the x87 unit (-mfpmath=387,
 * which 32-bit x86 has by default) does: values next to the middle of two quantized values then change. They
 * are rounded to the nearest, ties @ties@, and NaN becomes the zero point.
@normalized@ */
@helpers@#endif

#ifdef __cplusplus
}
#endif

#endif
)";

constexpr std::string_view kInvoke = R"(/*
 * Runs one sample: @input_sizes@ quantized values in, @output_sizes@ out, which may not overlap. Returns
 * OK or an error above. Uses static buffers: one call at a time.
 */
int @name@_invoke(@parameters@);

)";

constexpr std::string_view kBuffers = R"(/*
 * Where an input may lie, within the static buffers, when @name@_@call@() is called, which
 * writes over it.
 */
@declared@
)";

constexpr std::string_view kEndMacros = R"(#define @NAME@_@END@_SIZE @size@
#define @NAME@_@END@_SHAPE {@shape@}
)";
constexpr std::string_view kGridMacros = R"(#define @NAME@_@END@_SCALE @scale@
#define @NAME@_@END@_ZERO_POINT @zero_point@
)";

constexpr std::string_view kFastCode =
    R"( *   code      for speed: four rows at a time, windows of 3 x 3 apart. For size (CCode::small,
 *             octet export --c-code small) -Os makes up to 1.5 KB less of it, which without
 *             vectors runs up to 2.4 times the instructions, with @other@ bytes of buffers
)";
constexpr std::string_view kSmallCode =
    R"( *   code      for size: one row at a time. For speed (CCode::fast, octet export --c-code fast)
 *             -Os makes up to 1.5 KB more of it, with @other@ bytes of buffers
)";

constexpr std::string_view kByRows =
    R"( *   rows      layers @first@ to @last@ make up to @rows_at_once@ rows of an image at a time, which takes @ram@
 *             bytes of buffers instead of @whole@, @calls@ calls of layers instead of @count@, and
 *             moves @moved@ bytes
)";

/// What it costs to run a chain by rows; empty where there is none.
std::string rows_text(const CPlan& plan, std::int64_t ram_bytes) {
  if (!plan.chain) return "";
  const CRowChain& chain = *plan.chain;
  const std::size_t count = chain.operators.size();
  std::int64_t moved = 0;
  for (const std::vector<RowCall>& band : chain.schedule.bands) {
    for (const RowCall& call : band) {
      if (call.dropped == 0) continue;
      moved += call.kept * chain.images[chain.operators[call.op].output].row_bytes;
    }
  }
  return fill(kByRows,
              {{"first", std::to_string(plan.steps[plan.chain_step].number)},
               {"last", std::to_string(plan.steps[plan.chain_step + count - 1].number)},
               {"rows_at_once", std::to_string(plan.rows)},
               {"ram", std::to_string(ram_bytes)},
               {"whole", std::to_string(ram_bytes - plan.arena_bytes + plan.whole_arena_bytes)},
               {"calls", std::to_string(chain.schedule.calls())},
               {"count", std::to_string(count)},
               {"moved", std::to_string(moved)}});
}

std::string_view contract_text(Rounding rounding) {
  switch (rounding) {
    case Rounding::single_rounding:
      return "(sum * m + half) >> s, as LiteRT's built-in kernels on Arm";
    case Rounding::double_rounding:
      return "high multiply, then rounding shift, as TFLite Micro and CMSIS-NN";
    case Rounding::fp32:
    case Rounding::q15:  // make_c_plan() refuses it
      break;
  }
  return "rint(float(sum) * factor), as XNNPACK and ONNX Runtime; here in integers";
}

std::string shape_text(const ModelTensor& tensor) {
  return fmt::format("{}", fmt::join(tensor.shape, ", "));
}

std::string tensor_text(const ModelTensor& tensor) {
  if (!tensor.is_quantized()) {
    return fmt::format("\"{}\", {} [{}]", comment_text(tensor.name), to_string(tensor.dtype),
                       shape_text(tensor));
  }
  return fmt::format("\"{}\", {} [{}], scale {}, zero point {}", comment_text(tensor.name),
                     to_string(tensor.dtype), shape_text(tensor), tensor.quantization.scale(),
                     tensor.quantization.zero_point());
}

/// What packed weights take; nothing where there is a byte for each.
std::string weights_text(const CPlan& plan, const std::vector<CLayer>& layers) {
  if (plan.weights == CWeights::int8) return "";
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  for (const CLayer& layer : layers) {
    bytes += layer.weight_bytes;
    count += layer.weight_count;
  }
  return fmt::format(
      " *   weights   {} bytes, {} at 8 bits: rows of two's complement, each from a byte's lowest\n"
      " *             bits up and padded to bytes\n",
      bytes, count);
}

/// Fills the header's macros and comments on inputs and outputs.
void fill_ends(const CPlan& plan, Fillings& f) {
  const std::vector<CEnd> ends = given_ends(plan);
  std::size_t helpers = 0;
  f["helpers"] = "";
  f["index_error"] =
      has_indices(plan)
          ? fill(
                "#define @NAME@_ERROR_INDEX 3 /* an index is outside of its table; nothing was "
                "written */\n",
                f)
          : "";
  for (const CEnd& end : ends) {
    Fillings of_end = plan.fillings(end);
    of_end["size"] = std::to_string(end.tensor->size());
    of_end["shape"] = shape_text(*end.tensor);
    f["end_macros"] += fill(kEndMacros, of_end);
    f["ends"] += fmt::format(" *   {:<9} {}\n", end.name, tensor_text(*end.tensor));
    // Indices, and what ARG_MAX gives, have no scale.
    if (!end.tensor->is_quantized()) continue;
    ++helpers;
    of_end["scale"] = float_literal(end.tensor->quantization.scale());
    of_end["zero_point"] = operand_text(end.tensor->quantization.zero_point());
    f["end_macros"] += fill(kGridMacros, of_end);
  }
  std::vector<std::string> input_sizes;
  f["buffers"] = "";
  for (const CEnd& input : given(plan.inputs)) {
    if (plan.input_in_arena) {
      f["declared"] += fill("@type@ *@name@_@end@_buffer(void);\n", plan.fillings(input));
    }
    input_sizes.push_back(input.macro + "_SIZE");
    if (input.rows > 0) continue;
    f["helpers"] += fill("int @name@_quantize_@end@(const float *values, @type@ *codes);\n",
                         plan.fillings(input));
  }
  std::vector<std::string> output_sizes;
  for (const CEnd& output : given(plan.outputs)) {
    output_sizes.push_back(output.macro + "_SIZE");
    if (!output.tensor->is_quantized()) continue;
    f["helpers"] += fill("int @name@_dequantize_@end@(const @type@ *codes, float *values);\n",
                         plan.fillings(output));
  }
  if (plan.input_in_arena) f["buffers"] = fill(kBuffers, f);
  f["input_sizes"] = fmt::format("{}", fmt::join(input_sizes, " and "));
  f["output_sizes"] = fmt::format("{}", fmt::join(output_sizes, " and "));
  f["these"] = helpers == 1 ? "this one alone computes in them, and needs"
                            : fmt::format("these {} alone compute in them, and need",
                                          helpers == 2 ? "two" : std::to_string(helpers));
}

}  // namespace

std::string c_header(const CPlan& plan, const std::vector<CLayer>& layers, const CSource& figures,
                     std::int64_t other_ram_bytes) {
  Fillings f = plan.fillings();
  f["model"] = comment_text(plan.model->name);
  f["parameters"] = c_parameters(plan);
  f["call"] = c_call(plan);
  f["sound"] = c_front_end_declarations(plan);
  f["classes"] = c_class_names(plan) + c_anomaly_threshold(plan);
  f["normalized"] = c_normalization_text(plan);
  fill_ends(plan, f);
  f["states"] = c_state_declarations(plan, f);
  f["invoke"] = f["states"].empty() ? fill(kInvoke, f) : "";
  f["flash"] = std::to_string(figures.flash_bytes);
  f["ram"] = std::to_string(figures.ram_bytes);
  f["macs"] = std::to_string(figures.macs);
  f["bound"] = std::to_string(figures.accumulator_bound);
  f["rounding"] = to_string(plan.rounding);
  f["contract"] = contract_text(plan.rounding);
  f["ties"] = plan.rounding == Rounding::fp32 ? "to even" : "away from zero";
  f["crc"] = fmt::format("{:08x}", plan.crc);
  f["other"] = std::to_string(other_ram_bytes);
  const bool kernels =
      std::ranges::any_of(layers, [](const CLayer& layer) { return layer.kernel.has_value(); });
  f["code"] = kernels ? fill(plan.code == CCode::fast ? kFastCode : kSmallCode, f) : "";
  f["rows"] = rows_text(plan, figures.ram_bytes);
  f["weights"] = weights_text(plan, layers);
  std::string& list = f["layers"];
  for (std::size_t i = 0; i < layers.size(); ++i) {
    list += fmt::format(" *   layer {}   {}\n", i + 1, layers[i].summary);
  }
  return fill(kHeader, f);
}

}  // namespace octet::detail
