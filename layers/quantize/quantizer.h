#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/round.h>
#include <octet/core/tensor.h>
#include <octet/layers/layer.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// How quantized layers compute while they are trained and evaluated.
enum class Simulation {
  /// On the integers themselves, as the exported model does: not one bit of difference.
  integer,
  /// TensorFlow's composition of float ops and fake quantization: close to the integers.
  fake_quant
};

/// "integer" or "fake_quant".
std::string_view to_string(Simulation simulation);

/// Keeps the range of one tensor of a network as non-trainable state, and puts the tensor on the
/// grid of that range. Subclasses differ in how a batch changes the range; names and behaviour are
/// those of TensorFlow Model Optimization (semantics: docs/quantization.md).
class Quantizer {
 public:
  /// Whether the zero point is kept as state beside the range.
  enum class ZeroPoint { hidden, kept };

  virtual ~Quantizer() = default;

  /// Makes the state for tensors of `shape` (without the batch axis): "<prefix>min", "<prefix>max",
  /// "<prefix>zero_point". `owner` names the tensor in errors. Throws InvalidArgument for an axis
  /// other than the last, and for any where a zero point, which is one number, is kept.
  void build(std::string owner, std::string prefix, const Shape& shape, ZeroPoint zero_point);
  bool built() const { return min_.defined(); }

  const QuantSpec& spec() const { return spec_; }
  /// The range before anything was observed.
  float initial_min() const { return initial_min_; }
  float initial_max() const { return initial_max_; }
  bool usable_from_start() const { return usable_from_start_; }

  /// Takes the range of `x` in, unless frozen. An empty tensor changes nothing. Throws
  /// NumericError that names the tensor where x holds NaN or infinity or its range is too wide for
  /// float32; the state is then unchanged. Throws InvalidArgument before build().
  void observe(const Tensor& x);

  /// While frozen, observe() changes nothing.
  void freeze(bool frozen) { frozen_ = frozen; }
  bool frozen() const { return frozen_; }
  /// While disabled, tensors pass the simulation unchanged; ranges are still observed.
  void enable(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  /// Whether there is a range to quantize with.
  bool has_range() const { return built() && (usable_from_start_ || updates_.item() > 0.0F); }

  /// Scale, zero point and limits of the integers that export uses.
  /// Throws InvalidArgument where no range has been observed, NumericError for an unsound one.
  QuantParams params() const;

  /// TensorFlow's fake quantization of x with the stored range; its gradient passes inside the
  /// nudged range. Throws as params().
  virtual Tensor fake_quant(const Tensor& x) const;

  /// dequantize(quantize(x)) with params(), the result carrying its grid; the gradient passes where
  /// x lies between the reals of qmin and qmax. Per-tensor ranges only.
  Tensor quantize_dequantize(const Tensor& x, RoundMode mode = RoundMode::half_away) const;

  /// quantize_dequantize(x) or fake_quant(x).
  Tensor simulate(const Tensor& x, Simulation simulation,
                  RoundMode mode = RoundMode::half_away) const {
    return simulation == Simulation::integer ? quantize_dequantize(x, mode) : fake_quant(x);
  }

  /// What the names of the state begin with, e.g. "kernel_".
  const std::string& prefix() const { return prefix_; }
  const Tensor& min() const { return min_; }
  const Tensor& max() const { return max_; }
  std::vector<NamedTensor> state() const;
  std::vector<NamedTensor> counters() const;
  virtual std::unique_ptr<Quantizer> clone() const = 0;

 protected:
  /// A range that is `usable_from_start` quantizes before anything was observed.
  Quantizer(QuantSpec spec, float initial_min, float initial_max, bool usable_from_start)
      : spec_(spec),
        initial_min_(initial_min),
        initial_max_(initial_max),
        usable_from_start_(usable_from_start) {}
  Quantizer(const Quantizer& other);
  Quantizer& operator=(const Quantizer&) = delete;

  /// Changes the range by that of one batch, channel by channel: batch_min[c] <= batch_max[c].
  /// Returns how many batches the range now stands for.
  virtual float update(std::span<const float> batch_min, std::span<const float> batch_max) = 0;

  /// The range that a batch asks for, widened to hold 0 and made symmetric where the spec says so.
  struct Range {
    float min;
    float max;
  };
  Range wanted_range(float batch_min, float batch_max) const;

  std::span<float> mins() { return min_.span(); }
  std::span<float> maxs() { return max_.span(); }
  /// How many batches the range stands for.
  float updates() const { return updates_.item(); }
  const std::string& owner() const { return owner_; }
  /// Throws InvalidArgument where no range has been observed.
  void require_range() const;

 private:
  void measure(const Tensor& x, std::span<float> batch_min, std::span<float> batch_max) const;
  void keep_zero_point(const QuantParams& params);

  QuantSpec spec_;
  float initial_min_;
  float initial_max_;
  bool usable_from_start_;
  std::string owner_;
  std::string prefix_;
  bool frozen_ = false;
  bool enabled_ = true;
  Tensor min_;
  Tensor max_;
  Tensor zero_point_;
  Tensor updates_;
};

/// A copy, or null of null.
inline std::unique_ptr<Quantizer> clone_of(const std::unique_ptr<Quantizer>& quantizer) {
  return quantizer ? quantizer->clone() : nullptr;
}

}  // namespace octet
