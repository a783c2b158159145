#include <fmt/format.h>
#include <octet/deploy/c/operators/dense.h>

#include <algorithm>
#include <utility>

// FULLY_CONNECTED, and convolutions that are one.

namespace octet::detail {
namespace {

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
std::string loop_text(Fillings f, const std::string& rows, bool units_outside) {
  f["rows"] = rows;
  f["x"] = units_outside ? fmt::format("input[row * {} + i]", f["depth"]) : "input[i]";
  f["place"] = units_outside ? fmt::format("row * {} + unit", f["units"]) : "unit";
  f["sum"] = fill(kDenseSum, f);
  if (units_outside) {
    f["sum"] = indented(f["sum"]);
    f["sum"] = fill(kDenseRowsOfUnit, f);
  }
  f["loop"] = fill(kDenseUnits, f);
  if (rows == "1" || units_outside) return f["loop"];
  f["loop"] = indented(f["loop"]);
  return fill(kDenseRows, f);
}

std::string fully_connected_detail(const FullyConnectedNumbers& n, FusedActivation activation) {
  std::string text = n.rows == 1 ? "" : fmt::format("{} rows of ", n.rows);
  text += fmt::format("{} -> {}", n.depth, n.units);
  if (activation != FusedActivation::none) text += fmt::format(", {}", to_string(activation));
  return text;
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
  const auto kernel = c_kernel_of(plan, sums, n.rows == 1 ? CKernel::row : CKernel::rows);
  if (kernel) return make_kernel_layer(plan, step, sums, *kernel);
  return make_sums_layer(plan, step, sums, [&](Fillings f, bool units_outside) {
    return loop_text(std::move(f), c_rows(step, n), units_outside);
  });
}

std::int64_t fully_connected_scratch(const CPlan& plan, const FullyConnectedNumbers& n) {
  const CSums sums{.numbers = n, .detail = {}};
  const auto kernel = c_kernel_of(plan, sums, n.rows == 1 ? CKernel::row : CKernel::rows);
  return kernel ? c_scratch_bytes(plan, *kernel, n.depth, {}) : 0;
}

std::optional<COverlap> fully_connected_overlap(const CPlan& plan, const FullyConnectedNumbers& n) {
  if (fully_connected_scratch(plan, n) == 0) return std::nullopt;
  // Each row is copied before its outputs are written.
  return COverlap{.lead = (n.rows - 1) * std::max<std::int64_t>(n.units - n.depth, 0)};
}

COperator c_forms::fully_connected() {
  return {.reads_all_inputs = false,
          .make = make_fully_connected_layer,
          .scratch_bytes =
              [](const CPlan& plan, const KernelSource& source, std::int64_t /*rows*/) {
                return fully_connected_scratch(plan, fully_connected_numbers(source));
              },
          .overlap =
              [](const CPlan& plan, const KernelSource& source, std::size_t /*input*/) {
                return fully_connected_overlap(plan, fully_connected_numbers(source));
              }};
}

}  // namespace octet::detail
