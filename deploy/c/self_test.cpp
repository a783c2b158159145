#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/random.h>
#include <octet/deploy/c/plan.h>
#include <octet/runtime/interpreter.h>

#include <algorithm>
#include <cstring>
#include <span>

// Golden inputs, the interpreter's outputs, and the main() that compares.

namespace octet::detail {
namespace {

constexpr std::size_t kMadeUpSamples = 4;
/// The most numbers of golden inputs and outputs: each is about five characters of source.
constexpr std::int64_t kMostGoldenCodes = std::int64_t{1} << 22U;

constexpr std::string_view kMain = R"(
#ifdef @NAME@_SELFTEST
#include <string.h>

@golden@/* 0 where every byte is as Octet's interpreter has it, else 1. */
int main(void)
{
    static @output_type@ output[@NAME@_OUTPUT_SIZE];
    for (int32_t i = 0; i < @samples@; ++i) {
        if (@name@_invoke(@name@_golden_input[i], output) != @NAME@_OK ||
            memcmp(output, @name@_golden_output[i], sizeof output) != 0) {
            return 1;
        }
    }
    return 0;
}
#endif
)";

template <class Code>
void quantize_codes(std::span<const float> values, const QuantParams& params, Rounding rounding,
                    std::vector<std::uint8_t>& bytes) {
  quantize(values, params, std::span(reinterpret_cast<Code*>(bytes.data()), bytes.size()),
           quantize_mode(rounding));
}

/// The most samples that golden inputs and outputs may have. Throws InvalidArgument where one is
/// too large: shapes in a small file can ask for that.
std::size_t most_samples(const CPlan& plan) {
  const std::int64_t in = plan.input().size();
  const std::int64_t out = plan.output().size();
  if (in > kMostGoldenCodes - std::min(out, kMostGoldenCodes)) {
    throw InvalidArgument(fmt::format(
        "c source: a sample has {} values of input and {} of output, more than the {} that are "
        "allowed together: the self-test holds them as text",
        in, out, kMostGoldenCodes));
  }
  return static_cast<std::size_t>(kMostGoldenCodes / (in + out));
}

/// The bytes of the golden inputs, samples end to end.
std::vector<std::uint8_t> golden_inputs(const CPlan& plan, const CSourceOptions& options) {
  const ModelTensor& input = plan.input();
  const auto size = static_cast<std::size_t>(input.size());
  const std::vector<float>& values = options.self_test_inputs;
  if (values.size() % size != 0) {
    throw InvalidArgument(fmt::format(
        "c source: {} self-test values are no whole number of samples of {}", values.size(), size));
  }
  const std::size_t most = most_samples(plan);
  if (values.size() / size > most) {
    throw InvalidArgument(fmt::format(
        "c source: the self-test has {} samples, more than {} of {} + {} values; give it fewer",
        values.size() / size, most, size, plan.output().size()));
  }
  std::vector<std::uint8_t> bytes(values.empty() ? std::min(kMadeUpSamples, most) * size
                                                 : values.size());
  if (values.empty()) {
    const Random random(plan.crc);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(random.below(i, 256));
    }
  } else if (input.dtype == DType::int8) {
    quantize_codes<std::int8_t>(values, stored_params(input), plan.rounding, bytes);
  } else {
    quantize_codes<std::uint8_t>(values, stored_params(input), plan.rounding, bytes);
  }
  return bytes;
}

std::string golden_text(const CPlan& plan, std::string_view role, const ModelTensor& tensor,
                        std::span<const std::uint8_t> bytes) {
  return matrix_text(c_type(tensor.dtype), fmt::format("{}_golden_{}", plan.name, role),
                     codes_of(tensor.dtype, bytes), static_cast<std::size_t>(tensor.size()));
}

}  // namespace

std::string c_self_test(const CPlan& plan, const CSourceOptions& options) {
  const std::vector<std::uint8_t> inputs = golden_inputs(plan, options);
  const std::size_t samples = inputs.size() / static_cast<std::size_t>(plan.input().size());
  Interpreter interpreter(plan.model,
                          {.rounding = plan.rounding, .batch = static_cast<Index>(samples)});
  std::memcpy(interpreter.input_bytes().data(), inputs.data(), inputs.size());
  interpreter.invoke();
  std::vector<std::uint8_t> outputs;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto bytes = interpreter.tensor_bytes(plan.model->outputs[0], static_cast<Index>(i));
    const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data());
    outputs.insert(outputs.end(), from, from + bytes.size());
  }
  Fillings f = plan.fillings();
  f["samples"] = std::to_string(samples);
  f["golden"] = golden_text(plan, "input", plan.input(), inputs) +
                golden_text(plan, "output", plan.output(), outputs);
  return fill(kMain, f);
}

}  // namespace octet::detail
