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
@members@    int32_t now; /* which half holds the states; the next call writes the other */
} @name@_state;

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
@resets@    state->now = 0;
    return @NAME@_OK;
}

int @name@_step(@name@_state *state, @parameters@)
{
    int result;
    int32_t now;
    if (!state) {
        return @NAME@_ERROR_NULL;
    }
    now = state->now;
    result = @name@_invoke(@arguments@);
    if (result != @NAME@_OK) {
        return result;
    }
@copies@    state->now = 1 - now;
    return @NAME@_OK;
}
)";

constexpr std::string_view kFill = R"(    for (int32_t i = 0; i < @NAME@_@END@_SIZE; ++i) {
        state->@end@[@half@][i] = @value@;
    }
)";

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
  std::vector<std::string> all;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const std::string& name = plan.inputs[i].name;
    all.push_back(is_state(plan, i) ? fmt::format("state->{}[now]", name) : name);
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    if (i < plan.states.results) {
      all.push_back(plan.outputs[i].name);
      continue;
    }
    const auto state = std::ranges::find(plan.states.states, i, &CarriedState::output);
    all.push_back(fmt::format("state->{}[1 - now]", plan.inputs[state->input].name));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::string c_state_declarations(const CPlan& plan) {
  if (plan.states.states.empty()) return "";
  Fillings f = plan.fillings();
  for (const CarriedState& state : plan.states.states) {
    f["members"] +=
        fill("    @type@ @end@[2][@NAME@_@END@_SIZE];\n", plan.fillings(plan.inputs[state.input]));
  }
  f["parameters"] = parameters(plan);
  return fill(kDeclarations, f);
}

std::string c_state_functions(const CPlan& plan) {
  if (plan.states.states.empty()) return "";
  Fillings f = plan.fillings();
  f["copies"] = "";
  for (const CarriedState& state : plan.states.states) {
    Fillings of_end = plan.fillings(plan.inputs[state.input]);
    of_end["half"] = "0";
    of_end["value"] = fill("@NAME@_@END@_ZERO_POINT", of_end);
    f["resets"] += fill(kFill, of_end);
    if (state.output >= plan.states.results) continue;
    of_end["half"] = "1 - now";
    of_end["value"] = plan.outputs[state.output].name + "[i]";
    f["copies"] += fill(kFill, of_end);
  }
  f["parameters"] = parameters(plan);
  f["arguments"] = arguments(plan);
  return fill(kFunctions, f);
}

}  // namespace octet::detail
