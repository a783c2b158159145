#pragma once

#include <octet/core/description.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/layers/layer.h>
#include <octet/layers/quantize/observer.h>
#include <octet/layers/quantize/step_gradient.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

/// The parameters that a scale is learned from, and their gradients: what training on integers puts
/// on the tape beside the tensor that is quantized. Empty where the range is measured.
struct LearnedRange {
  /// Makes one gradient per parameter, of its shape, from x, the tensor before it is quantized, and
  /// the gradient of the loss with respect to the result. It may run when the quantizer is gone or
  /// has moved on, so that it holds what it needs by value. For y = s clamp(round(x / s), lo, hi)
  /// and LSQ (Esser et al., ICLR 2020): d y / d s = round(x / s) - x / s inside, lo or hi outside.
  using Gradients = std::function<std::vector<Tensor>(const Tensor& x, const Tensor& upstream)>;

  /// Makes the gradients from the sums over x of each channel, one of `steps` each, so that one
  /// pass over x gives both them and what x passes. Null: only `gradients` is known.
  using FromSums = std::function<std::vector<Tensor>(std::span<const StepSums> sums)>;

  std::vector<Tensor> parameters{};
  Gradients gradients{};
  FromSums from_sums{};
  /// The scales, and where x passes its gradient, one of each or one per channel. Without any, x
  /// passes as with a measured range.
  LearnedSteps steps{};

  /// Whether an optimizer is to change one of the parameters.
  bool wants_gradient() const {
    return std::ranges::any_of(parameters, [](const Tensor& p) { return p.requires_grad(); });
  }
  /// Where a tensor of one scale passes its gradient, `measured` if nothing else is known.
  RealLimits passes_or(const RealLimits& measured) const {
    return steps.passes.empty() ? measured : steps.passes.front();
  }
  /// Puts the parameters behind the inputs of an operation.
  void append_to(std::vector<Tensor>& inputs) const {
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  }
  /// Puts the parameters' gradients behind those of the inputs.
  void append_gradients(std::vector<Tensor>& list, const Tensor& x, const Tensor& upstream) const {
    if (!wants_gradient()) {
      list.resize(list.size() + parameters.size());
      return;
    }
    for (Tensor& gradient : gradients(x, upstream)) list.push_back(std::move(gradient));
  }
};

/// Makes the scale and zero point of a tensor from parameters that an optimizer changes. A
/// Quantizer without a rule takes the range that its Observer measures.
///
/// Derive from it to learn a scale in another way than LearnedScale, and hand it to a Quantizer. It
/// is saved and loaded with its model once registered (register_scale_rule).
class ScaleRule {
 public:
  virtual ~ScaleRule() = default;

  /// The name under which files know the rule, e.g. "Lsq".
  virtual std::string_view type() const = 0;
  /// Writes the arguments of the constructor, under their names. "type" and "start" are the file's.
  virtual void describe(Description& /*description*/) const {}
  /// Throws InvalidArgument for a spec that the rule cannot serve.
  virtual void require_spec(const QuantSpec& /*spec*/) const {}

  /// Makes the parameters for tensors of `shape` (without the batch axis). `owner` and `prefix`
  /// name the tensor and its state in errors.
  void build(const QuantSpec& spec, std::string owner, std::string prefix, const Shape& shape);

  /// Starts the parameters from a range that was just measured. Where it throws, it must not have
  /// changed anything.
  virtual void start(const ObservedRange& /*range*/) {}
  /// Whether start() is to be called for a new range. Once that is false, nothing is measured.
  virtual bool follows_range() const { return true; }
  /// Puts right what an optimizer made of the parameters, before a forward pass uses them, where
  /// follows_range() is false.
  virtual void repair() {}

  /// Scale, zero point and limits of the quantized values. Throws NumericError that names the
  /// tensor for parameters that are unsound.
  virtual QuantParams params() const = 0;
  /// What an optimizer changes. The names go behind the prefix of the quantizer.
  virtual std::vector<NamedTensor> parameters() const = 0;
  /// What else is saved with the model, named alike.
  virtual std::vector<NamedTensor> counters() const { return {}; }
  /// The parameters with their gradients. Simulation::integer refuses a rule without.
  virtual LearnedRange learned_range() const { return {}; }
  /// dequantize(quantize(x)) in Simulation::fake_quant, x [..., channels], ties away from zero,
  /// with the gradients of learned_range().
  virtual Tensor fake_quant(const Tensor& x) const;

  /// A copy that shares nothing with this rule.
  virtual std::unique_ptr<ScaleRule> clone() const = 0;

 protected:
  ScaleRule() = default;
  /// A subclass with tensors of its own clones them in its copy constructor.
  ScaleRule(const ScaleRule&) = default;
  ScaleRule& operator=(const ScaleRule&) = delete;

  /// Makes the parameters for tensors of `shape`.
  virtual void do_build(const Shape& /*shape*/) {}

  const QuantSpec& spec() const { return spec_; }
  /// The tensor's name in errors.
  const std::string& owner() const { return owner_; }
  const std::string& prefix() const { return prefix_; }

 private:
  QuantSpec spec_;
  std::string owner_;
  std::string prefix_;
};

}  // namespace octet
