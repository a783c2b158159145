#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/packed_codes.h>
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

constexpr std::string_view kDenseSum = R"(        int32_t sum = @bias@;
        for (int32_t i = 0; i < @depth@; ++i) {
            sum += (@x@ - input_zero_point) * @weight@;
        }
        output[@place@] = @name@_to_code(
            @name@_@rescale@(sum, @multiplier@, @shift@),
            output_zero_point, @lo@, @hi@);
)";

constexpr std::string_view kDenseUnits = R"(    for (int32_t unit = 0; unit < @units@; ++unit) {
        @weights@
@sum@    }
)";

constexpr std::string_view kDenseRows = R"(    for (int32_t row = 0; row < @rows@; ++row) {
@loop@        input += @depth@;
        output += @units@;
    }
)";

constexpr std::string_view kDenseRowsOfUnit =
    R"(        for (int32_t row = 0; row < @rows@; ++row) {
@sum@        }
)";

/// The loop over units, and one over rows where there are several: inside it, or around it.
std::string loop_text(Fillings f, std::int64_t rows, bool units_outside) {
  f["rows"] = std::to_string(rows);
  f["x"] = units_outside ? fmt::format("input[row * {} + i]", f["depth"]) : "input[i]";
  f["place"] = units_outside ? fmt::format("row * {} + unit", f["units"]) : "unit";
  f["sum"] = fill(kDenseSum, f);
  if (units_outside) {
    f["sum"] = indented(f["sum"]);
    f["sum"] = fill(kDenseRowsOfUnit, f);
  }
  f["loop"] = fill(kDenseUnits, f);
  if (rows == 1 || units_outside) return f["loop"];
  f["loop"] = indented(f["loop"]);
  return fill(kDenseRows, f);
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
  return f;
}

/// Packed weights: rows of `columns` codes of `bits` bits each.
struct CPackedRows {
  std::span<const std::int8_t> codes;
  std::size_t columns;
  int bits;

  std::size_t row_bytes() const { return packed_bytes(columns, bits); }
  std::size_t bytes() const { return codes.size() / columns * row_bytes(); }
};

CPackedRows packed_rows(const CSums& sums) {
  const bool by_tap = !sums.by_tap.empty();
  return {.codes = by_tap ? sums.by_tap : sums.numbers.weights,
          .columns = static_cast<std::size_t>(by_tap ? sums.numbers.units : sums.numbers.depth),
          .bits = bits_of_codes(sums.numbers.weights)};
}

/// Packs the weights, and fills in how `unit` reads them. Returns weight i of it.
std::string add_packed_weights(CLayer& layer, Fillings& f, const CPlan& plan, const CSums& sums,
                               const CPackedRows& rows) {
  const std::string name = f["layer"] + "_weights";
  const auto depth = sums.numbers.depth;
  layer.weight_bits = rows.bits;
  layer.weight_bytes = static_cast<std::int64_t>(rows.bytes());
  layer.unit_weights = depth;
  layer.constants = matrix_text("uint8_t", name, pack_rows(rows.codes, rows.columns, rows.bits),
                                rows.row_bytes());
  if (sums.reads_once) {
    layer.unpacking = CUnpacking::code;
    f["weights"] = fmt::format("const uint8_t *weights = {}[unit];", name);
    return fmt::format("{}_code{}(weights, i)", plan.name, rows.bits);
  }
  const std::string unpack = fmt::format("{}_unpack{}", plan.name, rows.bits);
  if (sums.by_tap.empty()) {
    layer.unpacking = CUnpacking::row;
    f["weights"] =
        fmt::format("const int8_t *weights = {}_row({}[unit], {});", unpack, name, depth);
  } else {
    layer.unpacking = CUnpacking::column;
    f["weights"] = fmt::format("const int8_t *weights = {}_column({}[0], {}, unit, {});", unpack,
                               name, rows.row_bytes(), depth);
  }
  return "weights[i]";
}

/// Writes the weights out, packed where the plan wants that and it takes fewer bytes.
void add_weights(CLayer& layer, Fillings& f, const CPlan& plan, const CSums& sums) {
  const FullyConnectedNumbers& n = sums.numbers;
  layer.weight_count = n.units * n.depth;
  layer.weight_bytes = layer.weight_count;
  const CPackedRows rows = packed_rows(sums);
  const bool packed = plan.weights == CWeights::packed && rows.bits < 8 &&
                      rows.bytes() < static_cast<std::size_t>(layer.weight_count);
  std::string weight = "weights[i]";
  if (packed) {
    weight = add_packed_weights(layer, f, plan, sums, rows);
  } else {
    const std::string name = f["layer"] + "_weights";
    f["weights"] = fmt::format("const int8_t *weights = {}[unit];", name);
    layer.constants = matrix_text("int8_t", name, n.weights, static_cast<std::size_t>(n.depth));
  }
  f["weight"] =
      n.weight_zero_point == 0 ? weight : fmt::format("({} - ({}))", weight, n.weight_zero_point);
}

std::string sums_detail(const CPlan& plan, const CLayer& layer, const std::string& detail) {
  if (plan.weights == CWeights::int8) return detail;
  return fmt::format("{}, weights of {} bits in {} bytes", detail, layer.weight_bits,
                     layer.weight_bytes);
}

CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step) {
  return make_fully_connected_layer(plan, step, fully_connected_numbers(step.source));
}

}  // namespace

CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step,
                                  const FullyConnectedNumbers& n) {
  const CSums sums{.numbers = n,
                   .detail = fully_connected_detail(n, step.source.op.activation()),
                   .reads_once = n.rows == 1};
  return make_sums_layer(plan, step, sums, [&](Fillings f, bool units_outside) {
    return loop_text(std::move(f), n.rows, units_outside);
  });
}

CLayer make_sums_layer(const CPlan& plan, const CStep& step, const CSums& sums,
                       FunctionRef<std::string(Fillings fillings, bool units_outside)> loop) {
  const FullyConnectedNumbers& n = sums.numbers;
  const CFactors factors(n.epilogue.requantizer);
  Fillings f = fully_connected_fillings(n, layer_fillings(plan, step));
  const std::string& name = f["layer"];
  CLayer layer;
  add_weights(layer, f, plan, sums);
  layer.summary = summary_of(step, sums_detail(plan, layer, sums.detail));
  layer.macs = definition(step.source.op.code).multiply_adds(step.source);
  layer.largest_sum = n.largest_sum;
  // An operator may round twice whatever the contract of the others.
  const bool twice = n.epilogue.requantizer.rounding() != plan.rounding;
  if (twice && n.epilogue.requantizer.rounding() != Rounding::double_rounding) {
    throw InvalidArgument(fmt::format(
        "to_c_source: {}: expected weights whose sums are rescaled in rounding mode {}, found "
        "weights "
        "stored in {} bits, whose runtimes rescale by {}; store them in 8",
        to_string(step.source.op.code), to_string(plan.rounding), step.source.input(1).stored_bits,
        to_string(n.epilogue.requantizer.rounding())));
  }
  layer.calls = {twice ? CFunction::rescale_twice : CFunction::rescale, CFunction::to_code};
  f["rescale"] = twice ? c_rescale_twice(plan) : "rescale";
  layer.flash_bytes = layer.weight_bytes;
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
  const bool unpacks = layer.unpacking == CUnpacking::row || layer.unpacking == CUnpacking::column;
  f["loop"] = loop(f, /*units_outside=*/unpacks);
  layer.function = fill(kFullyConnected, f);
  return layer;
}

COperator c_forms::fully_connected() {
  return {.reads_all_inputs = false, .make = make_fully_connected_layer};
}

}  // namespace octet::detail
