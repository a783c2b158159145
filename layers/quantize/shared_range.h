#pragma once

#include <octet/layers/program/program.h>
#include <octet/layers/quantize/quantizer_internal.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace octet {

/// Shows a quantizer that several steps of a pass share, as those of a layer that is used several
/// times, their values: it observes all of them at once, behind the last step, so that its
/// range is that of their union. Until then they are quantized with the range of the pass before;
/// in a pass that begins without a range, each step with that of its own values and of all before
/// it. A learned scale is not observed while it is trained, since steps of the pass have read it.
class SharedRange {
 public:
  /// The position of one more step.
  std::size_t join() { return count_++; }
  /// Shows the values `x` of the step at `position`; nothing where `context` does not observe.
  /// Throws InvalidArgument for a learned scale that is to be trained without a start.
  void watch(Quantizer& quantizer, const Tensor& x, std::size_t position,
             const ForwardContext& context);

 private:
  /// Returns the values that the steps of the pass have shown so far, or their limits.
  Tensor seen() const;
  void forget();

  std::size_t count_ = 0;
  /// The steps that have shown their values.
  std::size_t shown_ = 0;
  /// Values of these steps; or, where the observer reads only limits, the lowest and the highest of
  /// each.
  std::vector<Tensor> values_;
  std::vector<float> limits_;
  /// In a pass that begins without a range: the observer in front of it.
  std::optional<detail::ObserverSnapshot> start_;
};

/// Shows the quantizer of a quantized step's result real values of it: those that count for its
/// range, see Step::reach and StepScheme::is_radicand.
void watch_result(const Step& step, const Tensor& real, const ForwardContext& context);

}  // namespace octet
