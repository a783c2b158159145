#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/random.h>
#include <octet/deploy/c/plan.h>
#include <octet/runtime/streaming_interpreter.h>

#include <algorithm>
#include <cstring>
#include <span>

// Golden inputs, the interpreter's outputs, and the main() that compares.

namespace octet::detail {
namespace {

constexpr std::size_t kMadeUpSamples = 4;
/// Steps of a sequence, in which the rings of most windows turn.
constexpr std::size_t kMadeUpSteps = 32;
/// The most numbers of golden inputs and outputs: each is about five characters of source.
constexpr std::int64_t kMostGoldenCodes = std::int64_t{1} << 22U;

constexpr std::string_view kMain = R"(
#ifdef @NAME@_SELFTEST
#include <string.h>

@golden@/* 0 where every byte is as Octet's interpreter has it, else 1. */
int main(void)
{
@state@@outputs@@reset@    for (int32_t i = 0; i < @samples@; ++i) {
        if (@name@_@call@(@arguments@) != @NAME@_OK@comparisons@) {
            return 1;
        }
    }
    return 0;
}
#endif
)";

/// The most samples that golden inputs and outputs may have. Throws InvalidArgument where one is
/// too large: shapes in a small file can ask for that.
std::size_t most_samples(const CPlan& plan) {
  const std::int64_t in = size_of(given(plan.inputs));
  const std::int64_t out = size_of(given(plan.outputs));
  if (in > kMostGoldenCodes - std::min(out, kMostGoldenCodes)) {
    throw InvalidArgument(fmt::format(
        "c source: a sample has {} values of input and {} of output, more than the {} that are "
        "allowed together: the self-test holds them as text",
        in, out, kMostGoldenCodes));
  }
  return static_cast<std::size_t>(kMostGoldenCodes / (in + out));
}

/// Codes or indices that nobody gave, of so many samples.
std::vector<std::int32_t> made_up(const CPlan& plan, std::size_t samples) {
  const Random random(plan.crc);
  std::vector<std::int32_t> numbers;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (const CEnd& input : given(plan.inputs)) {
      const bool is_index = input.rows > 0;
      const auto limit = static_cast<std::uint32_t>(is_index ? input.rows : 256);
      for (std::int64_t i = 0; i < input.tensor->size(); ++i) {
        const auto drawn = random.below(numbers.size(), limit);
        numbers.push_back(is_index
                              ? static_cast<std::int32_t>(drawn)
                              : code_of(input.tensor->dtype, static_cast<std::uint8_t>(drawn)));
      }
    }
  }
  return numbers;
}

/// Real values of an input as its codes, or as its indices, which are whole already.
std::vector<std::int32_t> numbers_of(std::span<const float> values, const CEnd& input,
                                     Rounding rounding) {
  if (input.rows == 0) {
    std::vector<std::uint8_t> bytes(values.size());
    quantize_codes(values, *input.tensor, rounding, bytes.data());
    return codes_of(input.tensor->dtype, bytes);
  }
  std::vector<std::int32_t> indices;
  for (const float value : values) {
    if (!(value >= 0.0F && value < static_cast<float>(input.rows))) {
      throw InvalidArgument(fmt::format(
          "c source: expected self-test indices from 0 to {} for input \"{}\", found {}",
          input.rows - 1, input.tensor->name, value));
    }
    indices.push_back(static_cast<std::int32_t>(value));
  }
  return indices;
}

/// The golden inputs, samples end to end, each the codes or indices of all inputs.
std::vector<std::int32_t> golden_inputs(const CPlan& plan, const CSourceOptions& options) {
  const auto size = static_cast<std::size_t>(size_of(given(plan.inputs)));
  const std::span<const float> values = options.self_test_inputs;
  if (values.size() % size != 0) {
    throw InvalidArgument(fmt::format(
        "c source: {} self-test values are no whole number of samples of {}", values.size(), size));
  }
  const std::size_t most = most_samples(plan);
  if (values.size() / size > most) {
    throw InvalidArgument(fmt::format(
        "c source: the self-test has {} samples, more than {} of {} + {} values; give it fewer",
        values.size() / size, most, size, size_of(given(plan.outputs))));
  }
  if (values.empty()) {
    return made_up(plan,
                   std::min(plan.states.states.empty() ? kMadeUpSamples : kMadeUpSteps, most));
  }
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < values.size();) {
    for (const CEnd& input : given(plan.inputs)) {
      const auto count = static_cast<std::size_t>(input.tensor->size());
      const std::vector<std::int32_t> part =
          numbers_of(values.subspan(i, count), input, plan.rounding);
      numbers.insert(numbers.end(), part.begin(), part.end());
      i += count;
    }
  }
  return numbers;
}

std::string golden_text(const CPlan& plan, const CEnd& end, std::span<const std::int32_t> numbers) {
  return matrix_text(c_type(end.tensor->dtype), fmt::format("{}_golden_{}", plan.name, end.name),
                     numbers, static_cast<std::size_t>(end.tensor->size()));
}

/// Gives an input of the interpreter its golden numbers of one sample.
void set_input(const CEnd& input, std::span<const std::int32_t> numbers, std::byte* to) {
  if (input.rows > 0) {
    std::memcpy(to, numbers.data(), numbers.size() * sizeof(std::int32_t));
  } else {
    std::ranges::transform(numbers, to, [](std::int32_t n) { return static_cast<std::byte>(n); });
  }
}

/// The golden numbers of every given input, and then of every output that is taken, samples end to
/// end: samples of a model with states are the steps of one sequence.
std::vector<std::vector<std::int32_t>> golden_numbers(const CPlan& plan,
                                                      std::span<const std::int32_t> inputs) {
  std::vector<std::vector<std::int32_t>> golden(given_ends(plan).size());
  StreamingInterpreter stream(*plan.model, plan.states.states, {.rounding = plan.rounding});
  Interpreter& interpreter = stream.interpreter();
  while (!inputs.empty()) {
    auto end = golden.begin();
    for (std::size_t k = 0; k < plan.inputs.size(); ++k) {
      if (plan.inputs[k].is_state) continue;
      const auto size = static_cast<std::size_t>(plan.inputs[k].tensor->size());
      const auto numbers = inputs.first(size);
      inputs = inputs.subspan(size);
      set_input(plan.inputs[k], numbers, interpreter.input_bytes(k).data());
      end->insert(end->end(), numbers.begin(), numbers.end());
      ++end;
    }
    stream.step();
    for (std::size_t k = 0; k < plan.outputs.size(); ++k) {
      if (plan.outputs[k].is_state) continue;
      const auto bytes = interpreter.tensor_bytes(plan.model->outputs[k], 0);
      const auto numbers =
          codes_of(plan.outputs[k].tensor->dtype,
                   {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      end->insert(end->end(), numbers.begin(), numbers.end());
      ++end;
    }
  }
  return golden;
}

}  // namespace

void quantize_codes(std::span<const float> values, const ModelTensor& input, Rounding rounding,
                    std::uint8_t* codes) {
  const auto run = [&]<class Code>(Code* to) {
    quantize(values, stored_params(input), std::span(to, values.size()), quantize_mode(rounding));
  };
  if (input.dtype == DType::int8) {
    run(reinterpret_cast<std::int8_t*>(codes));
  } else {
    run(codes);
  }
}

std::string c_self_test(const CPlan& plan, const CSourceOptions& options) {
  const std::vector<std::int32_t> inputs = golden_inputs(plan, options);
  const auto golden = golden_numbers(plan, inputs);
  const auto sample_size = static_cast<std::size_t>(size_of(given(plan.inputs)));
  const bool has_states = !plan.states.states.empty();
  Fillings f = plan.fillings();
  f["samples"] = std::to_string(inputs.size() / sample_size);
  f["call"] = c_call(plan);
  std::vector<std::string> arguments;
  if (has_states) arguments.emplace_back("&state");
  f["state"] = has_states ? fill("    static @name@_state state;\n", f) : "";
  f["reset"] = has_states ? fill("    @name@_reset(&state);\n", f) : "";
  auto numbers = golden.begin();
  for (const CEnd& input : given(plan.inputs)) {
    f["golden"] += golden_text(plan, input, *numbers++);
    arguments.push_back(fill("@name@_golden_@end@[i]", plan.fillings(input)));
  }
  for (const CEnd& output : given(plan.outputs)) {
    const Fillings of_end = plan.fillings(output);
    f["golden"] += golden_text(plan, output, *numbers++);
    f["outputs"] += fill("    static @type@ @end@[@NAME@_@END@_SIZE];\n", of_end);
    f["comparisons"] +=
        fill(" ||\n            memcmp(@end@, @name@_golden_@end@[i], sizeof @end@) != 0", of_end);
    arguments.push_back(output.name);
  }
  f["arguments"] = fmt::format("{}", fmt::join(arguments, ", "));
  return fill(kMain, f);
}

}  // namespace octet::detail
