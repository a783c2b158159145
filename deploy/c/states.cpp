#include <fmt/format.h>
#include <octet/deploy/c/plan.h>

#include <algorithm>

// The states that a model carries from call to call, in a struct that the caller owns.

namespace octet::detail {
namespace {

constexpr std::string_view kDeclarations = R"(/*
 * What the model remembers of one sequence; the caller owns it, one for each sequence that is read
 * at a time. @name@_reset() begins a sequence, @name@_step() reads the next piece of it: it calls
 * @name@_invoke() with the states of the call before.
 */
typedef struct {
@members@@halves@    uint32_t begun; /* MODEL_CRC32 since @name@_reset() */
} @name@_state;

#define @NAME@_ERROR_STATE 2 /* @name@_reset() did not begin the sequence */

/* Returns OK or an error above; @name@_step() changes no state then. */
int @name@_reset(@name@_state *state);
int @name@_step(@name@_state *state, @parameters@);

)";

constexpr std::string_view kFunctions = R"(
int @name@_reset(@name@_state *state)
{
    if (!state) {
        return @NAME@_ERROR_NULL;
    }
@resets@@first_half@    state->begun = @NAME@_MODEL_CRC32;
    return @NAME@_OK;
}

int @name@_step(@name@_state *state, @parameters@)
{
    int result;
    if (!state) {
        return @NAME@_ERROR_NULL;
    }
    if (state->begun != @NAME@_MODEL_CRC32) {
        return @NAME@_ERROR_STATE;
    }
    result = @name@_invoke(@arguments@);
    if (result != @NAME@_OK) {
        return result;
    }
@copies@@other_half@    return @NAME@_OK;
}
)";

constexpr std::string_view kFill = R"(    for (int32_t i = 0; i < @NAME@_@END@_SIZE; ++i) {
        @memory@[i] = @value@;
    }
)";

bool is_in_place(const CPlan& plan, const CarriedState& state) {
  return plan.inputs[state.input].is_overwritten;
}

bool has_halves(const CPlan& plan) {
  return !std::ranges::all_of(plan.states.states,
                              [&](const CarriedState& s) { return is_in_place(plan, s); });
}

/// The memory of a state in its struct: all of it, or the half of that number.
std::string memory_of(const CPlan& plan, const CarriedState& state, std::string_view half) {
  const std::string& name = plan.inputs[state.input].name;
  return is_in_place(plan, state) ? fmt::format("state->{}", name)
                                  : fmt::format("state->{}[{}]", name, half);
}

bool is_state(const CPlan& plan, std::size_t input) {
  return std::ranges::count(plan.states.states, input, &CarriedState::input) > 0;
}

/// The parameters of @name@_step() behind the states, which the caller gives.
std::string parameters(const CPlan& plan) {
  CPlan given;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    if (!is_state(plan, i)) given.inputs.push_back(plan.inputs[i]);
  }
  const auto results = static_cast<std::ptrdiff_t>(plan.states.results);
  given.outputs.assign(plan.outputs.begin(), plan.outputs.begin() + results);
  return c_parameters(given);
}

std::string arguments(const CPlan& plan) {
  const auto& states = plan.states.states;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const auto state = std::ranges::find(states, i, &CarriedState::input);
    all.push_back(state == states.end() ? plan.inputs[i].name
                                        : memory_of(plan, *state, "state->now"));
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    if (i < plan.states.results) {
      all.push_back(plan.outputs[i].name);
      continue;
    }
    const auto state = std::ranges::find(states, i, &CarriedState::output);
    all.push_back(memory_of(plan, *state, "1 - state->now"));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::string c_state_declarations(const CPlan& plan) {
  if (plan.states.states.empty()) return "";
  Fillings f = plan.fillings();
  for (const CarriedState& state : plan.states.states) {
    Fillings of_end = plan.fillings(plan.inputs[state.input]);
    of_end["two"] = is_in_place(plan, state) ? "" : "[2]";
    f["members"] += fill("    @type@ @end@@two@[@NAME@_@END@_SIZE];\n", of_end);
  }
  f["halves"] = has_halves(plan) ? "    int32_t now; /* the half of each pair that holds a state; "
                                   "a call writes the other */\n"
                                 : "";
  f["parameters"] = parameters(plan);
  return fill(kDeclarations, f);
}

std::string c_state_functions(const CPlan& plan) {
  if (plan.states.states.empty()) return "";
  Fillings f = plan.fillings();
  f["copies"] = "";
  for (const CarriedState& state : plan.states.states) {
    Fillings of_end = plan.fillings(plan.inputs[state.input]);
    of_end["memory"] = memory_of(plan, state, "0");
    of_end["value"] = fill("@NAME@_@END@_ZERO_POINT", of_end);
    f["resets"] += fill(kFill, of_end);
    if (state.output >= plan.states.results) continue;
    of_end["value"] = plan.outputs[state.output].name + "[i]";
    f["copies"] += fill(kFill, of_end);
  }
  const bool halves = has_halves(plan);
  f["first_half"] = halves ? "    state->now = 0;\n" : "";
  f["other_half"] = halves ? "    state->now = 1 - state->now;\n" : "";
  f["parameters"] = parameters(plan);
  f["arguments"] = arguments(plan);
  return fill(kFunctions, f);
}

}  // namespace octet::detail
