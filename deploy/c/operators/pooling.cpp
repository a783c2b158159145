#include <octet/deploy/c/operators.h>
#include <octet/deploy/c/operators/images.h>
#include <octet/runtime/operators/mean.h>
#include <octet/runtime/operators/pool_2d.h>

#include <array>

namespace octet::detail {
namespace {

constexpr std::string_view kPool = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output@band@)
{
    for (int32_t row = 0; row < @rows@; ++row) {
        const int8_t *image = input + row / @output_height@ * @image@;
        const int32_t top = row % @output_height@ * @stride_y@ - @before_y@;
        const int32_t y0 = top < 0 ? 0 : top;
        const int32_t y1 = top > @last_y@ ? @height@ : top + @kernel_y@;
        for (int32_t column = 0; column < @output_width@; ++column) {
            const int32_t left = column * @stride_x@ - @before_x@;
            const int32_t x0 = left < 0 ? 0 : left;
            const int32_t x1 = left > @last_x@ ? @width@ : left + @kernel_x@;
@reduction@        }
    }
}

)";

constexpr std::string_view kPoolSum = R"(                int32_t sum = 0;
                for (int32_t y = y0; y < y1; ++y) {
                    for (int32_t x = x0; x < x1; ++x) {
                        sum += image[(y * @width@ + x) * @channels@ + c];
                    }
                }
)";

constexpr std::string_view kMean = R"(            const int32_t count = (y1 - y0) * (x1 - x0);
            for (int32_t c = 0; c < @channels@; ++c) {
                int32_t code;
@sum@                code = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
                *output++ = (int8_t)(code < @lo@ ? @lo@ : code > @hi@ ? @hi@ : code);
            }
)";

constexpr std::string_view kMaximum = R"(            for (int32_t c = 0; c < @channels@; ++c) {
                int32_t code = @lo@;
                for (int32_t y = y0; y < y1; ++y) {
                    for (int32_t x = x0; x < x1; ++x) {
                        const int32_t other = image[(y * @width@ + x) * @channels@ + c];
                        code = other > code ? other : code;
                    }
                }
                *output++ = (int8_t)(code > @hi@ ? @hi@ : code);
            }
)";

constexpr std::string_view kRescaledMean =
    R"(            for (int32_t c = 0; c < @channels@; ++c) {
                int32_t code = 0;
@sum@                for (int32_t step = 128; step > 0; step /= 2) {
                    if (sum >= @layer@_lowest[code + step - 1]) {
                        code += step;
                    }
                }
                *output++ = (int8_t)(code - 128);
            }
)";

/// A window is read channel by channel, and the output of one is written before the next is read.
template <Window (*window)(const Operands& operands)>
std::optional<COverlap> pool_overlap(const CPlan& /*plan*/, const KernelSource& source,
                                     std::size_t /*input*/) {
  return window_overlap(source, window(source), /*windows_are_copied=*/false);
}

std::optional<CRowwise> pool_rows(const KernelSource& source) {
  return window_rows(source, pool_window(source));
}

/// A function around `reduction`, whose text has the fillings of the layer and of the window.
CLayer make_window_layer(const CStep& step, const Window& window, std::string_view reduction,
                         Fillings f) {
  const FusedActivation activation = step.source.op.activation();
  std::string detail = window_text(window, step.source.input().shape[3]);
  if (activation != FusedActivation::none) detail += fmt::format(", {}", to_string(activation));
  CLayer layer;
  layer.summary = summary_of(step, detail);
  f = window_fillings(window, step.source, std::move(f));
  if (step.rows) {
    f["rows"] = f["output_height"] = "band_rows";
    f["height"] = "band_height";
    f["before_y"] = "band_top";
    f["last_y"] = fmt::format("band_height - {}", window.y.kernel);
  }
  f["summary"] = layer.summary;
  f["sum"] = fill(kPoolSum, f);
  f["reduction"] = fill(reduction, f);
  layer.function = fill(kPool, f);
  return layer;
}

CLayer make_pool_layer(const CPlan& plan, const CStep& step) {
  const ActivationRange range = pool_range(step.source);
  Fillings f = layer_fillings(plan, step);
  f["lo"] = std::to_string(range.lo);
  f["hi"] = std::to_string(range.hi);
  const bool is_mean = step.source.op.code == OpCode::average_pool_2d;
  return make_window_layer(step, pool_window(step.source), is_mean ? kMean : kMaximum,
                           std::move(f));
}

/// The lowest sum of `count` codes that gives each code from -127 up; one that no sum reaches where
/// none does.
std::array<std::int32_t, 255> lowest_sums(const QuantizedMean& mean, std::int32_t count) {
  std::array<std::int32_t, 255> lowest{};
  std::int32_t sum = -128 * count;
  for (std::size_t i = 0; i < lowest.size(); ++i) {
    const std::int32_t code = static_cast<std::int32_t>(i) - 127;
    // A larger sum gives no smaller code, so that it is found by halves.
    std::int32_t beyond = 127 * count + 1;
    while (sum < beyond) {
      const std::int32_t middle = sum + (beyond - sum) / 2;
      if (mean.apply(middle) >= code) {
        beyond = middle;
      } else {
        sum = middle + 1;
      }
    }
    lowest[i] = sum;
  }
  return lowest;
}

/// A mean that moves to another grid is looked up by its sum: no contract's arithmetic, of floats
/// for one, is needed in C.
CLayer make_mean_layer(const CPlan& plan, const CStep& step) {
  const Window window = mean_window(step.source);
  const auto lowest =
      lowest_sums(quantized_mean(step.source), static_cast<std::int32_t>(window.inputs()));
  Fillings f = layer_fillings(plan, step);
  const std::string name = f["layer"] + "_lowest";
  CLayer layer = make_window_layer(step, window, kRescaledMean, std::move(f));
  layer.constants = "/* The lowest sum that gives each code from -127 up. */\n";
  layer.constants += array_text("int32_t", name, lowest);
  layer.flash_bytes = sizeof lowest;
  return layer;
}

}  // namespace

COperator c_forms::average_pool_2d() {
  return {.reads_all_inputs = true,
          .make = make_pool_layer,
          .overlap = pool_overlap<pool_window>,
          .rows = pool_rows};
}
COperator c_forms::mean() {
  return {.reads_all_inputs = false, .make = make_mean_layer, .overlap = pool_overlap<mean_window>};
}
COperator c_forms::max_pool_2d() { return average_pool_2d(); }

}  // namespace octet::detail
