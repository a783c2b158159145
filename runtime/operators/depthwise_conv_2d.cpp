#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/block_kernels.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>
#include <octet/runtime/operators/image_window.h>
#include <octet/runtime/operators/int16_sums.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>

namespace octet::detail {
namespace {

/// Sums that are made at once stay in the cache.
constexpr Index kSums = 8192;

// ---- The operator

void check_depthwise(const OperatorView& view) {
  const auto& a = view.op.as<DepthwiseConv2DAttributes>();
  const ModelTensor& filter = view.input(1);
  if (filter.shape.size() != 4 || filter.shape[0] != 1) {
    view.fail(fmt::format("expected a filter [1, height, width, units], found geometry [{}]",
                          fmt::join(filter.shape, ", ")));
  }
  require_window(view, a, filter.shape[1], filter.shape[2], filter.shape[3]);
  const std::int64_t units = std::int64_t{view.input().shape[3]} * a.depth_multiplier;
  if (a.depth_multiplier < 1 || units != filter.shape[3]) {
    view.fail(
        fmt::format("expected a filter of {} channels times a depth multiplier of {}, found "
                    "one of {}",
                    view.input().shape[3], a.depth_multiplier, filter.shape[3]));
  }
  check_dense_operands(view, 3);
}

std::unique_ptr<Kernel> make_depthwise(const KernelSource& source) {
  const Conv2DGeometry geometry = depthwise_geometry(source);
  if (source.input().dtype == DType::float32) {
    using Sums = DepthwiseSums<float, float>;
    return std::make_unique<FloatBlockKernel<Sums>>(
        Sums(geometry, values_of<float>(source.input(1)), bias_of<float>(source, 3), 0.0F),
        source.op.activation());
  }
  if (source.input().dtype == DType::int16) {
    return make_int16_depthwise(geometry, int16_numbers(source, depthwise_requantizer(source), 3));
  }
  using Sums = DepthwiseSums<std::int8_t, std::int32_t>;
  std::vector<std::int8_t> weights;
  const FullyConnectedNumbers n = depthwise_numbers(source, weights);
  return std::make_unique<QuantizedBlockKernel<std::int8_t, std::int32_t, Sums>>(
      Sums(geometry, values_of<std::int8_t>(source.input(1)), n.bias, n.input_zero_point,
           n.weight_zero_point),
      n.epilogue);
}

std::int64_t depthwise_products(const Operands& operands) {
  return products_with_units(operands, 3);
}

std::size_t depthwise_bytes(const Operands& operands) {
  const Conv2DGeometry geometry = depthwise_geometry(operands);
  if (operands.input().dtype == DType::int16) return int16_depthwise_bytes(operands);
  if (operands.input().dtype == DType::float32) {
    return DepthwiseSums<float, float>::bytes_of(geometry);
  }
  return DepthwiseSums<std::int8_t, std::int32_t>::bytes_of(geometry) +
         static_cast<std::size_t>(geometry.filters) * sizeof(QuantizedMultiplier);
}

}  // namespace

Conv2DGeometry depthwise_geometry(const Operands& operands) {
  const auto& filter = operands.input(1).shape;
  const auto& image = operands.input().shape;
  return {.window = window_of(operands, operands.op.as<DepthwiseConv2DAttributes>(), filter[1],
                              filter[2]),
          .images = image[0],
          .channels = image[3],
          .filters = filter[3],
          .groups = image[3]};
}

// ---- Sums

namespace {

/// Returns the weights less their zero point, which a pair of int16 holds.
template <class Code, class Sum>
std::vector<Sum> less_zero_point(std::span<const Code> weights, Sum zero_point) {
  std::vector<Sum> values(weights.begin(), weights.end());
  for (Sum& value : values) value -= zero_point;
  return values;
}

/// Sums of floats leave taps beside the image out: a zero times a weight that is not finite would
/// not be 0. So do lines of which most would be padding.
template <class Code, class Sum>
CorrelationAxis padded_line(const WindowAxis& window) {
  CorrelationAxis line = CorrelationAxis::forward(window);
  const Index before = line.before();
  const Index after = line.after();
  if (std::is_same_v<Code, Sum> || before + after > window.input) return line;
  for (CorrelationAxis::Tap& tap : line.taps) tap.at += before;
  line.input += before + after;
  return line;
}

int depthwise_version(const Operands& o) {
  if (o.input(1).stored_bits != 8) return 7;
  if (o.input().dtype == DType::int16) return 5;
  if (o.input().dtype == DType::int8) return 3;
  const auto& a = o.op.as<DepthwiseConv2DAttributes>();
  return a.dilation_h != 1 || a.dilation_w != 1 ? 2 : 1;
}

}  // namespace

template <class Code, class Sum>
DepthwiseSums<Code, Sum>::DepthwiseSums(const Conv2DGeometry& geometry,
                                        std::span<const Code> weights, std::span<const Sum> bias,
                                        Sum zero_point, Sum weight_zero_point)
    : geometry_(geometry),
      zero_point_(zero_point),
      line_(padded_line<Code, Sum>(geometry.window.x)),
      before_(line_.taps.front().at - geometry.window.x.first(0)),
      after_(line_.input - geometry.window.x.input - before_),
      correlation_(CorrelationAxis::forward(geometry.window.y), line_, geometry.window.x.kernel,
                   geometry.filters, less_zero_point(weights, weight_zero_point).data(),
                   bias.data()) {}

template <class Code, class Sum>
std::size_t DepthwiseSums<Code, Sum>::bytes_of(const Conv2DGeometry& geometry) {
  return DepthwiseCorrelation<Sum>::bytes_of(geometry.window.taps(), geometry.filters);
}

template <class Code, class Sum>
bool DepthwiseSums<Code, Sum>::reads_in_place() const {
  return std::is_same_v<Code, Sum> && geometry_.filters_per_group() == 1;
}

template <class Code, class Sum>
std::size_t DepthwiseSums<Code, Sum>::thread_bytes() const {
  if (reads_in_place()) return 0;
  const WindowAxis& y = geometry_.window.y;
  const Index lines = (block_lines() - 1) * y.stride + (y.kernel - 1) * y.dilation + 1;
  const auto prepared = static_cast<std::size_t>(std::min(lines, y.input) * line_size());
  return prepared * sizeof(Sum) +
         (std::is_same_v<Code, Sum> ? 0 : codes_of_line() * sizeof(std::int16_t));
}

template <class Code, class Sum>
Index DepthwiseSums<Code, Sum>::block_lines() const {
  const Window& w = geometry_.window;
  return std::clamp<Index>(kSums / (w.x.output * geometry_.filters), 1, w.y.output);
}

template <class Code, class Sum>
void DepthwiseSums<Code, Sum>::for_blocks(
    Index samples, const Code* x,
    FunctionRef<void(Index begin, Index end, FunctionRef<void(Sum*)> write_sums)> body) const {
  const Window& w = geometry_.window;
  const Index lines = block_lines();
  const Index blocks = divided_up(w.y.output, lines);
  const auto count = static_cast<std::size_t>(samples * geometry_.images * blocks);
  const Index taps = std::min(w.y.kernel, w.y.input) * std::min(w.x.kernel, w.x.input);
  const auto products = static_cast<std::size_t>(lines * w.x.output * geometry_.filters * taps);
  parallel_for(count, parallel_grain(work_of_sums<Sum>(), products),
               [&](std::size_t first, std::size_t last) {
                 for (auto block = static_cast<Index>(first); block < static_cast<Index>(last);
                      ++block) {
                   const Index image = block / blocks;
                   const Index begin = block % blocks * lines;
                   const Index end = std::min(begin + lines, w.y.output);
                   const Index row = image * w.outputs();
                   body(row + begin * w.x.output, row + end * w.x.output, [&](Sum* sums) {
                     write_lines(x + image * w.inputs() * geometry_.channels, begin, end, sums);
                   });
                 }
               });
}

template <class Code, class Sum>
void DepthwiseSums<Code, Sum>::write_lines(const Code* image, Index begin, Index end,
                                           Sum* sums) const {
  const Index width = geometry_.window.x.output * geometry_.filters;
  const auto write = [&](const Sum* pixels) { correlation_.run(pixels, begin, end, sums, width); };
  if constexpr (std::is_same_v<Code, Sum>) {
    if (reads_in_place()) return write(image);
  }
  const auto [first, last] = correlation_.lines_read(begin, end);
  const ScratchBuffer<Sum, DepthwiseSums> prepared(
      static_cast<std::size_t>((last - first) * line_size()));
  prepare(image + first * geometry_.window.x.input * geometry_.channels, last - first,
          prepared.data());
  write(prepared.data() - first * line_size());
}

template <class Code, class Sum>
void DepthwiseSums<Code, Sum>::prepare(const Code* x, Index lines, Sum* to) const {
  const Index multiplier = geometry_.filters_per_group();
  const Index size = geometry_.window.x.input * geometry_.channels;
  if constexpr (std::is_same_v<Code, Sum>) {
    for (Index i = 0; i < lines * size; ++i) to = std::fill_n(to, multiplier, x[i]);
  } else {
    // Zeros in front of a line and behind it.
    const std::size_t count = codes_of_line();
    const ScratchBuffer<std::int16_t, DepthwiseSums> codes(count);
    std::fill_n(codes.data(), count, std::int16_t{0});
    std::int16_t* const first = codes.data() + before_ * units();
    const Index next = geometry_.window.x.dilation * units();
    for (Index line = 0; line < lines; ++line, x += size, to += line_size()) {
      if (multiplier == 1) {
        kernels().passes.shifted_codes(x, static_cast<std::size_t>(size), zero_point_, first);
      } else {
        std::int16_t* pixel = first;
        for (Index i = 0; i < size; ++i) {
          pixel = std::fill_n(pixel, multiplier, static_cast<std::int16_t>(x[i] - zero_point_));
        }
      }
      kernels().passes.pair_codes(codes.data(), codes.data() + next,
                                  static_cast<std::size_t>(line_size()), to);
    }
  }
}

template class DepthwiseSums<std::int8_t, std::int32_t>;
template class DepthwiseSums<float, float>;

// ---- Epilogue

Requantizer depthwise_requantizer(float input_scale, std::span<const float> weight_scales,
                                  float output_scale, Rounding rounding, bool has_bias) {
  const bool rounds_once = rounding == Rounding::q15 || (rounding == Rounding::fp32 && has_bias);
  return Requantizer::convolution(input_scale, weight_scales, output_scale,
                                  rounds_once ? rounding : Rounding::double_rounding);
}

Requantizer depthwise_requantizer(const KernelSource& source) {
  return depthwise_requantizer(
      source.input().quantization.scale(), source.input(1).quantization.scales,
      source.output().quantization.scale(), contract_of_weights(source), source.has_input(2));
}

FullyConnectedNumbers depthwise_numbers(const KernelSource& source,
                                        std::vector<std::int8_t>& weights) {
  const QuantParams input = stored_params(source.input());
  const Conv2DGeometry geometry = depthwise_geometry(source);
  const auto of_taps = values_of<std::int8_t>(source.input(1));
  const auto units = static_cast<std::size_t>(geometry.filters);
  const auto taps = static_cast<std::size_t>(geometry.window.taps());
  const std::int32_t weight_zero_point = source.input(1).quantization.zero_point();
  weights.resize(of_taps.size());
  std::vector<std::int64_t> magnitudes(units);
  for (std::size_t tap = 0; tap < taps; ++tap) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      const std::int8_t weight = of_taps[tap * units + unit];
      weights[unit * taps + tap] = weight;
      magnitudes[unit] += std::abs(weight - weight_zero_point);
    }
  }
  FullyConnectedNumbers n{.rows = geometry.rows(),
                          .depth = geometry.window.taps(),
                          .units = geometry.filters,
                          .input_zero_point = input.zero_point(),
                          .weight_zero_point = weight_zero_point,
                          .weights = weights,
                          .bias = bias_of<std::int32_t>(source, 3),
                          .epilogue = {depthwise_requantizer(source),
                                       stored_params(source.output()), source.op.activation()},
                          .largest_sum = 0};
  n.largest_sum =
      accumulator_bound(magnitudes, n.bias, farthest_from_zero_point(input), source.input(1).name);
  return n;
}

OperatorDefinition definitions::depthwise_conv_2d() {
  return checked({.name = "DEPTHWISE_CONV_2D",
                  .releases = {10500, 11200, 11400, 20300, 20300, 20300, 21100},
                  .required_version = depthwise_version,
                  .least_inputs = 2,
                  .most_inputs = 3,
                  .output_grid = OutputGrid::measured,
                  .least_weight_bits = 4,
                  .takes_int16 = true,
                  .check = check_depthwise,
                  .make_kernel = make_depthwise,
                  .kernel_bytes = depthwise_bytes,
                  .multiply_adds = depthwise_products});
}

}  // namespace octet::detail
