#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/random.h>
#include <octet/core/shape.h>
#include <octet/layers/layer.h>
#include <octet/layers/quantize/scale_rule.h>
#include <octet/layers/quantize/weight_codes.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace octet {

class GradientAngles;
class WeightedSums;

/// The integers of a layer's weights for inputs of one shape, scale and zero point: what the steps
/// of a scan, which read the same weights, make once.
struct IntegerWeights {
  QuantParams kernel_params;
  QuantParams input_params;
  Shape input_shape;
  /// Null where nothing has been made yet.
  std::shared_ptr<const WeightedSums> sums;
  /// kernel_params as the bias lets them be.
  QuantParams weight_params;
};

/// How IntegerLinear computes gradients.
struct GradientRule {
  Backward backward = Backward::float32;
  /// What Backward::int8_stochastic rounds by.
  Random random{};
  /// Collects the angles between gradients on int8 and in floats, unless null.
  GradientAngles* angles = nullptr;
  /// The name that it has them under.
  std::string layer{};
};

/// FULLY_CONNECTED or CONV_2D with a fused activation, in two steps, since the range of the result
/// may be measured in between.
class IntegerLinear {
 public:
  /// Whether sums are kept to be requantized, for output(), or dropped where all that is asked for
  /// is real().
  enum class Sums { kept, dropped };

  /// Makes the quantized values and sums acc = sum (x_q - zp)(w_q) + b_q exactly in int32. Throws
  /// InvalidArgument that names `owner` where some input could overflow that.
  /// `learned` is what kernel_params are learned from. `shared`, where given, keeps the integers of
  /// the weights for the next call with the same weights.
  IntegerLinear(const LayerWeights& layer, FusedActivation activation, const Tensor& x,
                const QuantParams& kernel_params, Rounding rounding, const std::string& owner,
                LearnedRange learned = {}, Sums use = Sums::kept, IntegerWeights* shared = nullptr,
                const GradientRule& gradients = {});

  /// f(acc * s_x * s_w): the result before it is quantized, f the activation where that is a clamp.
  const Tensor& real_output() const { return real_; }
  /// The real output in the shape of the result, [batch, ...], for more to be made of it in floats.
  /// Gradients reach x, the kernel, the bias and what the kernel's scale and zero point are learned
  /// from.
  Tensor real() const;

  /// y_q = clamp(rescale(acc) + zero_point), with the parameters `output`. Gradients reach x, the
  /// kernel and the bias: for the result where real_output() lies between the real values of qmin
  /// and qmax and the activation lets it pass, for the kernel where its quantized value is not
  /// clamped. They also reach what the kernel's parameters and `output` are learned from.
  Tensor output(const QuantParams& output, const LearnedRange& learned = {}) const;
  /// The output without the activation, and without gradients: what an activation reads that is an
  /// operator of its own.
  Tensor before_activation(const QuantParams& output) const {
    return requantized(output, FusedActivation::none, {});
  }

 private:
  struct Operands;
  std::vector<Tensor> inputs() const;
  /// done(begin, end) is called for rows [begin, end), on the thread that has read their sums.
  Tensor requantized(const QuantParams& output, FusedActivation activation,
                     FunctionRef<void(Index begin, Index end)> done) const;

  std::shared_ptr<const Operands> operands_;
  Rounding rounding_;
  FusedActivation activation_;
  std::shared_ptr<std::int32_t[]> sums_;
  /// Lazy: see RealSums.
  Tensor real_;
};

}  // namespace octet
