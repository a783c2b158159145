#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/deploy/c/equal_layers.h>
#include <octet/deploy/c/memory.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/c/row_functions.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/export_size.h>

#include <algorithm>
#include <optional>
#include <set>

namespace octet {
namespace {

using detail::CEnd;
using detail::CLayer;
using detail::CPlan;
using detail::CStep;
using detail::Fillings;

constexpr std::string_view kTop = R"(/*
 * @name@.c: written by Octet; @name@.h says what it is.
 * In this order: constants, arithmetic, layers, @name@_@call@().
 */
#include "@name@.h"

#if @NAME@_MODEL_CRC32 != 0x@crc@u
#error "@name@.h and @name@.c are of two exports: export the model again"
#endif

)";

constexpr std::string_view kArena =
    R"(/* What layers write for others to read, and what they work in. */
static union {
    int32_t words[@words@];
    int8_t bytes[@bytes@];
} @name@_arena;

)";

constexpr std::string_view kInvoke =
    R"(int @name@_invoke(@parameters@)
{
@checks@@calls@    return @NAME@_OK;
}
)";

constexpr std::string_view kCheckNull = R"(    if (@is_null@) {
        return @NAME@_ERROR_NULL;
    }
)";

/// An input of indices.
constexpr std::string_view kCheckIndices = R"(    for (int32_t i = 0; i < @count@; ++i) {
        if (@end@[i] < 0 || @end@[i] >= @rows@) {
            return @NAME@_ERROR_INDEX;
        }
    }
)";

constexpr std::string_view kBuffer = R"(
@type@ *@name@_@end@_buffer(void)
{
    return @buffer@;
}
)";

/// An output that no step writes.
constexpr std::string_view kCopy = R"(    for (int32_t i = 0; i < @count@; ++i) {
        @place@[i] = @copied@[i];
    }
)";

constexpr std::string_view kQuantizeInput =
    R"(int @name@_quantize_@end@(const float *values, @type@ *codes)
{
@normalization@    const float lowest = @lowest@ - @NAME@_@END@_ZERO_POINT;
    const float highest = @highest@ - @NAME@_@END@_ZERO_POINT;
    if (!values || !codes) {
        return @NAME@_ERROR_NULL;
    }
    for (int32_t i = 0; i < @NAME@_@END@_SIZE; ++i) {
        const float exact = @value@ / @NAME@_@END@_SCALE;
        const float number = exact == exact ? exact : 0.0f;
        const float steps = number < lowest ? lowest : number > highest ? highest : number;
        int32_t whole = (int32_t)steps;
        const float rest = steps - (float)whole;
        if (rest > 0.5f || (rest == 0.5f@tie@)) {
            ++whole;
        } else if (rest < -0.5f || (rest == -0.5f@tie@)) {
            --whole;
        }
        codes[i] = (@type@)(whole + @NAME@_@END@_ZERO_POINT);
    }
    return @NAME@_OK;
}

)";

constexpr std::string_view kDequantizeOutput =
    R"(int @name@_dequantize_@end@(const @type@ *codes, float *values)
{
    if (!codes || !values) {
        return @NAME@_ERROR_NULL;
    }
    for (int32_t i = 0; i < @NAME@_@END@_SIZE; ++i) {
        values[i] = @NAME@_@END@_SCALE * (float)(codes[i] - @NAME@_@END@_ZERO_POINT);
    }
    return @NAME@_OK;
}

)";

std::string arena_text(const CPlan& plan) {
  if (plan.arena_bytes == 0) return "";
  Fillings f = plan.fillings();
  f["bytes"] = std::to_string(plan.arena_bytes);
  f["words"] = std::to_string(plan.arena_bytes / 4);
  return detail::fill(kArena, f);
}

std::string checks_text(const CPlan& plan) {
  Fillings f = plan.fillings();
  std::vector<std::string> is_null;
  for (const CEnd& end : detail::given_ends(plan)) is_null.push_back("!" + end.name);
  f["is_null"] = fmt::format("{}", fmt::join(is_null, " || "));
  std::string checks = detail::fill(kCheckNull, f);
  for (const CEnd& input : plan.inputs) {
    if (input.rows == 0) continue;
    Fillings of_end = plan.fillings(input);
    of_end["rows"] = std::to_string(input.rows);
    checks += detail::fill(kCheckIndices, of_end);
  }
  return checks;
}

std::string calls_text(const CPlan& plan) {
  std::string calls;
  for (std::size_t i = 0; i <= plan.steps.size(); ++i) {
    for (const detail::CRingStep& ring : plan.rings) {
      if (ring.step == i) calls += detail::c_ring_call(plan, ring);
    }
    if (i == plan.steps.size()) break;
    const CStep& step = plan.steps[i];
    if (plan.chain && i == plan.chain_step) calls += detail::c_row_call(plan);
    if (step.rows) continue;
    std::vector<std::string> arguments = step.from;
    arguments.push_back(step.to);
    arguments.insert(arguments.end(), step.states.begin(), step.states.end());
    calls += fmt::format("    {}({});\n", step.function, fmt::join(arguments, ", "));
  }
  for (const CEnd& output : plan.outputs) {
    if (output.copied.empty()) continue;
    Fillings of_end = plan.fillings(output);
    of_end["copied"] = output.copied;
    calls += detail::fill(kCopy, of_end);
  }
  return calls;
}

std::string call_text(const CPlan& plan) {
  Fillings f = plan.fillings();
  f["parameters"] = detail::c_parameters(plan);
  f["checks"] = checks_text(plan);
  f["calls"] = calls_text(plan);
  std::string text = plan.states.states.empty()
                         ? detail::fill(kInvoke, f)
                         : detail::c_state_functions(plan, f["checks"], f["calls"]);
  for (const CEnd& input : plan.inputs) {
    if (input.buffer.empty()) continue;
    Fillings of_end = plan.fillings(input);
    of_end["buffer"] = input.buffer;
    text += detail::fill(kBuffer, of_end);
  }
  return text;
}

std::string float_helpers_text(const CPlan& plan) {
  std::string text;
  for (const CEnd& input : detail::given(plan.inputs)) {
    if (input.rows > 0) continue;
    Fillings f = plan.fillings(input);
    const bool is_signed = input.tensor->dtype == DType::int8;
    f["normalization"] = detail::c_normalization(plan);
    f["value"] = detail::c_normalized_value(plan);
    f["lowest"] = is_signed ? "-128" : "0";
    f["highest"] = is_signed ? "127" : "255";
    f["tie"] = plan.rounding == Rounding::fp32 ? " && whole % 2 != 0" : "";
    text += detail::fill(kQuantizeInput, f);
  }
  for (const CEnd& output : detail::given(plan.outputs)) {
    if (output.tensor->is_quantized())
      text += detail::fill(kDequantizeOutput, plan.fillings(output));
  }
  if (text.empty()) return "";
  text.pop_back();
  return fmt::format("\n#ifndef {}_NO_FLOAT\n{}#endif\n", plan.macro, text);
}

/// Bytes of inputs and outputs that have no place in the arena, and of states.
std::int64_t caller_bytes(const CPlan& plan) {
  const std::int64_t outputs = detail::bytes_of(detail::given(plan.outputs));
  const std::int64_t inputs = detail::bytes_of(detail::given(plan.inputs));
  return outputs + (plan.input_in_arena ? 0 : inputs) + detail::c_state_bytes(plan);
}

CSource make_figures(const CPlan& plan, const std::vector<CLayer>& layers) {
  CSource figures;
  figures.name = plan.name;
  figures.code = plan.code;
  figures.input_in_arena = plan.input_in_arena;
  figures.rows = plan.chain ? plan.rows : 0;
  figures.caller_bytes = caller_bytes(plan);
  figures.ram_bytes = plan.arena_bytes + detail::c_unpacked_bytes(layers);
  figures.flash_bytes = plan.constant_bytes + detail::c_front_end_bytes(plan) +
                        detail::c_normalization_bytes(plan) + detail::c_lstm_bytes(layers);
  for (const CLayer& layer : layers) {
    figures.flash_bytes += layer.flash_bytes;
    figures.macs += layer.macs;
    figures.accumulator_bound = std::max(figures.accumulator_bound, layer.largest_sum);
  }
  return figures;
}

/// The plan with its memory laid out, as the options want it.
CPlan laid_out(CPlan plan, const CSourceOptions& options) {
  plan.code = options.code;
  plan.input_in_arena = options.input_in_arena;
  plan.rows = options.rows;
  detail::lay_out(plan);
  return plan;
}

std::vector<CLayer> make_layers(const CPlan& plan, detail::ExportSize& size) {
  std::vector<CLayer> layers;
  size.add(plan.constants.size());
  for (const CStep& step : plan.steps) {
    layers.push_back(detail::c_operator(step.source.op.code).make(plan, step));
    size.add(layers.back().constants.size() + layers.back().function.size());
  }
  return layers;
}

/// `other_arena_bytes` is what the arena takes with the other CCode.
CSource make_source(const CPlan& plan, const std::vector<CLayer>& layers,
                    const CSourceOptions& options, std::int64_t other_arena_bytes) {
  std::set<detail::CFunction> calls;
  for (const CLayer& layer : layers) calls.insert(layer.calls.begin(), layer.calls.end());
  CSource result = make_figures(plan, layers);
  result.header = detail::c_header(plan, layers, result,
                                   result.ram_bytes - plan.arena_bytes + other_arena_bytes);
  auto top = plan.fillings();
  top["call"] = detail::c_call(plan);
  top["crc"] = fmt::format("{:08x}", plan.crc);
  result.source = detail::fill(kTop, top);
  result.source += detail::c_paths(plan, layers);
  result.source += plan.constants;
  for (const CLayer& layer : layers) result.source += layer.constants;
  result.source += detail::c_arithmetic(plan, calls);
  result.source += detail::c_unpacking(plan, layers);
  result.source += detail::c_kernels(plan, layers);
  result.source += arena_text(plan);
  for (const CLayer& layer : layers) result.source += layer.function;
  result.source += detail::c_row_functions(plan);
  result.source += call_text(plan);
  if (plan.front_end) result.source += "\n" + detail::c_front_end(plan);
  result.source += float_helpers_text(plan);
  result.source += detail::c_self_test(plan, options);
  return result;
}

/// The options, and those that take less RAM, from the least change on; without the input in the
/// arena unless that may hold it.
std::vector<CSourceOptions> smaller_options(const CSourceOptions& options, bool may_hold_input) {
  std::vector<CSourceOptions> all;
  const auto add = [&](CCode code, std::int64_t rows) {
    CSourceOptions changed = options;
    changed.code = code;
    changed.rows = rows;
    all.push_back(changed);
    if (options.input_in_arena || !may_hold_input) return;
    changed.input_in_arena = true;
    all.push_back(changed);
  };
  std::vector<CCode> codes = {options.code};
  if (options.code == CCode::fast) codes.push_back(CCode::small);
  for (const CCode code : codes) add(code, options.rows);
  for (const CCode code : codes) {
    for (const std::int64_t rows : {8, 4, 2, 1}) {
      if (options.rows == 0 || rows < options.rows) add(code, rows);
    }
  }
  return all;
}

/// The first plan that takes as much RAM as it may. Throws InvalidArgument where none does.
CPlan plan_within(const CPlan& plan, const CSourceOptions& options, std::int64_t unpacked_bytes) {
  std::optional<CPlan> least;
  const auto ram = [&](const CPlan& p) { return p.arena_bytes + unpacked_bytes; };
  const auto total = [&](const CPlan& p) { return ram(p) + caller_bytes(p); };
  for (const CSourceOptions& candidate : smaller_options(options, !detail::has_indices(plan))) {
    CPlan found = laid_out(plan, candidate);
    if (total(found) <= *options.ram) return found;
    if (!least || total(found) < total(*least)) least = std::move(found);
  }
  throw InvalidArgument(fmt::format(
      "c source: expected a network that takes at most {} bytes of RAM, found one that takes {} at "
      "least, with {} in its static buffers and {} code{}: {} of static buffers, {} of inputs and "
      "outputs beside them. Allow that, or make its largest images smaller",
      *options.ram, total(*least), least->input_in_arena ? "the input" : "no input",
      least->code == CCode::small ? "small" : "fast",
      least->chain ? fmt::format(" by rows ({} at a time)", least->rows) : "", ram(*least),
      caller_bytes(*least)));
}

}  // namespace

CSource to_c_source(const IntegerModel& model, std::string_view name,
                    const CSourceOptions& options) {
  const CPlan prepared = detail::make_c_plan(model, name, options);
  CPlan plan = laid_out(prepared, options);
  detail::ExportSize size(model, "c source");
  std::vector<CLayer> layers = make_layers(plan, size);
  if (options.ram) {
    plan = plan_within(prepared, options, detail::c_unpacked_bytes(layers));
    detail::ExportSize size_within(model, "c source");
    layers = make_layers(plan, size_within);
  }
  detail::share_equal_layers(plan, layers);
  CPlan other = prepared;
  other.code = plan.code == CCode::fast ? CCode::small : CCode::fast;
  other.input_in_arena = plan.input_in_arena;
  other.rows = plan.rows;
  return make_source(plan, layers, options, detail::plan_c_memory(other).bytes);
}

CSource write_c_source(const IntegerModel& model, const std::filesystem::path& stem,
                       const CSourceOptions& options) {
  CSource result = to_c_source(model, stem.filename().string(), options);
  const auto with = [&](const char* extension) {
    std::filesystem::path path = stem;
    return path += extension;
  };
  write_files_atomic({{with(".h"), result.header}, {with(".c"), result.source}});
  return result;
}

}  // namespace octet
