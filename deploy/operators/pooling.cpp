#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/images.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/mean.h>
#include <octet/runtime/operators/pool_2d.h>

#include <array>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

/// By output along an axis: how many taps lie inside the image, with room for the other axes.
std::string tap_counts(OnnxNodes& nodes, const WindowAxis& axis, const Extents& shape,
                       const std::string& name) {
  std::vector<std::int64_t> counts;
  counts.reserve(static_cast<std::size_t>(axis.output));
  for (Index o = 0; o < axis.output; ++o) counts.push_back(axis.end(o) - axis.begin(o));
  return nodes.values().constant(name, OnnxType::int64, shape, counts);
}

/// The sum of the codes in every window: a convolution with ones, of each channel as an image.
std::string sums_of_codes(OnnxNodes& nodes, const Operands& o, const Window& window) {
  OnnxValues& values = nodes.values();
  const std::string name = nodes.base_name(o.op.outputs[0]);
  const auto reshaped = [&](const std::string& x, const Extents& shape, std::string_view suffix) {
    const std::string to =
        values.constant(name + std::string(suffix) + "_shape", OnnxType::int64, Extents{4}, shape);
    return values.node("Reshape", {x, to}, name + std::string(suffix));
  };
  const std::string codes = values.node("Cast", {values.value(o.op.inputs[0])}, name + "/codes",
                                        {{"to", static_cast<std::int64_t>(OnnxType::float32)}});
  const std::string images = reshaped(channels_first(nodes, codes, name),
                                      {-1, 1, window.y.input, window.x.input}, "/images");
  const std::string ones = values.constant(
      name + "/ones", OnnxType::float32, Extents{1, 1, window.y.kernel, window.x.kernel},
      std::vector<float>(static_cast<std::size_t>(window.taps()), 1.0F));
  auto attributes = window_attributes(window);
  attributes.push_back({"dilations", Extents{1, 1}});
  attributes.push_back({"group", std::int64_t{1}});
  const std::string conv = values.node("Conv", {images, ones}, name + "/conv", attributes);
  const std::string all =
      reshaped(conv, {-1, o.input().shape[3], window.y.output, window.x.output}, "/windows");
  return values.node("Cast", {channels_last(nodes, all, name)}, name + "/sums",
                     {{"to", static_cast<std::int64_t>(OnnxType::int64)}});
}

/// (sum + sign(sum) * (n / 2)) / n in integers, rounded towards zero.
void write_mean_of_windows(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const Window window = pool_window(o);
  require_exact_sums(o, window.taps(), 128);
  const std::string sums = sums_of_codes(nodes, o, window);
  const std::string rows = tap_counts(nodes, window.y, {1, window.y.output, 1, 1}, name + "/rows");
  const std::string columns =
      tap_counts(nodes, window.x, {1, 1, window.x.output, 1}, name + "/columns");
  const std::string count = values.node("Mul", {rows, columns}, name + "/count");
  const std::string two =
      values.constant(name + "/two", OnnxType::int64, Extents{}, std::vector<std::int64_t>{2});
  const std::string half = values.node("Div", {count, two}, name + "/half");
  const std::string sign = values.node("Sign", {sums}, name + "/sign");
  const std::string away = values.node("Mul", {half, sign}, name + "/away");
  const std::string raised = values.node("Add", {sums, away}, name + "/raised");
  nodes.finish_integers(values.node("Div", {raised, count}, name + "/mean"), out,
                        pool_range({o.model, o.op, Rounding::fp32}));
}

std::int64_t keeps_axes(const Operands& o) { return o.op.as<MeanAttributes>().keep_dims ? 1 : 0; }

/// The sum of the codes in integers, and then float32 as in the contract.
void write_mean_of_axes(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const QuantizedMean mean = quantized_mean({o.model, o.op, Rounding::fp32});
  const std::string axes =
      values.constant(name + "/axes", OnnxType::int64, Extents{2}, Extents{1, 2});
  const std::string codes = nodes.integers(o.op.inputs[0], OnnxType::int64, name + "/codes");
  const std::string sum =
      values.node("ReduceSum", {codes, axes}, name + "/sum", {{"keepdims", keeps_axes(o)}});
  const std::string real = values.node("Cast", {sum}, name + "/real",
                                       {{"to", static_cast<std::int64_t>(OnnxType::float32)}});
  const std::string factor = values.constant(name + "/factor", {mean.float_factor()});
  const std::string offset = values.constant(name + "/offset", {mean.float_offset()});
  const std::string rescaled = values.node("Mul", {real, factor}, name + "/rescaled");
  const std::string moved = values.node("Add", {rescaled, offset}, name + "/moved");
  const std::string rounded = values.node("Round", {moved}, name + "/rounded");
  // Clipped as floats, which may be beyond any integer.
  const std::string lowest = values.constant(name + "/lowest", {-128.0F});
  const std::string highest = values.constant(name + "/highest", {127.0F});
  const std::string clamped = values.node("Clip", {rounded, lowest, highest}, name + "/clamped");
  nodes.node_to("Cast", {clamped}, out, {{"to", static_cast<std::int64_t>(values.type_of(out))}});
}

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

/// "8 x 8 x 3, window 2 x 2, stride 1 x 1".
std::string window_text(const Window& w, std::int64_t channels) {
  return fmt::format("{} x {} x {}, window {} x {}, stride {} x {}", w.y.input, w.x.input, channels,
                     w.y.kernel, w.x.kernel, w.y.stride, w.x.stride);
}

void fill_axis(const WindowAxis& axis, std::string_view name, Fillings& f) {
  const auto set = [&](std::string_view what, Index value) {
    f[fmt::format("{}_{}", what, name)] = operand_text(value);
  };
  set("stride", axis.stride);
  set("before", axis.before);
  set("kernel", axis.kernel);
  set("last", axis.input - axis.kernel);
}

/// @rows@ of the output in all images, @image@, the codes of one, @channels@; @height@, @width@,
/// @output_height@, @output_width@; and of either axis @stride_y@, @before_y@, @kernel_y@, its
/// taps, and @last_y@, the last place at which a window without dilation lies inside.
Fillings window_fillings(const Window& window, const Operands& operands, Fillings f) {
  const std::int64_t channels = operands.input().shape[3];
  f["rows"] = std::to_string(operands.input().shape[0] * window.y.output);
  f["image"] = std::to_string(window.inputs() * channels);
  f["channels"] = std::to_string(channels);
  f["height"] = std::to_string(window.y.input);
  f["width"] = std::to_string(window.x.input);
  f["output_height"] = std::to_string(window.y.output);
  f["output_width"] = std::to_string(window.x.output);
  fill_axis(window.y, "y", f);
  fill_axis(window.x, "x", f);
  return f;
}

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

/// Codes are compared as they are.
void onnx_forms::max_pool_2d(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string x = channels_first(nodes, nodes.values().value(o.op.inputs[0]), name);
  const std::string most =
      nodes.values().node("MaxPool", {x}, name + "/pool", window_attributes(pool_window(o)));
  if (o.op.activation() == FusedActivation::none) return channels_last_to(nodes, most, out);
  const std::string y = channels_last(nodes, most, name);
  if (!o.output().is_quantized()) return nodes.finish_clamped(y, out, o.op.activation());
  const ActivationRange range = pool_range({o.model, o.op, Rounding::fp32});
  const auto limit = [&](std::string_view which, std::int32_t code) {
    return nodes.values().code_constant(name + std::string(which), out, code);
  };
  nodes.node_to("Clip", {y, limit("/lowest", range.lo), limit("/highest", range.hi)}, out);
}
COperator c_forms::max_pool_2d() { return average_pool_2d(); }

void onnx_forms::average_pool_2d(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return write_mean_of_windows(nodes, o);
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string codes = channels_first(nodes, nodes.values().value(o.op.inputs[0]), name);
  const std::string x = nodes.values().terms_of(o.op.inputs[0], codes, name);
  auto attributes = window_attributes(pool_window(o));
  attributes.push_back({"count_include_pad", std::int64_t{0}});
  const std::string mean = nodes.values().node("AveragePool", {x}, name + "/pool", attributes);
  channels_last_to(nodes, nodes.finish_rearranged(mean, out, o.op.activation()), out);
}

COperator c_forms::average_pool_2d() {
  return {.reads_all_inputs = true,
          .make = make_pool_layer,
          .overlap = pool_overlap<pool_window>,
          .rows = pool_rows};
}

/// Version 18 of ReduceMean reads its axes.
void onnx_forms::mean(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return write_mean_of_axes(nodes, o);
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  OnnxNodes::Names inputs{values.reals(o.op.inputs[0])};
  std::vector<OnnxAttribute> attributes;
  if (values.opset() < 18) {
    attributes.push_back({"axes", Extents{1, 2}});
  } else {
    inputs.push_back(values.constant(name + "/axes", OnnxType::int64, Extents{2}, Extents{1, 2}));
  }
  attributes.push_back({"keepdims", keeps_axes(o)});
  nodes.finish(values.node("ReduceMean", inputs, name + "/mean", attributes), out);
}

COperator c_forms::mean() {
  return {.reads_all_inputs = false, .make = make_mean_layer, .overlap = pool_overlap<mean_window>};
}

}  // namespace octet::detail
