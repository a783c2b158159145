#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/concatenation.h>

namespace octet::detail {
namespace {

constexpr std::string_view kPart = R"(    for (int32_t i = 0; i < @count@; ++i) {
        for (int32_t k = 0; k < @elements@; ++k) {
            output[i * @stride@ + @offset@ + k] = input@number@[i * @elements@ + k];
        }
    }
)";

CLayer make_concatenation_layer(const CPlan& plan, const CStep& step) {
  CLayer layer;
  layer.summary = summary_of(
      step, fmt::format("{} inputs, {} codes", step.from.size(), step.source.output().size()));
  const std::string type(c_type(step.source.output().dtype));
  std::string parameters;
  std::string body;
  std::size_t number = 0;
  for (const ConcatenationPart& part : concatenation_parts(step.source)) {
    parameters += fmt::format("const {} *input{}, ", type, number);
    body += fill(kPart, {{"count", std::to_string(part.count)},
                         {"elements", std::to_string(part.elements)},
                         {"stride", std::to_string(part.stride)},
                         {"offset", std::to_string(part.offset)},
                         {"number", std::to_string(number)}});
    ++number;
  }
  layer.function =
      fmt::format("/* {}. */\nstatic void {}({}{} *output)\n{{\n{}}}\n\n", layer.summary,
                  layer_fillings(plan, step)["layer"], parameters, type, body);
  return layer;
}

}  // namespace

COperator c_forms::concatenation() {
  return {.reads_all_inputs = true, .make = make_concatenation_layer};
}

}  // namespace octet::detail
