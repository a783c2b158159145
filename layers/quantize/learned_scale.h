#pragma once

#include <octet/layers/quantize/scale_rule.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace octet {

/// A scale made of one or two parameters that the optimizer changes, per tensor or per channel, by
/// the policy of LSQ, LSQ+ or PACT. As long as no optimizer has moved a parameter the scale follows
/// the measured range; from then on nothing is measured, and observe() only refuses NaN and
/// infinity.
///
/// The optimizer may leave a step, or a clip, that is 0 or negative. It is taken for the smallest
/// that is allowed, 1/1024 of the one that it started from, and observe() writes that into the
/// parameter before it is used. NaN and infinity are a NumericError that names the tensor.
///
/// Parameters: "<prefix><name>" for each name of the policy, one number or one per channel.
/// Counters: "<prefix><name>_start", the value that it started from.
class LearnedScale final : public ScaleRule {
 public:
  /// A channel's quantization: real values are (q - zero_point) * step.
  struct Step {
    float step = 0.0F;
    std::int32_t zero_point = 0;
  };
  /// One channel's parameters in the order of the names; of a policy with one, the first.
  using Values = std::array<float, 2>;

  /// What LSQ, LSQ+ and PACT differ in. `n` is the number of values that share a step: elements of
  /// a kernel or of its channel, or features of an example. The first parameter is above 0.
  struct Policy {
    /// The name in files.
    std::string_view type;
    /// The names of the parameters; the second is empty where there is one.
    std::array<std::string_view, 2> names;
    /// Whether it takes only an asymmetric spec without channels, as results of layers have.
    bool results_only;
    Values (*values_of)(const QuantSpec& spec, const Step& step);
    Step (*step_of)(const QuantSpec& spec, const Values& values);
    /// The gradients of a channel's parameters from the sums over its values and the lowest and the
    /// highest quantized value from the zero point on.
    std::array<double, 2> (*gradient)(const StepSums& sums, double lo, double hi);
    /// The factor of the gradients.
    double (*gradient_scale)(const QuantSpec& spec, double n);
  };

  /// Learned step size quantization, LSQ (Esser et al., ICLR 2020): with v = x / s in float32,
  ///
  ///   y = s round(clamp(v, Qn, Qp)), ties away from zero on the layer's kernel, as its rounding
  ///   mode
  ///                                  rounds on results
  ///   dy/dx = 1 where Qn < v < Qp, else 0
  ///   dy/ds = round(v) - v there, Qn where v <= Qn, Qp where v >= Qp;
  ///           the sum over all values times 1 / sqrt(n Qp)
  ///
  /// Qn and Qp are the lowest and the highest quantized value of the spec from the zero point on.
  /// The zero point of a symmetric spec lies in the middle, that of any other at the lowest value,
  /// so that the range begins at 0, as the result of a ReLU does. Parameter: "step", the scale that
  /// is exported, to the bit (unless a bias needs a larger one, see make_weight_codes()).
  static const Policy kLsq;

  /// LSQ+ (Bhalgat et al., CVPR workshops 2020) on integer zero points: an offset b, the real value
  /// of the lowest quantized value, is learned beside the step. With m = qmax - qmin,
  ///
  ///   z = clamp(round(-b / s), 0, m), v = x / s + z, y = s (round(clamp(v, 0, m)) - z)
  ///   dy/dx = 1 where 0 < v < m, else 0
  ///   dy/ds = round(v) - v there, 0 where v <= 0, m where v >= m, as in the paper, which keeps b
  ///   fixed; dy/db = 0 there, else 1
  ///
  /// and both sums times 1 / sqrt(n m). Parameters: "step" and "offset".
  static const Policy kLsqPlus;

  /// PACT (Choi et al., 2018), for the result of a ReLU: y = clamp(x, 0, a) in m = qmax - qmin
  /// steps of a / m, dy/dx = 1 where 0 < x < a, dy/da = 1 where x >= a. Parameter: "clip", which is
  /// a. The paper's penalty on a^2 is a weight decay of the parameter.
  static const Policy kPact;

  /// The smallest step, or clip, as a share of the one that it started from.
  static constexpr float kLeastShare = 0x1p-10F;

  /// `policy` lives as long as the program.
  explicit LearnedScale(const Policy& policy) : policy_(&policy) {}
  LearnedScale(const LearnedScale& other);

  std::string_view type() const override { return policy_->type; }
  void require_spec(const QuantSpec& spec) const override;
  void start(const ObservedRange& range) override;
  bool follows_range() const override;
  void repair() override;
  QuantParams params() const override;
  std::vector<NamedTensor> parameters() const override;
  std::vector<NamedTensor> counters() const override;
  LearnedRange learned_range() const override;
  std::unique_ptr<ScaleRule> clone() const override {
    return std::make_unique<LearnedScale>(*this);
  }

 private:
  /// A parameter, one number or one per channel, and the value that it started from.
  struct Parameter {
    std::string name;
    Tensor value;
    Tensor start;
  };

  void do_build(const Shape& shape) override;
  std::size_t channels() const {
    return static_cast<std::size_t>(parameters_.front().value.size());
  }
  bool started() const;
  float repaired(std::size_t parameter, std::size_t channel) const;

  const Policy* policy_;
  std::vector<Parameter> parameters_;
  double values_per_step_ = 1.0;
};

}  // namespace octet
