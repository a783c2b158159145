#include <fmt/core.h>
#include <octet/compress/equalization_way.h>
#include <octet/compress/post_training.h>
#include <octet/compress/side_by_side.h>
#include <octet/core/error.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/kernel_layer.h>
#include <octet/layers/quantize/float_model.h>

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
    const std::span<const float> gamma = norm_->gamma().span();
    const std::span<const float> variance = norm_->moving_variance().span();
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
  /// Channel c that the layer reads is made by unit `units[c]` of another, or is left as it is.
  void scale_read(std::span<const std::size_t> units, std::span<const double> factors) {
    for (std::size_t c = 0; c < read_.size(); ++c) {
      if (units[c] != EqualizationWay::kOther) read_[c] *= factors[units[c]];
    }
  }

  /// The largest |weight| that makes each unit, or that reads each unit of another layer.
  std::vector<double> ranges_made() const {
    std::vector<double> ranges(units_);
    for_each([&](std::size_t unit, std::size_t, double w) { widen(ranges[unit], w); });
    return ranges;
  }
  std::vector<double> ranges_read(std::span<const std::size_t> units, std::size_t count) const {
    std::vector<double> ranges(count);
    for_each([&](std::size_t, std::size_t input, double w) {
      if (units[input] != EqualizationWay::kOther) widen(ranges[units[input]], w);
    });
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
  /// What the BatchNorm multiplies each unit by.
  std::vector<double> folded_;
  /// What each unit, and each input, has been multiplied by.
  std::vector<double> made_;
  std::vector<double> read_;
};

EqualizationWay way_of(const Model& model, std::size_t i, const Linear& linear) {
  if (!linear.why_not().empty()) return {.why_not = std::string(linear.why_not())};
  if (model.is_reused(i)) return {.why_not = "it is used several times"};
  const Activation function = model.layers()[i]->activation();
  if (function != Activation::none && function != Activation::relu) {
    return {.why_not = fmt::format("its {} does not scale as what it reads", to_string(function))};
  }
  EqualizationWay way = equalization_way(model, linear.end(), linear.units());
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
  Pair(Linear& first, Linear& second, std::vector<std::size_t> units)
      : first_(&first), second_(&second), units_(std::move(units)), lives_(first.units()) {
    first.require_finite();
    second.require_finite();
    const std::vector<double> made = first.ranges_made();
    const std::vector<double> read = ranges_read();
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
    const std::vector<double> read = ranges_read();
    std::vector<double> factors(lives_.size(), 1.0);
    double furthest = 0.0;
    for (std::size_t c = 0; c < lives_.size(); ++c) {
      if (!lives_[c]) continue;
      factors[c] = std::sqrt(made[c] / read[c]);
      first_->scale_made(c, factors[c]);
      furthest = std::max(furthest, std::abs(factors[c] - 1.0));
    }
    second_->scale_read(units_, factors);
    return furthest;
  }

  EqualizedPair report() const {
    EqualizedPair result = report_;
    result.spread_after = spread_now();
    return result;
  }

 private:
  double spread_now() const {
    return std::max(spread(first_->ranges_made(), lives_), spread(ranges_read(), lives_));
  }

  std::vector<double> ranges_read() const { return second_->ranges_read(units_, lives_.size()); }

  Linear* first_;
  Linear* second_;
  std::vector<std::size_t> units_;
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
  for (Linear::Change& change : all) std::ranges::copy(change.values, change.tensor.mutable_data());
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
    EqualizationWay way = way_of(model, i, *linears[i]);
    if (way.second) {
      pairs.emplace_back(*linears[i], *linears[*way.second], std::move(way.units));
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
