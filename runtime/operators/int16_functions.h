#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/runtime/operators/definitions.h>

#include <cstddef>
#include <cstdint>
#include <memory>

// LOGISTIC and TANH on int16: 256 points of the sigmoid and lines between them, as TensorFlow Lite
// and TFLite Micro have it (reference/integer_ops/logistic.h, tanh.h). Zero points are 0, the
// output scale is 2^-15.

namespace octet::detail {

/// How many points both functions lie on.
inline constexpr std::size_t kSigmoidPoints = 256;

enum class SigmoidForm { logistic, tanh };

/// Computes LOGISTIC or TANH of one int16 value q: v = round(3 4096 scale q) is a place on the
/// curve, whose points lie 512 apart, those of TANH 256, and the result lies on the line between
/// the two beside it.
class Int16Sigmoid {
 public:
  /// The largest input scale: the factor of a larger one does not fit the 32 bits of runtimes.
  static constexpr float kLargestScale = 16.0F / 3.0F;

  /// `scale` has to be above 0 and at most kLargestScale.
  Int16Sigmoid(SigmoidForm form, float scale);

  std::int16_t operator()(std::int16_t q) const;
  /// What a pass over vectors computes it by.
  SigmoidNumbers numbers() const;

 private:
  SigmoidForm form_;
  std::int32_t factor_ = 0;
  int shift_ = 0;
};

/// Whether LiteRT computes the function of inputs of this scale in 16-bit fixed point instead.
bool is_fixed_point_in_litert(SigmoidForm form, float scale);

/// Throws FormatError unless input and output are int16 of zero point 0, and the input's scale is
/// in the bounds above.
void check_int16_sigmoid(const OperatorView& view);

std::unique_ptr<Kernel> make_int16_sigmoid(const KernelSource& source, SigmoidForm form);

}  // namespace octet::detail
