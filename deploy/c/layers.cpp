#include <octet/core/error.h>
#include <octet/deploy/c/plan.h>
#include <octet/runtime/operators/add.h>
#include <octet/runtime/operators/concatenation.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/softmax.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

// One operator as a C function and its constants.

namespace octet::detail {
namespace {

Fillings layer_fillings(const CPlan& plan, const CStep& step) {
  Fillings fillings = plan.fillings();
  fillings["layer"] = fmt::format("{}_layer{}", plan.name, step.number);
  fillings["from_type"] = c_type(step.source.input().dtype);
  fillings["to_type"] = c_type(step.source.output().dtype);
  fillings["size"] = std::to_string(step.source.input().size());
  return fillings;
}

std::string summary_of(const CStep& step, std::string_view detail) {
  return fmt::format("{} \"{}\", {}", to_string(step.source.op.code),
                     comment_text(step.source.output().name), detail);
}

// ---- FULLY_CONNECTED

/// A factor as multiplier * 2^(shift - 31); under fp32, whose floats have 24 bits, as
/// multiplier * 2^shift.
struct CFactors {
  std::vector<std::int32_t> multipliers;
  std::vector<std::int32_t> shifts;

  void add(std::int32_t multiplier, int shift) {
    multipliers.push_back(multiplier);
    shifts.push_back(shift);
  }

  void add_float(float factor) {
    constexpr int kFloatBits = 24;
    // A factor this small brings no int32 anywhere near 1/2: the same as 0.
    constexpr int kLeastShift = -96;
    int exponent = 0;
    const float fraction = std::frexp(factor, &exponent);
    const int shift = exponent - kFloatBits;
    if (shift < kLeastShift) return add(0, 0);
    add(static_cast<std::int32_t>(std::ldexp(fraction, kFloatBits)), shift);
  }

  explicit CFactors(const Requantizer& requantizer) {
    // A shift to the left by 31 saturates every number but 0, and so does any longer one.
    constexpr int kMostShift = 31;
    for (const float factor : requantizer.factors()) add_float(factor);
    for (const QuantizedMultiplier m : requantizer.multipliers()) {
      add(m.multiplier, std::min(m.shift, kMostShift));
    }
  }
};

constexpr std::string_view kFullyConnected = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    const int32_t input_zero_point = @input_zero_point@;
    const int32_t output_zero_point = @output_zero_point@;
@factor@
@loop@}

)";

constexpr std::string_view kUnits = R"(    for (int32_t unit = 0; unit < @units@; ++unit) {
        const int8_t *weights = @layer@_weights[unit];
        int32_t sum = @bias@;
        for (int32_t i = 0; i < @depth@; ++i) {
            sum += (input[i] - input_zero_point) * @weight@;
        }
        output[unit] = @name@_to_code(
            sum, @multiplier@, @shift@,
            output_zero_point, @lo@, @hi@);
    }
)";

constexpr std::string_view kRows = R"(    for (int32_t row = 0; row < @rows@; ++row) {
@loop@        input += @depth@;
        output += @units@;
    }
)";

/// Lines, each pushed to the right by one level.
std::string indented(std::string_view lines) {
  std::string result;
  while (!lines.empty()) {
    const std::size_t length = lines.find('\n') + 1;
    result.append(4, ' ').append(lines.substr(0, length));
    lines.remove_prefix(length);
  }
  return result;
}

/// The loop over units, inside one over rows where there are several.
std::string loop_text(Fillings f, std::int64_t rows) {
  f["loop"] = fill(kUnits, f);
  if (rows == 1) return f["loop"];
  f["loop"] = indented(f["loop"]);
  f["rows"] = std::to_string(rows);
  return fill(kRows, f);
}

std::string fully_connected_detail(const FullyConnectedNumbers& n, FusedActivation activation) {
  std::string text = n.rows == 1 ? "" : fmt::format("{} rows of ", n.rows);
  text += fmt::format("{} -> {}", n.depth, n.units);
  if (activation != FusedActivation::none) text += fmt::format(", {}", to_string(activation));
  return text;
}

Fillings fully_connected_fillings(const FullyConnectedNumbers& n, Fillings f) {
  f["input_zero_point"] = std::to_string(n.input_zero_point);
  f["output_zero_point"] = std::to_string(n.epilogue.zero_point);
  f["units"] = std::to_string(n.units);
  f["depth"] = std::to_string(n.depth);
  f["lo"] = std::to_string(n.epilogue.range.lo);
  f["hi"] = std::to_string(n.epilogue.range.hi);
  f["weight"] = n.weight_zero_point == 0 ? std::string("weights[i]")
                                         : fmt::format("(weights[i] - ({}))", n.weight_zero_point);
  return f;
}

CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step) {
  const FullyConnectedNumbers n = fully_connected_numbers(step.source);
  const CFactors factors(n.epilogue.requantizer);
  Fillings f = fully_connected_fillings(n, layer_fillings(plan, step));
  const std::string& name = f["layer"];
  CLayer layer;
  layer.summary = summary_of(step, fully_connected_detail(n, step.source.op.activation()));
  layer.macs = n.rows * n.units * n.depth;
  layer.largest_sum = n.largest_sum;
  layer.calls = {CFunction::rescale};
  layer.constants =
      matrix_text("int8_t", name + "_weights", n.weights, static_cast<std::size_t>(n.depth));
  layer.flash_bytes = n.units * n.depth;
  f["summary"] = layer.summary;
  f["bias"] = "0";
  if (step.source.has_input(2)) {
    f["bias"] = name + "_bias[unit]";
    layer.constants += array_text("int32_t", name + "_bias", n.bias);
    layer.flash_bytes += n.units * 4;
  }
  if (n.epilogue.requantizer.channels() == 1) {
    f["factor"] = fmt::format("    const int32_t multiplier = {};\n    const int32_t shift = {};\n",
                              factors.multipliers[0], factors.shifts[0]);
    f["multiplier"] = "multiplier";
    f["shift"] = "shift";
  } else {
    f["factor"] = "";
    f["multiplier"] = name + "_multiplier[unit]";
    f["shift"] = name + "_shift[unit]";
    layer.constants += array_text("int32_t", name + "_multiplier", factors.multipliers);
    layer.constants += array_text("int8_t", name + "_shift", factors.shifts);
    layer.flash_bytes += n.units * 5;
  }
  f["loop"] = loop_text(f, n.rows);
  layer.function = fill(kFullyConnected, f);
  return layer;
}

// ---- SOFTMAX

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
  layer.summary = summary_of(step, rows == 1 ? fmt::format("{} codes", length)
                                             : fmt::format("{} rows of {} codes", rows, length));
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

// ---- Operators on single bytes

constexpr std::string_view kByteTable = R"(/* @summary@. */
static void @layer@(const @from_type@ *input, @to_type@ *output)
{
    for (int32_t i = 0; i < @size@; ++i) {
        output[i] = @layer@_table[input[i]@offset@];
    }
}

)";

CLayer make_byte_table_layer(const CPlan& plan, const CStep& step) {
  const ByteTable by_bits = byte_table(step.source);
  const bool from_signed = step.source.input().dtype == DType::int8;
  const bool to_signed = step.source.output().dtype == DType::int8;
  // By code from the lowest up, which is how a reader expects it.
  std::array<std::int32_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::uint8_t byte = by_bits[from_signed ? i ^ 128U : i];
    table[i] = to_signed ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte};
  }
  CLayer layer;
  layer.summary = summary_of(step, fmt::format("{} codes", step.source.input().size()));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["offset"] = from_signed ? " + 128" : "";
  layer.constants = fmt::format("/* By code, {} first. */\n", from_signed ? -128 : 0);
  layer.constants += array_text(f["to_type"], f["layer"] + "_table", table);
  layer.function = fill(kByteTable, f);
  layer.flash_bytes = 256;
  return layer;
}

// ---- ADD

constexpr std::string_view kAddOnce = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output)
{
    const int32_t first_factor = @first_factor@;
    const int32_t second_factor = @second_factor@;
    for (int32_t i = 0; i < @size@; ++i) {
        const int32_t sum = @start@ + first[i] * first_factor + second[i] * second_factor;
        const int32_t code = (int32_t)@name@_shift_right(sum, @shift@) + @zero_point@;
        output[i] = (int8_t)(code < @lo@ ? @lo@ : code > @hi@ ? @hi@ : code);
    }
}

)";

constexpr std::string_view kAddTwice = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output)
{
    const int32_t unit = (int32_t)1 << 20;
    for (int32_t i = 0; i < @size@; ++i) {
        const int64_t a = @name@_@rescale@(
            (first[i] - @first_zero@) * unit, @first_multiplier@, @first_shift@);
        const int64_t b = @name@_@rescale@(
            (second[i] - @second_zero@) * unit, @second_multiplier@, @second_shift@);
        const int64_t code =
            @name@_@rescale@((int32_t)(a + b), @multiplier@, @shift@) + @zero_point@;
        output[i] = (int8_t)(code < @lo@ ? @lo@ : code > @hi@ ? @hi@ : code);
    }
}

)";

/// A number as part of an expression.
std::string operand_text(std::int64_t value) {
  return value < 0 ? fmt::format("({})", value) : std::to_string(value);
}

CLayer make_add_layer(const CPlan& plan, const CStep& step) {
  const CodeAdder adder = code_adder(step.source);
  const FusedActivation activation = step.source.op.activation();
  std::string detail = fmt::format("{} codes", step.source.output().size());
  if (activation != FusedActivation::none) detail += fmt::format(", {}", to_string(activation));
  CLayer layer;
  layer.summary = summary_of(step, detail);
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["zero_point"] = operand_text(adder.zero_point());
  f["lo"] = std::to_string(adder.limits().lo);
  f["hi"] = std::to_string(adder.limits().hi);
  if (adder.rounds_once()) {
    layer.calls = {CFunction::shift_right};
    // What two codes of 0 add up to, and half a step.
    const std::int64_t half = std::int64_t{1} << (adder.shift() - 1);
    f["start"] = operand_text(adder.terms(0)[128] + adder.terms(1)[128] + half);
    f["first_factor"] = std::to_string(adder.terms(0)[1] - adder.terms(0)[0]);
    f["second_factor"] = std::to_string(adder.terms(1)[1] - adder.terms(1)[0]);
    f["shift"] = std::to_string(adder.shift());
    layer.function = fill(kAddOnce, f);
    return layer;
  }
  layer.calls = {CFunction::rescale_twice};
  f["rescale"] = c_rescale_twice(plan);
  f["multiplier"] = std::to_string(adder.factor().multiplier);
  // A shift to the left by 31 saturates every number but 0, and so does any longer one.
  f["shift"] = std::to_string(std::min(adder.factor().shift, 31));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string side = i == 0 ? "first" : "second";
    f[side + "_zero"] = operand_text(step.source.input(i).quantization.zero_point());
    f[side + "_multiplier"] = std::to_string(adder.input_factor(i).multiplier);
    f[side + "_shift"] = std::to_string(adder.input_factor(i).shift);
  }
  layer.function = fill(kAddTwice, f);
  return layer;
}

// ---- CONCATENATION

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

// ---- Operators that are no layer

CLayer refuse_floats(const CPlan& /*plan*/, const CStep& step) {
  throw InvalidArgument(
      fmt::format("c source: {} has no place between operators on codes; expected codes all "
                  "through",
                  to_string(step.source.op.code)));
}

CLayer refuse_reshape(const CPlan& /*plan*/, const CStep& /*step*/) {
  throw InvalidArgument("c source: RESHAPE moves nothing and is no layer");
}

constexpr std::array kOperators = {
    COperator{OpCode::add, true, make_add_layer},
    COperator{OpCode::concatenation, true, make_concatenation_layer},
    COperator{OpCode::conv_2d, false, make_fully_connected_layer},
    COperator{OpCode::dequantize, false, refuse_floats},
    COperator{OpCode::fully_connected, false, make_fully_connected_layer},
    COperator{OpCode::logistic, false, make_byte_table_layer},
    COperator{OpCode::quantize, false, make_byte_table_layer},
    COperator{OpCode::relu, false, make_byte_table_layer},
    COperator{OpCode::relu6, false, make_byte_table_layer},
    COperator{OpCode::relu_n1_to_1, false, make_byte_table_layer},
    COperator{OpCode::reshape, false, refuse_reshape},
    COperator{OpCode::softmax, false, make_softmax_layer},
    COperator{OpCode::tanh, false, make_byte_table_layer}};

static_assert(is_complete(kOperators), "an operator has no C form");

}  // namespace

const COperator& c_operator(OpCode code) { return entry_of(kOperators, code); }

}  // namespace octet::detail
