#include <octet/deploy/c/operators/binary.h>
#include <octet/runtime/operators/mul.h>

namespace octet::detail {
namespace {

constexpr std::string_view kMul = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output)
{
@loops@}

)";

constexpr std::string_view kProduct =
    R"(const int32_t product = (first[@first@] - @first_zero@) * (second[@second@] - @second_zero@);
output[@place@] = @name@_to_code(
    @name@_@rescale@(product, @multiplier@, @shift@), @zero_point@, @lo@, @hi@);
)";

CLayer make_mul_layer(const CPlan& plan, const CStep& step) {
  const CodeMultiplier multiplier = code_multiplier(step.source);
  const bool in_float = multiplier.rescales_in_float();
  const CFactor factor =
      in_float ? c_factor(multiplier.float_factor())
               : CFactor{multiplier.factor().multiplier, c_shift(multiplier.factor())};
  CLayer layer;
  layer.summary = summary_of(step, binary_detail(step));
  layer.calls = {in_float ? CFunction::rescale : CFunction::rescale_twice, CFunction::to_code};
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["rescale"] = in_float ? "rescale" : c_rescale_twice(plan);
  f["multiplier"] = std::to_string(factor.multiplier);
  f["shift"] = operand_text(factor.shift);
  f["first_zero"] = operand_text(step.source.input(0).quantization.zero_point());
  f["second_zero"] = operand_text(step.source.input(1).quantization.zero_point());
  f["zero_point"] = operand_text(multiplier.zero_point());
  f["lo"] = std::to_string(multiplier.limits().lo);
  f["hi"] = std::to_string(multiplier.limits().hi);
  f["loops"] = binary_loops(step.source, kProduct, f);
  layer.function = fill(kMul, f);
  return layer;
}

}  // namespace

COperator c_forms::mul() { return {.reads_all_inputs = true, .make = make_mul_layer}; }

}  // namespace octet::detail
