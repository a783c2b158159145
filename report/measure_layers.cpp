#include <octet/compress/side_by_side.h>
#include <octet/core/autograd.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/report/measure_internal.h>
#include <octet/runtime/interpreter.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace octet {
namespace {

/// Samples that run at a time, every tensor of them kept.
constexpr std::size_t kRowsPerPass = 16;
constexpr std::size_t kBins = 64;
/// How far histograms reach beyond the grid, in widths of it.
constexpr double kMargin = 0.1;
constexpr std::size_t kWidestShown = 3;

/// The reals on either side of which a value is clipped by more than half a step.
struct Limits {
  double low = 0.0;
  double high = 0.0;
};

double real_of(const QuantParams& grid, std::int32_t code, std::size_t channel) {
  return (static_cast<double>(code) - grid.zero_point(channel)) *
         static_cast<double>(grid.scale(channel));
}

Limits limits_of(const QuantParams& grid, std::size_t channel) {
  const double half = static_cast<double>(grid.scale(channel)) / 2.0;
  return {real_of(grid, grid.qmin, channel) - half, real_of(grid, grid.qmax, channel) + half};
}

/// Empty facts of a tensor on `grid`.
GridFacts facts_of(const QuantParams& grid) {
  GridFacts facts;
  facts.codes = static_cast<std::size_t>(grid.qmax - grid.qmin) + 1;
  facts.bits = static_cast<int>(std::bit_width(static_cast<unsigned>(grid.qmax - grid.qmin)));
  for (std::size_t i = 0; i < grid.channels(); ++i) {
    facts.grid_low = std::min(facts.grid_low, real_of(grid, grid.qmin, i));
    facts.grid_high = std::max(facts.grid_high, real_of(grid, grid.qmax, i));
  }
  const double margin = kMargin * (facts.grid_high - facts.grid_low);
  facts.histogram.low = facts.grid_low - margin;
  facts.histogram.high = facts.grid_high + margin;
  facts.histogram.counts.assign(kBins, 0);
  return facts;
}

ChannelFacts channels_of(const std::vector<double>& spans) {
  ChannelFacts facts;
  facts.channels = spans.size();
  facts.median_span = median(spans);
  if (!(facts.median_span > 0.0)) return facts;
  std::vector<WideChannel> all;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    all.push_back({i, spans[i], spans[i] / facts.median_span});
    facts.wide += all.back().medians >= detail::kWideInMedians ? 1U : 0U;
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &WideChannel::span);
  all.resize(std::min(all.size(), kWidestShown));
  facts.widest = std::move(all);
  return facts;
}

/// Takes up how many values each code has.
void count_codes(const std::vector<std::uint64_t>& counts, GridFacts& facts) {
  facts.codes_used = counts.size() - static_cast<std::size_t>(std::ranges::count(counts, 0U));
  const std::uint64_t tail = facts.values / 200;
  std::size_t first = 0;
  std::size_t last = counts.size() - 1;
  for (std::uint64_t seen = counts[first]; seen <= tail && first < last; seen += counts[first]) {
    ++first;
  }
  for (std::uint64_t seen = counts[last]; seen <= tail && last > first; seen += counts[last]) {
    --last;
  }
  facts.codes_of_most = last - first + 1;
}

/// The weights of a layer, as they are trained, on the grid that they ship on.
void measure_weights(Layer& layer, LayerFacts& facts) {
  const std::optional<LayerWeights> weights = layer.weights();
  const Quantizer* quantizer = layer.kernel_quantizer();
  if (!weights || quantizer == nullptr) return;
  const QuantParams grid = quantizer->params();
  const Shape& shape = weights->kernel.shape();
  const auto axis = static_cast<Index>(weights->unit_axis);
  std::size_t inner = 1;
  for (Index i = axis + 1; i < shape.rank(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto units = static_cast<std::size_t>(shape[axis]);
  GridFacts found = facts_of(grid);
  std::vector<double> spans(units, 0.0);
  std::vector<std::uint64_t> counts(found.codes, 0);
  const auto values = weights->kernel.span();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t unit = i / inner % units;
    const std::size_t channel = grid.per_channel() ? unit : 0;
    const auto value = static_cast<double>(values[i]);
    const Limits limits = limits_of(grid, channel);
    spans[unit] = std::max(spans[unit], std::abs(value));
    found.clipped += value < limits.low || value > limits.high ? 1U : 0U;
    const double code = std::clamp(
        std::round(value / static_cast<double>(grid.scale(channel))) + grid.zero_point(channel),
        static_cast<double>(grid.qmin), static_cast<double>(grid.qmax));
    ++counts[static_cast<std::size_t>(code - grid.qmin)];
    found.histogram.add(value);
  }
  found.values = values.size();
  count_codes(counts, found);
  facts.weights = std::move(found);
  facts.weight_channels = channels_of(spans);
  facts.per_channel = grid.per_channel();
}

/// The result of one layer, gathered batch by batch.
class ResultSums {
 public:
  ResultSums(const Layer& layer, const ModelTensor& tensor)
      : grid_(tensor.quantization),
        facts_(facts_of(grid_)),
        counts_(facts_.codes, 0),
        limits_(limits_of(grid_, 0)),
        channels_(layer.output_shape().rank() == 0
                      ? 1
                      : static_cast<std::size_t>(layer.output_shape().dim(-1))),
        spans_(channels_, 0.0),
        seen_(channels_) {}

  /// `codes` of samples end to end, and what the layer gives in float for the same.
  template <class Code>
  void add(std::span<const Code> codes, std::span<const float> exact) {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto code = static_cast<std::int32_t>(codes[i]);
      const auto value = static_cast<double>(exact[i]);
      const std::size_t channel = i % channels_;
      noise_.add(value, real_of(grid_, code, 0));
      facts_.clipped += value < limits_.low || value > limits_.high ? 1U : 0U;
      facts_.histogram.add(value);
      ++counts_[static_cast<std::size_t>(std::clamp(code, grid_.qmin, grid_.qmax) - grid_.qmin)];
      spans_[channel] = std::max(spans_[channel], std::abs(value));
      seen_[channel].add(value, code);
    }
    facts_.values += codes.size();
  }

  void finish(LayerFacts& layer) {
    count_codes(counts_, facts_);
    layer.sqnr_db = noise_.sqnr_db();
    layer.result = facts_;
    layer.result_channels = channels_of(spans_);
    for (std::size_t c = 0; c < channels_ && facts_.values > 0; ++c) {
      const Seen& seen = seen_[c];
      if (seen.lowest == seen.highest) {
        layer.result_channels.dead.push_back(c);
      } else if (seen.highest_code - seen.lowest_code < detail::kFewestCodes - 1) {
        ++layer.result_channels.starved;
      }
    }
  }

 private:
  /// What a channel reaches from and to.
  struct Seen {
    double lowest = INFINITY;
    double highest = -INFINITY;
    std::int32_t lowest_code = std::numeric_limits<std::int32_t>::max();
    std::int32_t highest_code = std::numeric_limits<std::int32_t>::min();

    void add(double value, std::int32_t code) {
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
      lowest_code = std::min(lowest_code, code);
      highest_code = std::max(highest_code, code);
    }
  };

  QuantParams grid_;
  GridFacts facts_;
  NoiseSums noise_;
  std::vector<std::uint64_t> counts_;
  Limits limits_;
  std::size_t channels_;
  std::vector<double> spans_;
  std::vector<Seen> seen_;
};

/// A layer that is looked at, and the tensor of its codes.
struct Watched {
  std::size_t layer;
  std::int32_t tensor;
  ResultSums sums;
};

void add_codes(const Interpreter& interpreter, std::int32_t tensor, const Tensor& exact,
               ResultSums& sums) {
  const auto bytes = interpreter.tensor_bytes(tensor);
  const bool is_int16 =
      interpreter.model().tensors[static_cast<std::size_t>(tensor)].dtype == DType::int16;
  const std::size_t size = bytes.size() / (is_int16 ? sizeof(std::int16_t) : 1);
  // A value that no input reaches is there once.
  if (size != exact.span().size()) return;
  if (is_int16) {
    sums.add(std::span(reinterpret_cast<const std::int16_t*>(bytes.data()), size), exact.span());
  } else {
    sums.add(std::span(reinterpret_cast<const std::int8_t*>(bytes.data()), size), exact.span());
  }
}

void run(const Model& in_float, Interpreter& interpreter, const Dataset& test, std::size_t samples,
         std::vector<Watched>& watched) {
  const NoGrad guard;
  for (std::size_t begin = 0; begin < samples; begin += kRowsPerPass) {
    const std::size_t end = std::min(samples, begin + kRowsPerPass);
    const std::vector<Tensor> inputs = fit_to_inputs(in_float, test.batch(begin, end));
    interpreter.resize_batch(static_cast<Index>(end - begin));
    detail::run_all(interpreter, inputs);
    const auto visit = [&](std::size_t layer, const std::vector<Tensor>& steps) {
      for (Watched& one : watched) {
        if (one.layer == layer) add_codes(interpreter, one.tensor, steps.back(), one.sums);
      }
    };
    in_float.forward_all(inputs, visit);
  }
}

/// The Concatenate that reads layer `i` beside others, through layers that keep its grid; "" where
/// there is none.
std::string join_of(const Model& model, std::size_t i) {
  for (const std::size_t reader : model.readers(i)) {
    const auto* wrapper = as_quantize_wrapper(*model.layers()[reader]);
    if (wrapper == nullptr) continue;
    const Layer& layer = wrapper->wrapped();
    const ResultRule rule = result_rule(layer, wrapper->config().options().rounding);
    if (rule == ResultRule::as_inputs && model.inputs_of(reader).size() > 1) return layer.name();
    if (rule != ResultRule::as_input) continue;
    std::string found = join_of(model, reader);
    if (!found.empty()) return found;
  }
  return "";
}

/// Whether every channel of layer `i` is read by kernels alone, each with a weight for it.
bool is_separable(const Model& model, std::size_t i) {
  const std::vector<std::size_t> readers = model.readers(i);
  return !model.is_output(i) && !readers.empty() && std::ranges::all_of(readers, [&](auto reader) {
    const std::optional<LayerWeights> weights = model.layers()[reader]->weights();
    if (weights) return !weights->convolution || weights->convolution->groups == 1;
    return model.inputs_of(reader).size() == 1 && is_separable(model, reader);
  });
}

LayerFacts named_facts(const Model& model, std::size_t i) {
  const Layer& layer = *model.layers()[i];
  LayerFacts facts;
  facts.joined_by = join_of(model, i);
  facts.separable = is_separable(model, i);
  const auto* wrapper = as_quantize_wrapper(layer);
  const Layer& shown = wrapper == nullptr ? layer : wrapper->wrapped();
  facts.name = shown.name();
  const auto* folded = dynamic_cast<const FoldedBatchNorm*>(&shown);
  facts.type = folded == nullptr ? shown.type() : folded->unfolded().type();
  facts.fixed_grid = has_fixed_scale(model, i);
  if (wrapper != nullptr && wrapper->oscillation() != nullptr) {
    constexpr float kThreshold = 0.005F;
    facts.oscillating = wrapper->oscillation()->share(kThreshold);
  }
  return facts;
}

}  // namespace

void Histogram::add(double value) {
  if (counts.empty() || !(high > low)) return;
  const double place = (value - low) / (high - low) * static_cast<double>(counts.size());
  const auto last = static_cast<double>(counts.size() - 1);
  ++counts[static_cast<std::size_t>(std::clamp(std::floor(place), 0.0, last))];
}

double GridFacts::clipped_share() const {
  return values == 0 ? 0.0 : static_cast<double>(clipped) / static_cast<double>(values);
}

std::vector<LayerFacts> detail::measure_layers(const Model& quantized, const Dataset& test,
                                               std::size_t samples) {
  const WithCurrentKernelRanges current(quantized);
  const Model& model = current.model();
  const LoweredModel lowered = lower_by_layer(model);
  std::vector<LayerFacts> result;
  std::vector<Watched> watched;
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    if (lowered.tensors_of_layer[i].empty()) continue;
    const std::int32_t tensor = lowered.tensors_of_layer[i].back();
    const ModelTensor& codes = lowered.model.tensors[static_cast<std::size_t>(tensor)];
    if (!codes.is_quantized() || codes.quantization.per_channel()) continue;
    Layer& layer = *model.layers()[i];
    result.push_back(named_facts(model, i));
    measure_weights(layer, result.back());
    watched.push_back({i, tensor, ResultSums(layer, codes)});
  }
  Interpreter interpreter(lowered.model, {.keep_tensors = true});
  run(in_floats(model), interpreter, test, samples, watched);
  for (std::size_t i = 0; i < watched.size(); ++i) watched[i].sums.finish(result[i]);
  return result;
}

}  // namespace octet
