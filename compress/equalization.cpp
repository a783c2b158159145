#include <fmt/core.h>
#include <octet/compress/post_training.h>
#include <octet/compress/side_by_side.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/dropout.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/kernel_layer.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/pool2d.h>
#include <octet/layers/quantize/float_model.h>
#include <octet/layers/reshape.h>
#include <octet/layers/slice.h>
#include <octet/layers/upsampling2d.h>
#include <octet/layers/zero_padding2d.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace octet {
namespace {

constexpr double kDead = 1e-6;
constexpr double kSettled = 1e-6;
constexpr std::size_t kMostRounds = 200;

template <class L>
bool is(const Layer& layer) {
  return dynamic_cast<const L*>(&layer) != nullptr;
}

/// Whether a factor above 0 on a channel of what the layer reads is one on that channel of its
/// result.
bool scales_alike(const Layer& layer) {
  if (is_activation(layer)) {
    return layer.activation() == Activation::none || layer.activation() == Activation::relu;
  }
  return is<LeakyReLU>(layer) || is<Dropout>(layer) || is<Pool2D>(layer) ||
         is<GlobalAveragePool2D>(layer) || is<GlobalMaxPool2D>(layer) || is<Reshape>(layer) ||
         is<ZeroPadding2D>(layer) || is<UpSampling2D>(layer) || is<Slice>(layer);
}

/// The BatchNorm that is the only reader of layer `i`, where it can be folded into it; `i` where
/// there is none.
std::size_t norm_behind(const Model& model, std::size_t i) {
  const std::vector<std::size_t> readers = model.readers(i);
  const bool foldable = readers.size() == 1 && !model.is_output(i) &&
                        model.layers()[i]->activation() == Activation::none;
  return foldable && is<BatchNorm>(*model.layers()[readers.front()]) &&
                 !model.is_reused(readers.front())
             ? readers.front()
             : i;
}

/// A layer with a kernel, the BatchNorm behind it, and the factors that it has come to.
class Linear {
 public:
  Linear(const Model& model, std::size_t layer)
      : layer_(model.layers()[layer].get()),
        end_(norm_behind(model, layer)),
        weights_(*layer_->weights()),
        units_(static_cast<std::size_t>(weights_.kernel.dim(-1))),
        rows_(static_cast<std::size_t>(weights_.kernel.dim(-2))),
        groups_(weights_.convolution ? static_cast<std::size_t>(weights_.convolution->groups) : 1),
        folded_(units_, 1.0),
        made_(units_, 1.0),
        read_(rows_ * groups_, 1.0) {
    if (end_ == layer) return;
    norm_ = dynamic_cast<const BatchNorm*>(model.layers()[end_].get());
    const std::span<const float> gamma = std::as_const(norm_->gamma()).span();
    const std::span<const float> variance = std::as_const(norm_->moving_variance()).span();
    for (std::size_t c = 0; c < units_; ++c) {
      folded_[c] = gamma[c] / std::sqrt(double{variance[c]} + double{norm_->epsilon()});
    }
  }

  /// Why the layer can be in no pair; empty where it can.
  std::string_view why_not() const {
    const Shape& kernel = weights_.kernel.shape();
    const Shape& read = layer_->input_shape();
    if (!is<KernelLayer>(*layer_)) return "it is no KernelLayer";
    if (!is_parameter(*layer_, weights_.kernel)) {
      return "it does not keep its kernel in the order of LayerWeights";
    }
    const bool usual = weights_.unit_axis == kernel.rank() - 1 &&
                       kernel.rank() == (weights_.convolution ? 4 : 2) && read.rank() > 0 &&
                       std::cmp_equal(read.dim(-1), read_.size());
    return usual ? "" : "its kernel has another layout than LayerWeights says";
  }
  /// Throws NumericError that names the layer unless its weights, folded, are finite.
  void require_finite() const {
    for_each([&](std::size_t, std::size_t, double w) {
      if (std::isfinite(w)) return;
      throw NumericError(
          fmt::format("cross_layer_equalization: expected finite weights of layer \"{}\", found {}",
                      name(), w));
    });
  }

  const std::string& name() const { return layer_->name(); }
  std::size_t units() const { return units_; }
  /// What the next layers read: the result of the layer or of its BatchNorm.
  std::size_t end() const { return end_; }
  void scale_made(std::size_t channel, double s) { made_[channel] /= s; }
  void scale_read(std::size_t channel, double s) {
    for (std::size_t c = channel; c < read_.size(); c += period_) read_[c] *= s;
  }
  /// What the layer reads has this many channels, one behind the other and over again.
  void set_period(std::size_t channels) { period_ = channels; }

  /// The largest |weight| of each channel that the layer makes, or reads.
  std::vector<double> ranges_made() const {
    std::vector<double> ranges(units_);
    for_each([&](std::size_t unit, std::size_t, double w) { widen(ranges[unit], w); });
    return ranges;
  }
  std::vector<double> ranges_read() const {
    std::vector<double> ranges(period_);
    for_each([&](std::size_t, std::size_t input, double w) { widen(ranges[input % period_], w); });
    return ranges;
  }

  /// A tensor of the layer, and what it becomes.
  struct Change {
    Tensor tensor;
    std::vector<float> values;
  };
  std::vector<Change> changes() const {
    std::vector<Change> all;
    Change& kernel = all.emplace_back(changed(weights_.kernel));
    for (std::size_t i = 0; i < kernel.values.size(); ++i) {
      const double made = norm_ == nullptr ? made_[i % units_] : 1.0;
      kernel.values[i] = static_cast<float>(kernel.values[i] * made * read_[input_of(i)]);
    }
    std::vector<Tensor> made = {weights_.bias};
    if (norm_ != nullptr) made = {norm_->gamma(), norm_->beta()};
    for (const Tensor& tensor : made) {
      if (!tensor.defined()) continue;
      Change& change = all.emplace_back(changed(tensor));
      for (std::size_t c = 0; c < units_; ++c) {
        change.values[c] = static_cast<float>(change.values[c] * made_[c]);
      }
    }
    return all;
  }

 private:
  static void widen(double& range, double w) { range = std::max(range, std::abs(w)); }
  static Change changed(const Tensor& tensor) {
    const std::span<const float> values = tensor.span();
    return {tensor, {values.begin(), values.end()}};
  }

  /// The channel that element i of the kernel reads: kernels are [.., channels / groups, units].
  std::size_t input_of(std::size_t i) const {
    const std::size_t group = i % units_ / (units_ / groups_);
    return group * rows_ + i / units_ % rows_;
  }

  template <class See>
  void for_each(See&& see) const {
    const std::span<const float> kernel = weights_.kernel.span();
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      const std::size_t unit = i % units_;
      const std::size_t input = input_of(i);
      see(unit, input, double{kernel[i]} * folded_[unit] * made_[unit] * read_[input]);
    }
  }

  const Layer* layer_;
  const BatchNorm* norm_ = nullptr;
  std::size_t end_;
  LayerWeights weights_;
  std::size_t units_;
  std::size_t rows_;
  std::size_t groups_;
  std::size_t period_ = 1;
  /// What the BatchNorm multiplies each unit by.
  std::vector<double> folded_;
  /// What each unit, and each input, has been multiplied by.
  std::vector<double> made_;
  std::vector<double> read_;
};

/// Where a layer's result goes: to another layer with a kernel, or why that cannot be.
struct Way {
  std::optional<std::size_t> second{};
  std::string why_not{};
};

std::string named(const Layer& layer) {
  return fmt::format("\"{}\" ({})", layer.name(), layer.type());
}

/// The way from the result of layer `at`, which has `channels` channels.
Way way_from(const Model& model, std::size_t at, Index channels) {
  for (;;) {
    const Layer& layer = *model.layers()[at];
    const std::vector<std::size_t> readers = model.readers(at);
    if (model.is_output(at)) {
      return {.why_not = fmt::format("{} gives an output of the model", named(layer))};
    }
    if (readers.size() != 1) {
      return {.why_not = fmt::format("{} layers read {}", readers.size(), named(layer))};
    }
    at = readers.front();
    const Layer& next = *model.layers()[at];
    if (model.used_layer(at) != at || model.is_reused(at)) {
      return {.why_not = fmt::format("{} behind it is used several times", named(next))};
    }
    if (next.weights()) return {.second = at};
    if (is<Concatenate>(next)) {
      return {.why_not =
                  fmt::format("{} joins it with others; factors go through no join", named(next))};
    }
    if (!scales_alike(next)) {
      return {.why_not = fmt::format("{} behind it does not scale as what it reads", named(next))};
    }
    const Shape& given = next.output_shape();
    const bool cuts = is<Slice>(next) && given.dim(-1) != next.input_shape().dim(-1);
    if (given.rank() == 0 || given.dim(-1) % channels != 0 || cuts) {
      return {.why_not = fmt::format("{} tears its channels apart", named(next))};
    }
  }
}

Way way_of(const Model& model, std::size_t i, const Linear& linear) {
  if (!linear.why_not().empty()) return {.why_not = std::string(linear.why_not())};
  if (model.is_reused(i)) return {.why_not = "it is used several times"};
  const Activation function = model.layers()[i]->activation();
  if (function != Activation::none && function != Activation::relu) {
    return {.why_not = fmt::format("its {} does not scale as what it reads", to_string(function))};
  }
  Way way = way_from(model, linear.end(), static_cast<Index>(linear.units()));
  if (!way.second) return way;
  const Linear second(model, *way.second);
  if (!second.why_not().empty()) {
    return {.why_not = fmt::format("\"{}\" reads it: {}", second.name(), second.why_not())};
  }
  return way;
}

double spread(std::span<const double> ranges, const std::vector<bool>& lives) {
  double least = INFINITY;
  double most = 0.0;
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    if (!lives[c]) continue;
    least = std::min(least, ranges[c]);
    most = std::max(most, ranges[c]);
  }
  return most == 0.0 ? 1.0 : most / least;
}

/// Two of the layers, and which of the channels between them are not dead.
class Pair {
 public:
  Pair(Linear& first, Linear& second) : first_(&first), second_(&second), lives_(first.units()) {
    second.set_period(first.units());
    first.require_finite();
    second.require_finite();
    const std::vector<double> made = first.ranges_made();
    const std::vector<double> read = second.ranges_read();
    const double most_made = std::ranges::max(made);
    const double most_read = std::ranges::max(read);
    for (std::size_t c = 0; c < lives_.size(); ++c) {
      lives_[c] = made[c] > kDead * most_made && read[c] > kDead * most_read;
    }
    report_ = {first.name(), second.name(), spread_now(), 1.0};
  }

  /// How far the largest factor is from 1.
  double equalize() {
    const std::vector<double> made = first_->ranges_made();
    const std::vector<double> read = second_->ranges_read();
    double furthest = 0.0;
    for (std::size_t c = 0; c < lives_.size(); ++c) {
      if (!lives_[c]) continue;
      const double s = std::sqrt(made[c] / read[c]);
      first_->scale_made(c, s);
      second_->scale_read(c, s);
      furthest = std::max(furthest, std::abs(s - 1.0));
    }
    return furthest;
  }

  EqualizedPair report() const {
    EqualizedPair result = report_;
    result.spread_after = spread_now();
    return result;
  }

 private:
  double spread_now() const {
    return std::max(spread(first_->ranges_made(), lives_), spread(second_->ranges_read(), lives_));
  }

  Linear* first_;
  Linear* second_;
  std::vector<bool> lives_;
  EqualizedPair report_;
};

void write(const std::vector<std::optional<Linear>>& linears) {
  std::vector<Linear::Change> all;
  for (const std::optional<Linear>& linear : linears) {
    if (!linear) continue;
    for (Linear::Change& change : linear->changes()) {
      const auto broken =
          std::ranges::find_if_not(change.values, [](float v) { return std::isfinite(v); });
      if (broken != change.values.end()) {
        throw NumericError(fmt::format(
            "cross_layer_equalization: expected weights of layer \"{}\" that stay finite, found {}",
            linear->name(), *broken));
      }
      all.push_back(std::move(change));
    }
  }
  for (Linear::Change& change : all) std::ranges::copy(change.values, change.tensor.data());
}

}  // namespace

Equalization cross_layer_equalization(Model& model) {
  require_float_model(model, "cross_layer_equalization");
  std::vector<std::optional<Linear>> linears(model.layers().size());
  for (std::size_t i = 0; i < linears.size(); ++i) {
    if (model.layers()[i]->weights()) linears[i].emplace(model, i);
  }
  Equalization result;
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < linears.size(); ++i) {
    if (!linears[i]) continue;
    const Way way = way_of(model, i, *linears[i]);
    if (way.second) {
      pairs.emplace_back(*linears[i], *linears[*way.second]);
    } else {
      result.left_out.push_back({linears[i]->name(), way.why_not});
    }
  }
  double furthest = pairs.empty() ? 0.0 : 1.0;
  while (furthest > kSettled && result.rounds < kMostRounds) {
    furthest = 0.0;
    for (Pair& pair : pairs) furthest = std::max(furthest, pair.equalize());
    ++result.rounds;
  }
  for (const Pair& pair : pairs) result.pairs.push_back(pair.report());
  write(linears);
  return result;
}

}  // namespace octet
