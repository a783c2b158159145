#pragma once

#include <octet/layers/quantize/learned_quantizer.h>

namespace octet {

/// Learned step size quantization, LSQ (Esser et al., ICLR 2020): with v = x / s in float32,
///
///   y = s round(clamp(v, Qn, Qp)), ties away from zero on the layer's kernel, as its contract
///                                  rounds on results
///   dy/dx = 1 where Qn < v < Qp, else 0
///   dy/ds = round(v) - v there, Qn where v <= Qn, Qp where v >= Qp;
///           the sum over all values times 1 / sqrt(N Qp)
///
/// Qn and Qp are the codes of `start`'s spec, from the zero point on: for a symmetric spec that
/// lies in the middle, so that the grid is signed, for any other at the lowest code, so that the
/// grid begins at 0, as what comes out of a ReLU does. N is the number of values that share a step:
/// elements of a kernel or of its channel, or features of an example.
/// Parameter: "<prefix>step", the scale that is exported, to the bit (unless a bias needs a larger
/// one, see make_weight_codes()).
class LsqQuantizer final : public LearnedQuantizer {
 public:
  /// Starts at the grid of `start`, e.g. a MeanMagnitudeQuantizer for the start of the paper.
  /// Throws InvalidArgument for a null or a learned `start`.
  explicit LsqQuantizer(std::unique_ptr<Quantizer> start);
  std::string_view type() const override { return "Lsq"; }
  std::unique_ptr<Quantizer> clone() const override;

 protected:
  std::vector<float> values_of(const Grid& grid) const override;
  Grid grid_of(Values values) const override;
  bool is_positive(std::size_t parameter) const override { return parameter == 0; }
  Gradient gradient() const override;
  double gradient_scale() const override;
  bool starts_at_zero() const override { return !spec().symmetric; }
};

/// LSQ+ (Bhalgat et al., CVPR workshops 2020) on integer zero points: an offset b, the real value
/// of the lowest code, is learned beside the step. With codes counted from the lowest, n = qmax -
/// qmin,
///
///   z = clamp(round(-b / s), 0, n), v = x / s + z, y = s (round(clamp(v, 0, n)) - z)
///   dy/dx = 1 where 0 < v < n, else 0
///   dy/ds = round(v) - v there, 0 where v <= 0, n where v >= n, as in the paper, which keeps b
///   fixed dy/db = 0 there, else 1
///
/// and both sums times 1 / sqrt(N n). Parameters: "<prefix>step" and "<prefix>offset". For results
/// of layers, per tensor.
class LsqPlusQuantizer final : public LearnedQuantizer {
 public:
  /// Throws InvalidArgument also for a start that is symmetric or per channel.
  explicit LsqPlusQuantizer(std::unique_ptr<Quantizer> start);
  std::string_view type() const override { return "LsqPlus"; }
  std::unique_ptr<Quantizer> clone() const override;

 protected:
  std::vector<float> values_of(const Grid& grid) const override;
  Grid grid_of(Values values) const override;
  bool is_positive(std::size_t parameter) const override { return parameter == 0; }
  Gradient gradient() const override;
  double gradient_scale() const override;
  bool starts_at_zero() const override { return false; }
};

/// PACT (Choi et al., 2018), for what comes out of a ReLU: y = clamp(x, 0, a) in n = qmax - qmin
/// steps of a / n, dy/dx = 1 where 0 < x < a, dy/da = 1 where x >= a. Parameter: "<prefix>clip",
/// which is a. The paper's penalty on a^2 is a weight decay of the parameter.
class PactQuantizer final : public LearnedQuantizer {
 public:
  /// Throws InvalidArgument also for a start that is symmetric or per channel.
  explicit PactQuantizer(std::unique_ptr<Quantizer> start);
  std::string_view type() const override { return "Pact"; }
  std::unique_ptr<Quantizer> clone() const override;

 protected:
  std::vector<float> values_of(const Grid& grid) const override;
  Grid grid_of(Values values) const override;
  bool is_positive(std::size_t parameter) const override { return parameter == 0; }
  Gradient gradient() const override;
  bool starts_at_zero() const override { return true; }
};

}  // namespace octet
