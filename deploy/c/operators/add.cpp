#include <octet/deploy/c/operators/binary.h>
#include <octet/runtime/operators/add.h>

namespace octet::detail {
namespace {

constexpr std::string_view kAddOnce = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output)
{
    const int32_t first_factor = @first_factor@;
    const int32_t second_factor = @second_factor@;
@loops@}

)";

constexpr std::string_view kOnce =
    R"(const int32_t sum = @start@ + first[@first@] * first_factor + second[@second@] * second_factor;
const int32_t code = (int32_t)@name@_shift_right(sum, @shift@) + @zero_point@;
output[@place@] = (int8_t)(code < @lo@ ? @lo@ : code > @hi@ ? @hi@ : code);
)";

constexpr std::string_view kAddTwice = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output)
{
    const int32_t unit = (int32_t)1 << 20;
@loops@}

)";

constexpr std::string_view kTwice = R"(const int64_t a = @name@_@rescale@(
    (first[@first@] - @first_zero@) * unit, @first_multiplier@, @first_shift@);
const int64_t b = @name@_@rescale@(
    (second[@second@] - @second_zero@) * unit, @second_multiplier@, @second_shift@);
const int64_t code =
    @name@_@rescale@((int32_t)(a @sign@ b), @multiplier@, @shift@) + @zero_point@;
output[@place@] = (int8_t)(code < @lo@ ? @lo@ : code > @hi@ ? @hi@ : code);
)";

CLayer make_add_layer(const CPlan& plan, const CStep& step) {
  const CodeAdder adder = code_adder(step.source);
  CLayer layer;
  layer.summary = summary_of(step, binary_detail(step));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["zero_point"] = operand_text(adder.zero_point());
  f["lo"] = std::to_string(adder.limits().lo);
  f["hi"] = std::to_string(adder.limits().hi);
  if (adder.rounds_once()) {
    layer.calls = {CFunction::shift_right};
    // What two codes of 0 give, and half a step.
    const std::int64_t half = std::int64_t{1} << (adder.shift() - 1);
    f["start"] = operand_text(adder.terms(0)[128] + adder.terms(1)[128] + half);
    f["first_factor"] = std::to_string(adder.terms(0)[1] - adder.terms(0)[0]);
    f["second_factor"] = std::to_string(adder.terms(1)[1] - adder.terms(1)[0]);
    f["shift"] = std::to_string(adder.shift());
    f["loops"] = binary_loops(step.source, kOnce, f);
    layer.function = fill(kAddOnce, f);
    return layer;
  }
  layer.calls = {CFunction::rescale_twice};
  f["rescale"] = c_rescale_twice(plan);
  f["multiplier"] = std::to_string(adder.factor().multiplier);
  f["shift"] = std::to_string(c_shift(adder.factor()));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string side = i == 0 ? "first" : "second";
    f[side + "_zero"] = operand_text(step.source.input(i).quantization.zero_point());
    f[side + "_multiplier"] = std::to_string(adder.input_factor(i).multiplier);
    f[side + "_shift"] = std::to_string(adder.input_factor(i).shift);
  }
  f["sign"] = step.source.op.code == OpCode::sub ? "-" : "+";
  f["loops"] = binary_loops(step.source, kTwice, f);
  layer.function = fill(kAddTwice, f);
  return layer;
}

}  // namespace

COperator c_forms::add() { return {.reads_all_inputs = true, .make = make_add_layer}; }
COperator c_forms::sub() { return {.reads_all_inputs = true, .make = make_add_layer}; }

}  // namespace octet::detail
