#include <fmt/format.h>
#include <octet/deploy/c/plan.h>

#include <algorithm>

// The states that a model carries from call to call, in a struct that the caller owns.

namespace octet::detail {
namespace {

constexpr std::string_view kDeclarations = R"(/*
 * What the model remembers of one sequence; the caller owns it, one for each sequence that is read
 * at a time. @name@_reset() begins a sequence.
 */
typedef struct {
@members@@halves@    uint32_t begun; /* MODEL_CRC32 since @name@_reset() */
} @name@_state;

#define @NAME@_ERROR_STATE 2 /* @name@_reset() did not begin the sequence; nothing was written */

int @name@_reset(@name@_state *state);

/*
 * Reads the next piece of a sequence: @input_sizes@ quantized values in, @output_sizes@ out, which may not
 * overlap. Returns OK or an error above, and changes no state then. Uses static buffers: one call at
 * a time, of whichever sequence.
 */
int @name@_step(@name@_state *state, @parameters@);

)";

constexpr std::string_view kFunctions = R"(@push@int @name@_reset(@name@_state *state)
{
    if (!state) {
        return @NAME@_ERROR_NULL;
    }
@resets@@first_half@    state->begun = @NAME@_MODEL_CRC32;
    return @NAME@_OK;
}

int @name@_step(@name@_state *state, @parameters@)
{
    if (!state) {
        return @NAME@_ERROR_NULL;
    }
@checks@    if (state->begun != @NAME@_MODEL_CRC32) {
        return @NAME@_ERROR_STATE;
    }
@calls@@copies@@turns@@other_half@    return @NAME@_OK;
}
)";

constexpr std::string_view kPush =
    R"(/* Puts the newest values into a ring, those from `turn` on at its front, too. */
static void @name@_push(void *ring, int32_t at, int32_t turn, const void *values, int32_t count)
{
    uint8_t *to = (uint8_t *)ring;
    const uint8_t *from = (const uint8_t *)values;
    for (int32_t i = 0; i < count; ++i) {
        to[at + i] = from[i];
    }
    for (int32_t i = at < turn ? turn - at : 0; i < count; ++i) {
        to[at + i - turn] = from[i];
    }
}

)";

constexpr std::string_view kFill = R"(    for (int32_t i = 0; i < @size@; ++i) {
        @memory@[i] = @value@;
    }
)";

const CRing* ring_of(const CPlan& plan, const CarriedState& state) {
  for (const CRingStep& step : plan.rings) {
    if (step.ring.input == state.input) return &step.ring;
  }
  return nullptr;
}

bool has_halves(const CPlan& plan, const CarriedState& state) {
  return !plan.inputs[state.input].is_overwritten;
}

bool any_has_halves(const CPlan& plan) {
  return std::ranges::any_of(plan.states.states,
                             [&](const CarriedState& s) { return has_halves(plan, s); });
}

/// The values of a state's array, of one half where it has two. Codes of rings have a byte each.
std::int64_t length_of(const CPlan& plan, const CarriedState& state) {
  const CRing* const ring = ring_of(plan, state);
  return ring != nullptr ? ring->bytes() : plan.inputs[state.input].tensor->size();
}

std::string member_of(const CPlan& plan, const CarriedState& state) {
  const CEnd& end = plan.inputs[state.input];
  Fillings f = plan.fillings(end);
  f["two"] = has_halves(plan, state) ? "[2]" : "";
  f["size"] = std::to_string(length_of(plan, state));
  f["tensor"] = comment_text(end.tensor->name);
  f["ring"] = ring_of(plan, state) != nullptr
                  ? fill("    int32_t @end@_at; /* where its window begins */\n", f)
                  : "";
  return fill("    @type@ @end@@two@[@size@]; /* \"@tensor@\" */\n@ring@", f);
}

std::string reset_of(const CPlan& plan, const CarriedState& state) {
  const CEnd& end = plan.inputs[state.input];
  Fillings f = plan.fillings(end);
  f["memory"] = fill(has_halves(plan, state) ? "state->@end@[0]" : "state->@end@", f);
  f["size"] = std::to_string(length_of(plan, state));
  f["value"] = std::to_string(end.tensor->quantization.zero_point());
  return fill(kFill, f) +
         (ring_of(plan, state) != nullptr ? fill("    state->@end@_at = 0;\n", f) : "");
}

/// Copies a new state that is a result, too.
std::string copy_of(const CPlan& plan, const CarriedState& state) {
  if (state.output >= plan.states.results) return "";
  Fillings f = plan.fillings(plan.inputs[state.input]);
  f["memory"] = plan.inputs[state.input].place;
  f["size"] = f["count"];
  f["value"] = plan.outputs[state.output].name + "[i]";
  return fill(kFill, f);
}

/// Moves the window of a ring on.
std::string turn_of(const CPlan& plan, const CRing& ring) {
  Fillings f = plan.fillings(plan.inputs[ring.input]);
  f["last"] = std::to_string(ring.turn - ring.step);
  f["step"] = std::to_string(ring.step);
  return fill("    state->@end@_at = state->@end@_at == @last@ ? 0 : state->@end@_at + @step@;\n",
              f);
}

}  // namespace

std::int64_t c_state_bytes(const CPlan& plan) {
  if (plan.states.states.empty()) return 0;
  constexpr std::int64_t kWordBytes = 4;
  std::int64_t bytes = kWordBytes + (any_has_halves(plan) ? kWordBytes : 0);
  for (const CarriedState& state : plan.states.states) {
    const auto width =
        static_cast<std::int64_t>(octet::size_of(plan.inputs[state.input].tensor->dtype));
    bytes += length_of(plan, state) * width * (has_halves(plan, state) ? 2 : 1) +
             (ring_of(plan, state) != nullptr ? kWordBytes : 0);
  }
  return bytes;
}

std::string c_state_declarations(const CPlan& plan, Fillings f) {
  if (plan.states.states.empty()) return "";
  for (const CarriedState& state : plan.states.states) f["members"] += member_of(plan, state);
  f["halves"] = any_has_halves(plan) ? "    int32_t now; /* the half of each pair that holds a "
                                       "state; a call writes the other */\n"
                                     : "";
  return fill(kDeclarations, f);
}

std::string c_state_functions(const CPlan& plan, std::string_view checks, std::string_view calls) {
  Fillings f = plan.fillings();
  f["push"] = plan.rings.empty() ? "" : fill(kPush, f);
  f["copies"] = "";
  f["turns"] = "";
  for (const CarriedState& state : plan.states.states) {
    f["resets"] += reset_of(plan, state);
    f["copies"] += copy_of(plan, state);
  }
  for (const CRingStep& step : plan.rings) f["turns"] += turn_of(plan, step.ring);
  const bool halves = any_has_halves(plan);
  f["first_half"] = halves ? "    state->now = 0;\n" : "";
  f["other_half"] = halves ? "    state->now = 1 - state->now;\n" : "";
  f["parameters"] = c_parameters(plan);
  f["checks"] = checks;
  f["calls"] = calls;
  return fill(kFunctions, f);
}

std::string c_ring_call(const CPlan& plan, const CRingStep& step) {
  Fillings f = plan.fillings(plan.inputs[step.ring.input]);
  f["kept"] = std::to_string(step.ring.kept);
  f["turn"] = std::to_string(step.ring.turn);
  f["newest"] = step.newest;
  f["step"] = std::to_string(step.ring.step);
  return fill("    @name@_push(@place@, state->@end@_at + @kept@, @turn@, @newest@, @step@);\n", f);
}

std::string c_ring_window(const CPlan& plan, const CRing& ring) {
  return fill("state->@end@ + state->@end@_at", plan.fillings(plan.inputs[ring.input]));
}

}  // namespace octet::detail
