#include <octet/core/function_ref.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/binary.h>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;
using Names = OnnxNodes::Names;

/// apply(first, second) of all pairs of codes as a table: for arithmetic that no nodes have.
void write_pair_table(OnnxNodes& nodes, const Operands& o,
                      FunctionRef<std::int32_t(std::int32_t first, std::int32_t second)> apply) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  std::vector<std::int8_t> table;
  for (std::int32_t first = -128; first <= 127; ++first) {
    for (std::int32_t second = -128; second <= 127; ++second) {
      table.push_back(static_cast<std::int8_t>(apply(first, second)));
    }
  }
  const std::string codes =
      nodes.values().constant(name + "/table", OnnxType::int8, Extents{256 * 256}, table);
  const std::string first = nodes.integers(o.op.inputs[0], OnnxType::int64, name + "/first");
  const std::string second = nodes.integers(o.op.inputs[1], OnnxType::int64, name + "/second");
  const std::string row = nodes.with_integer("Mul", first, 256, name + "/row");
  const std::string pair = nodes.values().node("Add", {row, second}, name + "/pair");
  const std::string index = nodes.with_integer("Add", pair, 128 * 256 + 128, name + "/index");
  nodes.node_to("Gather", {codes, index}, out);
}

/// The node `op` of the reals of both operands, with the activation of the operator; its name ends
/// in `suffix`.
void write_binary_of_reals(OnnxNodes& nodes, const Operands& o, std::string_view op,
                           std::string_view suffix) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string result =
      values.node(op, {values.reals(o.op.inputs[0]), values.reals(o.op.inputs[1])},
                  nodes.base_name(out) + std::string(suffix));
  nodes.finish_clamped(result, out, o.op.activation());
}

/// The sum of what both codes add or take off, rounded by a shift: in integers, which no runtime
/// rounds.
void add_rounded_once(OnnxNodes& nodes, const Operands& o, const QuantizedAdd& adder) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  Names products;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto terms = adder.terms(i);
    const std::string side = name + (i == 0 ? "/first" : "/second");
    const std::string code = nodes.integers(o.op.inputs[i], OnnxType::int64, side);
    products.push_back(nodes.with_integer("Mul", code, terms[1] - terms[0], side + "/product"));
  }
  const std::string sum = nodes.values().node("Add", products, name + "/products");
  // Div rounds towards zero: made positive first, by whole steps, it rounds down as a shift does.
  constexpr std::int64_t kSteps = std::int64_t{1} << 20;
  const std::int64_t unit = std::int64_t{1} << adder.shift();
  const std::int64_t start = std::int64_t{adder.terms(0)[128]} + adder.terms(1)[128] + unit / 2;
  const std::string positive = nodes.with_integer("Add", sum, start + kSteps * unit, name + "/sum");
  const std::string steps = nodes.with_integer("Div", positive, unit, name + "/steps");
  nodes.finish_integers(
      nodes.with_integer("Add", steps, adder.zero_point() - kSteps, name + "/integers"), out,
      adder.limits());
}

void write_add(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    const bool is_sub = o.op.code == OpCode::sub;
    return write_binary_of_reals(nodes, o, is_sub ? "Sub" : "Add", is_sub ? "/difference" : "/sum");
  }
  const QuantizedAdd adder = quantized_add({o.model, o.op, Rounding::fp32});
  if (adder.rounds_once()) return add_rounded_once(nodes, o, adder);
  // Rounded twice, for scales that are far apart.
  write_pair_table(nodes, o, [&](std::int32_t first, std::int32_t second) {
    return adder.apply(first, second);
  });
}

void write_extreme(OnnxNodes& nodes, const Operands& o, std::string_view op) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  if (!o.output().is_quantized()) {
    return nodes.node_to(op, {values.value(o.op.inputs[0]), values.value(o.op.inputs[1])}, out);
  }
  const std::string first = nodes.integers(o.op.inputs[0], OnnxType::int32, name + "/first");
  const std::string second = nodes.integers(o.op.inputs[1], OnnxType::int32, name + "/second");
  nodes.node_to("Cast", {values.node(op, {first, second}, name + "/integers")}, out,
                {{"to", static_cast<std::int64_t>(values.type_of(out))}});
}

/// The index of an operand's element: "i0 * 8 + i1".
std::string index_text(const std::vector<BinaryAxis>& axes, std::size_t side,
                       const std::vector<std::string>& counters) {
  std::string text;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t step = axes[k].steps[side];
    if (step == 0) continue;
    if (!text.empty()) text += " + ";
    text += step == 1 ? counters[k] : fmt::format("{} * {}", counters[k], step);
  }
  return text.empty() ? "0" : text;
}

/// `body`, lines of C, once for every element of the output, or of as many rows as the step makes:
/// in loops over its axes, in which @first@, @second@ and @place@ are the indices of the elements.
std::string binary_loops(const CStep& step, std::string_view body, Fillings fillings) {
  const std::vector<BinaryAxis> axes = binary_axes(step.source);
  std::vector<std::string> counters;
  std::string place;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    counters.push_back(axes.size() == 1 ? "i" : fmt::format("i{}", k));
    place =
        k == 0 ? counters[k] : fmt::format("({}) * {} + {}", place, axes[k].extent, counters[k]);
  }
  fillings["first"] = index_text(axes, 0, counters);
  fillings["second"] = index_text(axes, 1, counters);
  fillings["place"] = place;
  std::string text = indented(fill(body, fillings), axes.size() + 1);
  for (std::size_t k = axes.size(); k-- > 0;) {
    // Rows are made of inputs of one shape, along whose single axis all elements lie.
    const std::string extent = step.rows ? fillings["size"] : std::to_string(axes[k].extent);
    const std::string head =
        fmt::format("for (int32_t {0} = 0; {0} < {1}; ++{0}) {{\n", counters[k], extent);
    text.insert(0, indented(head, k + 1)).append(indented("}\n", k + 1));
  }
  return text;
}

/// "24 values, relu".
std::string binary_detail(const CStep& step) {
  const FusedActivation activation = step.source.op.activation();
  std::string detail = fmt::format("{} values", step.source.output().size());
  if (activation != FusedActivation::none) detail += fmt::format(", {}", to_string(activation));
  return detail;
}

constexpr std::string_view kAddOnce = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output@band@)
{
    const int32_t first_factor = @first_factor@;
    const int32_t second_factor = @second_factor@;
@loops@}

)";

constexpr std::string_view kOnce =
    R"(const int32_t sum = @start@ + first[@first@] * first_factor + second[@second@] * second_factor;
const int32_t code = (sum >> @shift@) + @zero_point@;
output[@place@] = (int8_t)(code < @lo@ ? @lo@ : code > @hi@ ? @hi@ : code);
)";

constexpr std::string_view kAddTwice = R"(/* @summary@. */
@apart@static void @layer@(const int8_t *first, const int8_t *second, int8_t *output@band@)
{
    const int32_t unit = (int32_t)1 << 20;
@loops@}

)";

/// Four elements at a time, where both inputs have the output's shape.
constexpr std::string_view kVectorsTwice = R"(#ifdef @NAME@_MVE
    for (int32_t rest = @size@; rest > 0; rest -= 4) {
        const mve_pred16_t some = vctp32q((uint32_t)rest);
        const int32x4_t x = vmulq_n_s32(vaddq_n_s32(vldrbq_z_s32(first, some), -@first_zero@), unit);
        const int32x4_t y = vmulq_n_s32(vaddq_n_s32(vldrbq_z_s32(second, some), -@second_zero@), unit);
        const int32x4_t a = @name@_@rescale@_four(
            x, vdupq_n_s32(@first_multiplier@), vdupq_n_s32(@first_shift@));
        const int32x4_t b = @name@_@rescale@_four(
            y, vdupq_n_s32(@second_multiplier@), vdupq_n_s32(@second_shift@));
        int32x4_t sum = @name@_@rescale@_four(
            @combine@(a, b), vdupq_n_s32(@multiplier@), vdupq_n_s32(@shift@));
        sum = vminq_s32(vmaxq_s32(sum, vdupq_n_s32(@lo@ - @zero_point@)), vdupq_n_s32(@hi@ - @zero_point@));
        @NAME@_FENCE;
        vstrbq_p_s32(output, vaddq_n_s32(sum, @zero_point@), some);
        first += 4;
        second += 4;
        output += 4;
    }
#else
@loops@#endif
)";

constexpr std::string_view kTwice = R"(const int32_t a = @name@_@rescale@(
    (first[@first@] - @first_zero@) * unit, @first_multiplier@, @first_shift@);
const int32_t b = @name@_@rescale@(
    (second[@second@] - @second_zero@) * unit, @second_multiplier@, @second_shift@);
output[@place@] = @name@_to_code(
    @name@_@rescale@(a @sign@ b, @multiplier@, @shift@), @zero_point@, @lo@, @hi@);
)";

CLayer make_add_layer(const CPlan& plan, const CStep& step) {
  const QuantizedAdd adder = quantized_add(step.source);
  CLayer layer;
  layer.summary = summary_of(step, binary_detail(step));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["zero_point"] = operand_text(adder.zero_point());
  f["lo"] = std::to_string(adder.limits().lo);
  f["hi"] = std::to_string(adder.limits().hi);
  if (adder.rounds_once()) {
    // What two codes of 0 give, and half a step.
    const std::int64_t half = std::int64_t{1} << (adder.shift() - 1);
    f["start"] = operand_text(adder.terms(0)[128] + adder.terms(1)[128] + half);
    f["first_factor"] = std::to_string(adder.terms(0)[1] - adder.terms(0)[0]);
    f["second_factor"] = std::to_string(adder.terms(1)[1] - adder.terms(1)[0]);
    f["shift"] = std::to_string(adder.shift());
    f["loops"] = binary_loops(step, kOnce, f);
    layer.function = fill(kAddOnce, f);
    return layer;
  }
  layer.calls = {CFunction::rescale_twice, CFunction::to_code};
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
  f["loops"] = binary_loops(step, kTwice, f);
  f["apart"] = "";
  const std::vector<BinaryAxis> axes = binary_axes(step.source);
  if (axes.size() == 1 && axes[0].steps == decltype(axes[0].steps){1, 1}) {
    layer.calls.insert(CFunction::rescale_four);
    layer.shifts_left = adder.factor().shift > 0 || adder.input_factor(0).shift > 0 ||
                        adder.input_factor(1).shift > 0;
    f["apart"] = fmt::format("{}_APART ", plan.macro);
    f["combine"] = step.source.op.code == OpCode::sub ? "vsubq_s32" : "vaddq_s32";
    f["loops"] = fill(kVectorsTwice, f);
  }
  layer.function = fill(kAddTwice, f);
  return layer;
}

constexpr std::string_view kPair = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output@band@)
{
@loops@}

)";

constexpr std::string_view kProduct =
    R"(const int32_t product = (first[@first@] - @first_zero@) * (second[@second@] - @second_zero@);
output[@place@] = @name@_to_code(
    @name@_@rescale@(product, @multiplier@, @shift@), @zero_point@, @lo@, @hi@);
)";

CLayer make_mul_layer(const CPlan& plan, const CStep& step) {
  const QuantizedMul multiplier = quantized_mul(step.source);
  const bool in_float = multiplier.rescales_in_float();
  const CFactor factor =
      in_float ? c_factor(multiplier.float_factor(), 255 * 255)
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
  f["loops"] = binary_loops(step, kProduct, f);
  layer.function = fill(kPair, f);
  return layer;
}

constexpr std::string_view kSlope = R"(const int32_t x = first[@first@] - @first_zero@;
const int32_t steps = x >= 0
    ? @name@_@rescale@(x, @above@, @above_shift@)
    : @name@_@rescale@(x * (second[@second@] - @second_zero@), @below@, @below_shift@);
output[@place@] = @name@_to_code(steps, @zero_point@, -128, 127);
)";

CLayer make_prelu_layer(const CPlan& plan, const CStep& step) {
  const QuantizedPrelu prelu = quantized_prelu(step.source);
  CLayer layer;
  layer.summary = summary_of(step, binary_detail(step));
  layer.calls = {CFunction::rescale_twice, CFunction::to_code};
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["rescale"] = c_rescale_twice(plan);
  f["above"] = std::to_string(prelu.factor_above().multiplier);
  f["above_shift"] = std::to_string(c_shift(prelu.factor_above()));
  f["below"] = std::to_string(prelu.factor_below().multiplier);
  f["below_shift"] = std::to_string(c_shift(prelu.factor_below()));
  f["first_zero"] = operand_text(step.source.input(0).quantization.zero_point());
  f["second_zero"] = operand_text(step.source.input(1).quantization.zero_point());
  f["zero_point"] = operand_text(prelu.zero_point());
  f["loops"] = binary_loops(step, kSlope, f);
  layer.function = fill(kPair, f);
  return layer;
}

constexpr std::string_view kExtreme = R"(const int8_t a = first[@first@];
const int8_t b = second[@second@];
output[@place@] = a @than@ b ? a : b;
)";

CLayer make_extreme_layer(const CPlan& plan, const CStep& step) {
  CLayer layer;
  layer.summary = summary_of(step, binary_detail(step));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["than"] = quantized_extreme(step.source).takes_larger() ? ">" : "<";
  f["loops"] = binary_loops(step, kExtreme, f);
  layer.function = fill(kPair, f);
  return layer;
}

COperator element_by_element(CLayer (*make)(const CPlan& plan, const CStep& step)) {
  return {.reads_all_inputs = true,
          .make = make,
          .overlap = elementwise_overlap,
          .rows = elementwise_rows};
}

}  // namespace

void onnx_forms::mul(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    return write_binary_of_reals(nodes, o, "Mul", "/product");
  }
  const QuantizedMul multiplier = quantized_mul({o.model, o.op, Rounding::fp32});
  if (!multiplier.rescales_in_float()) {
    return write_pair_table(nodes, o, [&](std::int32_t first, std::int32_t second) {
      return multiplier.apply(first, second);
    });
  }
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  // A whole number below 2^16, which floats hold, and then one rounding as in the contract.
  const std::string product = values.node(
      "Mul", {values.terms(o.op.inputs[0]), values.terms(o.op.inputs[1])}, name + "/product");
  const std::string factor = values.constant(name + "/factor", {multiplier.float_factor()});
  nodes.finish_clamped(values.node("Mul", {product, factor}, name + "/rescaled"), out,
                       o.op.activation());
}
COperator c_forms::mul() { return element_by_element(make_mul_layer); }

/// ONNX repeats the slopes as a .tflite file does.
void onnx_forms::prelu(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    return write_binary_of_reals(nodes, o, "PRelu", "/function");
  }
  const QuantizedPrelu prelu = quantized_prelu({o.model, o.op, Rounding::fp32});
  write_pair_table(nodes, o,
                   [&](std::int32_t x, std::int32_t alpha) { return prelu.apply(x, alpha); });
}
COperator c_forms::prelu() { return element_by_element(make_prelu_layer); }

/// The integers of operands that share scale and zero point are compared themselves: in int32,
/// since ONNX Runtime has no Max and Min of int8 on every processor.
void onnx_forms::maximum(OnnxNodes& nodes, const Operands& o) { write_extreme(nodes, o, "Max"); }
COperator c_forms::maximum() { return element_by_element(make_extreme_layer); }

void onnx_forms::minimum(OnnxNodes& nodes, const Operands& o) { write_extreme(nodes, o, "Min"); }
COperator c_forms::minimum() { return element_by_element(make_extreme_layer); }

void onnx_forms::add(OnnxNodes& nodes, const Operands& o) { write_add(nodes, o); }
COperator c_forms::add() { return element_by_element(make_add_layer); }

void onnx_forms::sub(OnnxNodes& nodes, const Operands& o) { write_add(nodes, o); }
COperator c_forms::sub() { return element_by_element(make_add_layer); }

}  // namespace octet::detail
