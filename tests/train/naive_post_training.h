#pragma once

#include <octet/layers/sequential.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace octet::test {

using Matrix = std::vector<double>;

struct NaiveRange {
  double low = 0.0;
  double high = 0.0;

  void widen(const Matrix& values) {
    for (const double v : values) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  double scale() const { return (high - low) / 255.0; }
  double zero_point() const { return std::round(-128.0 - low / scale()); }
  double code(double v) const {
    return std::clamp(std::round(v / scale()) + zero_point(), -128.0, 127.0);
  }
};

struct NaiveDense {
  Matrix weights;  ///< [inputs, units]
  Matrix bias;
  bool relu;

  Matrix run(const Matrix& x) const {
    Matrix y = bias;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * weights[i * y.size() + j];
    }
    if (relu) {
      for (double& v : y) v = std::max(v, 0.0);
    }
    return y;
  }
};

/// How the ranges of batches make the range of an activation.
enum class RangeRule { extremes, moving_average };

/// Post-training quantization as a text book has it, of a chain of Dense layers: ranges from float
/// runs, weights symmetric by their largest, sums of integers, results rescaled in double.
class NaivePostTraining {
 public:
  explicit NaivePostTraining(const Model& model) {
    const auto parameters = model.parameters();
    for (std::size_t p = 0; p < parameters.size(); p += 2) {
      const auto kernel = parameters[p].tensor.span();
      const auto bias = parameters[p + 1].tensor.span();
      layers_.push_back({{kernel.begin(), kernel.end()}, {bias.begin(), bias.end()}, p == 0});
    }
  }

  void observe(const std::vector<Matrix>& batch) {
    auto& ranges = batch_ranges_.emplace_back(layers_.size() + 1);
    for (Matrix x : batch) {
      ranges[0].widen(x);
      for (std::size_t l = 0; l < layers_.size(); ++l) {
        x = layers_[l].run(x);
        ranges[l + 1].widen(x);
      }
    }
  }

  void quantize(RangeRule rule, double decay = 0.99) {
    ranges_.assign(layers_.size() + 1, {});
    for (std::size_t t = 0; t < ranges_.size(); ++t) {
      double total = 0.0;
      for (const auto& ranges : batch_ranges_) {
        const auto [low, high] = ranges[t];
        if (rule == RangeRule::extremes || t == 0) {
          ranges_[t].widen({low, high});
          continue;
        }
        // The weight of batch i of n is decay^(n - i) over the sum of all.
        total = total * decay + 1.0;
        ranges_[t].low += (low - ranges_[t].low) / total;
        ranges_[t].high += (high - ranges_[t].high) / total;
      }
    }
    quantize_weights();
  }

  std::int32_t predict(Matrix x) const {
    for (double& v : x) v = ranges_[0].code(v);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (double& q : x) q -= ranges_[l].zero_point();
      x = layers_[l].run(x);
      const NaiveRange& out = ranges_[l + 1];
      const double factor = ranges_[l].scale() * weight_scales_[l] / out.scale();
      for (double& v : x) {
        v = std::clamp(std::round(v * factor) + out.zero_point(), -128.0, 127.0);
      }
    }
    return static_cast<std::int32_t>(std::ranges::max_element(x) - x.begin());
  }

 private:
  void quantize_weights() {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      double largest = 0.0;
      for (const double w : layers_[l].weights) largest = std::max(largest, std::abs(w));
      weight_scales_.push_back(largest / 127.0);
      for (double& w : layers_[l].weights) w = std::round(w / weight_scales_[l]);
      for (double& b : layers_[l].bias) {
        b = std::round(b / (ranges_[l].scale() * weight_scales_[l]));
      }
      layers_[l].relu = false;  // the codes' lower end, at the zero point, does it
    }
  }

  std::vector<NaiveDense> layers_;
  std::vector<std::vector<NaiveRange>> batch_ranges_;
  std::vector<NaiveRange> ranges_;
  Matrix weight_scales_;
};

}  // namespace octet::test
