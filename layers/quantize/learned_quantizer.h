#pragma once

#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/step_gradient.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// A quantizer whose grid is made of parameters that the optimizer changes. It is made of another
/// quantizer, whose spec it takes, and whose observer says where it starts: as long as no optimizer
/// has moved a parameter, the grid follows what is observed; from then on nothing is, and observe()
/// only refuses NaN and infinity.
///
/// The optimizer may leave a step that is 0 or negative. It is taken for the smallest that is
/// allowed, 1/1024 of the step that the parameter started from, and observe() writes that into the
/// parameter before it is used. NaN and infinity are a NumericError that names the tensor.
///
/// Parameters: "<prefix><name>" for each name of the subclass, one number or one per channel.
/// Counters: besides those of Quantizer, "<prefix><name>_start", the value that it started from.
class LearnedQuantizer : public Quantizer {
 public:
  /// Writes the quantizer that it was made with, as "start".
  void describe(Description& description) const override;

  void observe(const Tensor& x) final;
  void calibrate(const Tensor& x) final;
  QuantParams params() const final;
  /// On the codes of Simulation::integer, ties away from zero.
  Tensor fake_quant(const Tensor& x) const final;
  std::vector<NamedTensor> parameters() const final;
  std::vector<NamedTensor> counters() const final;
  LearnedRange learned_range() const final;

  /// The smallest step, or clip, as a share of the one that it started from.
  static constexpr float kLeastShare = 0x1p-10F;

 protected:
  /// Throws InvalidArgument for a null `start` and for one that is learned.
  LearnedQuantizer(std::unique_ptr<Quantizer> start, std::vector<std::string> names);
  LearnedQuantizer(const LearnedQuantizer& other);

  /// One channel's parameters, in the order of the names.
  using Values = std::span<const float>;
  /// A channel's grid: real values are (code - zero_point) * step.
  struct Grid {
    float step = 0.0F;
    std::int32_t zero_point = 0;
  };
  /// The gradients of a channel's parameters, one or two, from the sums of its values and the
  /// lowest and the highest code of its grid in steps.
  using Gradient = std::array<double, 2> (*)(const StepSums& sums, double lo, double hi);

  /// The parameters of a grid.
  virtual std::vector<float> values_of(const Grid& grid) const = 0;
  /// The grid of finite parameters, that which is_positive() names above 0.
  virtual Grid grid_of(Values values) const = 0;
  /// Whether a parameter has to be above 0.
  virtual bool is_positive(std::size_t parameter) const = 0;
  virtual Gradient gradient() const = 0;
  /// What their gradients are multiplied by.
  virtual double gradient_scale() const { return 1.0; }
  /// Whether the grid starts at a range of values from 0 on, whatever was observed below.
  virtual bool starts_at_zero() const = 0;

  /// How many values share a step: elements of a kernel, or features of an example.
  double values_per_step() const { return values_per_step_; }
  /// The codes of the spec in steps, for its zero point in the middle, or at the lowest code.
  std::int32_t zero_point_of_spec() const;

 private:
  void do_build(const Shape& shape) final;
  void range_changed() final;
  bool follows_range() const final;
  std::size_t channels() const { return static_cast<std::size_t>(parameters_.front().size()); }
  float repaired(std::size_t parameter, std::size_t channel) const;
  void repair();

  std::unique_ptr<Quantizer> origin_;
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> starts_;
  double values_per_step_ = 1.0;
};

}  // namespace octet
