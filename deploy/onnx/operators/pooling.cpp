#include <octet/deploy/onnx/operators.h>
#include <octet/deploy/onnx/operators/images.h>
#include <octet/runtime/operators/mean.h>
#include <octet/runtime/operators/pool_2d.h>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

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

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace octet::detail
