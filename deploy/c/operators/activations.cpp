#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/softmax.h>

#include <bit>

namespace octet::detail {
namespace {

constexpr std::string_view kSoftmax = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    for (int32_t row = 0; row < @count@; ++row) {
        @name@_softmax(input + row * @length@, output + row * @length@, @length@, @layer@_exp);
    }
}

)";

constexpr std::string_view kSoftmaxRow = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    @name@_softmax(input, output, @length@, @layer@_exp);
}

)";

/// exp() by the distance from a row's largest code, and what the numbers are.
std::string softmax_table(const CStep& step, const std::string& name) {
  const SoftmaxInt8 softmax = int8_softmax(step.source);
  const std::string top = "/* exp(-beta * scale * d) for a code d below the row's largest, ";
  if (step.source.rounding != Rounding::fp32) {
    return top + "in units of 2^-31. */\n" + array_text("uint32_t", name, softmax.exp_fixed());
  }
  std::vector<std::string> bits;
  for (const float power : softmax.exp_float()) {
    bits.push_back(fmt::format("{:#010x}", std::bit_cast<std::uint32_t>(power)));
  }
  return top + "as the bits of a float32. */\n" + array_text("uint32_t", name, bits);
}

CLayer make_softmax_layer(const CPlan& plan, const CStep& step) {
  const ModelTensor& input = step.source.input();
  const std::int64_t length = input.shape.empty() ? 1 : input.shape.back();
  const std::int64_t rows = input.size() / length;
  CLayer layer;
  layer.summary = summary_of(step, rows == 1 ? fmt::format("{} values", length)
                                             : fmt::format("{} rows of {} values", rows, length));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["length"] = std::to_string(length);
  f["count"] = std::to_string(rows);
  layer.constants = softmax_table(step, f["layer"] + "_exp");
  layer.calls = {CFunction::softmax};
  layer.function = fill(rows == 1 ? kSoftmaxRow : kSoftmax, f);
  layer.flash_bytes = 256 * 4;
  return layer;
}

}  // namespace

COperator c_forms::relu() { return kByteTable; }
COperator c_forms::relu6() { return kByteTable; }
COperator c_forms::relu_n1_to_1() { return kByteTable; }

COperator c_forms::elu() { return kByteTable; }
COperator c_forms::gelu() { return kByteTable; }
COperator c_forms::exp() { return kByteTable; }
COperator c_forms::log() { return kByteTable; }
COperator c_forms::sqrt() { return kByteTable; }
COperator c_forms::rsqrt() { return kByteTable; }

COperator c_forms::leaky_relu() { return kByteTable; }

COperator c_forms::hard_swish() { return kByteTable; }

COperator c_forms::logistic() { return kByteTable; }

COperator c_forms::tanh() { return kByteTable; }

COperator c_forms::softmax() {
  return {.reads_all_inputs = false, .make = make_softmax_layer, .overlap = elementwise_overlap};
}

}  // namespace octet::detail
