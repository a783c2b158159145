#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/deploy/c/sums.h>

#include <algorithm>
#include <limits>
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

  CFactors(const Requantizer& requantizer, std::int64_t largest_sum) {
    for (const float factor : requantizer.factors()) {
      const CFactor of_float = c_factor(factor, largest_sum);
      add(of_float.multiplier, of_float.shift);
    }
    for (const QuantizedMultiplier m : requantizer.multipliers()) {
      add(m.multiplier, c_shift(m));
    }
  }
};

constexpr std::string_view kKernelLayer = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output@band@)
{
@constants@@call@}

)";

constexpr std::string_view kSums =
    R"({@weights@, @sums@_start, @sums@_multiplier, @sums@_shift,
        @units@, @width@, @depth@, @per_unit@, @zero_point@, @lowest@, @highest@})";

constexpr std::string_view kOneRow = R"(    @name@_row *row = (@name@_row *)@scratch@;
    const int32_t total = @name@_set_row(input, @depth@, row, 0, 1);
    @name@_outputs@twice@(&sums, row, 1, &total, output);
)";

constexpr std::string_view kRows =
    R"(    @name@_fully_connected@twice@(&sums, @rows@, input, output, (@name@_row *)@scratch@);
)";

constexpr std::string_view kWindows =
    R"(    @name@_@kernel@@twice@(&window, input, output, (@name@_@memory@ *)@scratch@);
)";

constexpr std::string_view kWindowsOfRows =
    R"(    @name@_window band = window;
    band.height = band_height;
    band.top = band_top;
    band.output_height = band_rows;
    @name@_@kernel@@twice@(&band, input, output, (@name@_@memory@ *)@scratch@);
)";

constexpr std::string_view kLoops = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output@band@)
{
    const int32_t input_zero_point = @input_zero_point@;
    const int32_t output_zero_point = @output_zero_point@;
@factor@
@loop@}

)";

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

bool are_packed(const CPlan& plan, const CSums& sums) {
  const CPackedRows rows = packed_rows(sums);
  return plan.weights == CWeights::packed && rows.bits < 8 &&
         rows.bytes() < sums.numbers.weights.size();
}

/// Writes the weights out, packed where the plan wants that and it takes fewer bytes.
void add_weights(CLayer& layer, Fillings& f, const CPlan& plan, const CSums& sums) {
  const FullyConnectedNumbers& n = sums.numbers;
  layer.weight_count = n.units * n.depth;
  layer.weight_bytes = layer.weight_count;
  std::string weight = "weights[i]";
  if (are_packed(plan, sums)) {
    weight = add_packed_weights(layer, f, plan, sums, packed_rows(sums));
  } else {
    const std::string name = f["layer"] + "_weights";
    f["weights"] = fmt::format("const int8_t *weights = {}[unit];", name);
    layer.constants = matrix_text("int8_t", name, n.weights, static_cast<std::size_t>(n.depth));
  }
  const std::string less =
      n.weight_zero_point == 0 ? "" : fmt::format(" - ({})", n.weight_zero_point);
  f["less_zero_point"] = less;
  f["weight"] = less.empty() ? weight : fmt::format("({}{})", weight, less);
}

/// Whether sums are rescaled twice although the model's rounding mode is another. Throws
/// InvalidArgument where they would be rescaled in a third way.
bool rescales_twice(const CPlan& plan, const KernelSource& source, const FullyConnectedNumbers& n) {
  const Rounding rounding = n.epilogue.requantizer.rounding();
  if (rounding == plan.rounding) return false;
  if (rounding == Rounding::double_rounding) return true;
  throw InvalidArgument(
      fmt::format("to_c_source: {}: expected weights whose sums are rescaled in rounding mode {}, "
                  "found weights "
                  "stored in {} bits, whose runtimes rescale by {}; store them in 8",
                  to_string(source.op.code), to_string(plan.rounding), source.input(1).stored_bits,
                  to_string(rounding)));
}

/// Adds multipliers and shifts as arrays, of one number each where all units share them.
void add_factors(CLayer& layer, const std::string& name, const CFactors& factors) {
  layer.constants += array_text("int32_t", name + "_multiplier", factors.multipliers);
  layer.constants += array_text("int8_t", name + "_shift", factors.shifts);
  layer.flash_bytes += static_cast<std::int64_t>(5 * factors.shifts.size());
}

/// The weights of CONV_2D and FULLY_CONNECTED as kernels read them, 128 higher: those of two units
/// alternate, up to a depth that is a multiple of 4, and a group has an even number of units.
/// Zeros follow, so that the last two units can be read in vectors of 16 weights each.
std::vector<std::uint8_t> paired_weights(const CSums& sums) {
  const FullyConnectedNumbers& n = sums.numbers;
  const std::int64_t depth = (n.depth + 3) / 4 * 4;
  const std::int64_t units = n.units / sums.groups;
  const std::int64_t group = (units + 1) / 2 * 2 * depth;
  const std::int64_t behind = 2 * ((n.depth + 15) / 16 * 16 - depth);
  std::vector<std::uint8_t> pairs(static_cast<std::size_t>(sums.groups * group + behind));
  for (std::int64_t i = 0; i < n.units * n.depth; ++i) {
    const std::int64_t unit = i / n.depth % units;
    const std::int64_t at =
        i / n.depth / units * group + (unit / 2 * depth + i % n.depth) * 2 + unit % 2;
    pairs[static_cast<std::size_t>(at)] =
        static_cast<std::uint8_t>(n.weights[static_cast<std::size_t>(i)] + 128);
  }
  return pairs;
}

/// Units, and so many more that four from any fourth unit of a group on are there: units are worked
/// on in fours at most.
std::size_t padded_units(const CSums& sums) {
  const std::int64_t rest = sums.numbers.units / sums.groups % 4;
  return static_cast<std::size_t>(sums.numbers.units + (rest == 0 ? 0 : 4 - rest));
}

/// Adds what the sum of each unit starts from, where values are read 128 higher.
void add_starts(CLayer& layer, const std::string& name, const CSums& sums) {
  const FullyConnectedNumbers& n = sums.numbers;
  std::vector<std::int64_t> starts(n.bias.begin(), n.bias.end());
  for (std::size_t i = 0; i < n.weights.size(); ++i) {
    starts[i / static_cast<std::size_t>(n.depth)] -= (n.input_zero_point + 128) * n.weights[i];
  }
  starts.resize(padded_units(sums));
  layer.constants += array_text("int32_t", name + "_start", starts);
  layer.flash_bytes += 4 * std::ssize(starts);
}

}  // namespace

std::int64_t c_most_sum(const FullyConnectedNumbers& numbers) {
  // Values and weights are 128 higher on the way to a sum.
  return std::numeric_limits<std::int32_t>::max() - 255 * 128 * numbers.depth;
}

std::optional<CKernel> c_kernel_of(const CPlan& plan, const CSums& sums, CKernel kernel) {
  const bool fits = sums.numbers.largest_sum <= c_most_sum(sums.numbers);
  if (sums.numbers.weight_zero_point != 0 || are_packed(plan, sums) || !fits) return std::nullopt;
  return kernel;
}

std::string sums_detail(const CPlan& plan, const CLayer& layer, const std::string& detail) {
  if (plan.weights == CWeights::int8) return detail;
  return fmt::format("{}, weights of {} bits in {} bytes", detail, layer.weight_bits,
                     layer.weight_bytes);
}

std::string add_kernel_sums(CLayer& layer, const std::string& name, const CSums& sums,
                            CKernel kernel) {
  const FullyConnectedNumbers& n = sums.numbers;
  CFactors factors(n.epilogue.requantizer, n.largest_sum);
  const bool per_unit = factors.shifts.size() > 1;
  const std::size_t padded = per_unit ? padded_units(sums) : 4;
  factors.multipliers.resize(padded, factors.multipliers[0]);
  factors.shifts.resize(padded, factors.shifts[0]);
  layer.shifts_left = layer.shifts_left ||
                      std::ranges::any_of(factors.shifts, [](std::int32_t s) { return s > 0; });
  layer.largest_sum = std::max(layer.largest_sum, n.largest_sum);
  const std::string weights = name + "_weights";
  layer.weight_count += n.units * n.depth;
  std::int64_t bytes = n.units * n.depth;
  if (kernel == CKernel::depthwise) {
    layer.constants +=
        matrix_text("int8_t", weights, sums.by_tap, static_cast<std::size_t>(n.units));
  } else {
    const std::vector<std::uint8_t> pairs = paired_weights(sums);
    bytes = std::ssize(pairs);
    layer.constants +=
        "/* 128 higher; two units alternate. */\n" + array_text("uint8_t", weights, pairs);
  }
  layer.weight_bytes += bytes;
  // The structure on a machine of 32 bits has 11 numbers.
  layer.flash_bytes += bytes + 4 * 11;
  add_starts(layer, name, sums);
  add_factors(layer, name, factors);
  Fillings f{{"weights", weights}, {"sums", name}};
  const auto set = [&](const char* key, std::int64_t value) { f[key] = std::to_string(value); };
  set("units", n.units / sums.groups);
  set("width", n.units);
  set("depth", n.depth);
  set("per_unit", per_unit ? 1 : 0);
  set("zero_point", n.epilogue.zero_point);
  set("lowest", n.epilogue.range.lo - n.epilogue.zero_point);
  set("highest", n.epilogue.range.hi - n.epilogue.zero_point);
  return fill(kSums, f);
}

std::string c_rows(const CStep& step, const FullyConnectedNumbers& numbers) {
  if (!step.rows) return std::to_string(numbers.rows);
  return fmt::format("band_rows * {}", numbers.rows / step.source.output().shape[1]);
}

CLayer make_kernel_layer(const CPlan& plan, const CStep& step, const CSums& sums, CKernel kernel,
                         std::span<const Index> window) {
  const FullyConnectedNumbers& n = sums.numbers;
  Fillings f = layer_fillings(plan, step);
  CLayer layer;
  layer.kernel = kernel;
  layer.rescales_twice = rescales_twice(plan, step.source, n);
  layer.calls = {layer.rescales_twice ? CFunction::rescale_twice : CFunction::rescale};
  layer.macs = definition(step.source.op.code).multiply_adds(step.source);
  const std::string structure = add_kernel_sums(layer, f["layer"], sums, kernel);
  layer.flash_bytes += 4 * std::ssize(window);
  layer.summary = summary_of(step, sums_detail(plan, layer, sums.detail));
  f["depth"] = std::to_string(n.depth);
  f["rows"] = c_rows(step, n);
  f["summary"] = layer.summary;
  f["scratch"] = step.scratch;
  f["twice"] = layer.rescales_twice ? "_twice" : "";
  const bool slides = kernel == CKernel::convolve || kernel == CKernel::depthwise;
  f["kernel"] = kernel == CKernel::depthwise ? "depthwise" : "convolve";
  f["memory"] = kernel == CKernel::depthwise ? "value" : "row";
  f["constants"] =
      fmt::format("    static const {}_{} = {}{}{};\n", plan.name,
                  slides ? "window window" : "sums sums", slides ? "{" : "", structure,
                  slides ? fmt::format(",\n        {}}}", fmt::join(window, ", ")) : "");
  const std::string_view of_windows = step.rows ? kWindowsOfRows : kWindows;
  f["call"] = fill(slides ? of_windows : kernel == CKernel::row ? kOneRow : kRows, f);
  layer.function = fill(kKernelLayer, f);
  return layer;
}

CLayer make_sums_layer(const CPlan& plan, const CStep& step, const CSums& sums,
                       FunctionRef<std::string(Fillings fillings, bool units_outside)> loop) {
  const FullyConnectedNumbers& n = sums.numbers;
  const CFactors factors(n.epilogue.requantizer, n.largest_sum);
  Fillings f = fully_connected_fillings(n, layer_fillings(plan, step));
  const std::string& name = f["layer"];
  CLayer layer;
  add_weights(layer, f, plan, sums);
  layer.summary = summary_of(step, sums_detail(plan, layer, sums.detail));
  layer.macs = definition(step.source.op.code).multiply_adds(step.source);
  layer.largest_sum = n.largest_sum;
  const bool twice = rescales_twice(plan, step.source, n);
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
    add_factors(layer, name, factors);
  }
  const bool unpacks = layer.unpacking == CUnpacking::row || layer.unpacking == CUnpacking::column;
  f["loop"] = loop(f, /*units_outside=*/unpacks);
  layer.function = fill(kLoops, f);
  return layer;
}

}  // namespace octet::detail
