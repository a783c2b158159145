#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/c/operators/dense.h>

#include <utility>

namespace octet::detail {
namespace {

/// Factors as multiplier * 2^(shift - 31); under fp32 as c_factor() gives them.
struct CFactors {
  std::vector<std::int32_t> multipliers;
  std::vector<std::int32_t> shifts;

  void add(std::int32_t multiplier, int shift) {
    multipliers.push_back(multiplier);
    shifts.push_back(shift);
  }

  explicit CFactors(const Requantizer& requantizer) {
    for (const float factor : requantizer.factors()) {
      const CFactor of_float = c_factor(factor);
      add(of_float.multiplier, of_float.shift);
    }
    for (const QuantizedMultiplier m : requantizer.multipliers()) {
      add(m.multiplier, c_shift(m));
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
            @name@_@rescale@(sum, @multiplier@, @shift@),
            output_zero_point, @lo@, @hi@);
    }
)";

constexpr std::string_view kRows = R"(    for (int32_t row = 0; row < @rows@; ++row) {
@loop@        input += @depth@;
        output += @units@;
    }
)";

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
  return make_fully_connected_layer(plan, step, fully_connected_numbers(step.source));
}

}  // namespace

CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step,
                                  const FullyConnectedNumbers& n) {
  return make_sums_layer(plan, step, n, fully_connected_detail(n, step.source.op.activation()),
                         [&](Fillings f) { return loop_text(std::move(f), n.rows); });
}

CLayer make_sums_layer(const CPlan& plan, const CStep& step, const FullyConnectedNumbers& n,
                       const std::string& detail,
                       FunctionRef<std::string(Fillings fillings)> loop) {
  const CFactors factors(n.epilogue.requantizer);
  Fillings f = fully_connected_fillings(n, layer_fillings(plan, step));
  const std::string& name = f["layer"];
  CLayer layer;
  layer.summary = summary_of(step, detail);
  layer.macs = definition(step.source.op.code).multiply_adds(step.source);
  layer.largest_sum = n.largest_sum;
  // An operator may round twice whatever the contract of the others.
  const bool twice = n.epilogue.requantizer.rounding() != plan.rounding;
  if (twice && n.epilogue.requantizer.rounding() != Rounding::double_rounding) {
    throw InvalidArgument(fmt::format(
        "to_c_source: {}: expected weights whose sums are rescaled under contract {}, found "
        "weights "
        "stored in {} bits, whose runtimes rescale by {}; store them in 8",
        to_string(step.source.op.code), to_string(plan.rounding), step.source.input(1).stored_bits,
        to_string(n.epilogue.requantizer.rounding())));
  }
  layer.calls = {twice ? CFunction::rescale_twice : CFunction::rescale, CFunction::to_code};
  f["rescale"] = twice ? c_rescale_twice(plan) : "rescale";
  layer.constants =
      matrix_text("int8_t", name + "_weights", n.weights, static_cast<std::size_t>(n.depth));
  layer.flash_bytes = n.units * n.depth;
  f["summary"] = layer.summary;
  f["bias"] = std::string("0");
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
  f["loop"] = loop(f);
  layer.function = fill(kFullyConnected, f);
  return layer;
}

COperator c_forms::fully_connected() {
  return {.reads_all_inputs = false, .make = make_fully_connected_layer};
}

}  // namespace octet::detail
