#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/gradcheck.h>

#include <cmath>

namespace octet {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

Tensor random_weights(const Shape& shape, std::uint64_t seed) {
  const Random random(seed);
  Tensor weights = Tensor::uniform(shape, random, 0.5F, 1.5F);
  const Random signs = random.fork(1);
  for (Index i = 0; i < weights.size(); ++i) {
    if ((signs.bits(static_cast<std::uint64_t>(i)) & 1U) != 0) weights.mutable_data()[i] *= -1.0F;
  }
  return weights;
}

/// (L(x + eps) - L(x - eps)) / (2 eps) for one element, which is put back.
double central_difference(const Function& f, const std::vector<Tensor>& inputs,
                          const Tensor& weights, float& element, float eps) {
  const float original = element;
  const float above = original + eps;
  const float below = original - eps;
  element = above;
  const Tensor y_above = f(inputs);
  element = below;
  const Tensor y_below = f(inputs);
  element = original;
  if (y_above.shape() != weights.shape() || y_below.shape() != weights.shape()) {
    throw InvalidArgument(fmt::format(
        "gradcheck: expected f to give shape {} each time, found {} and {}",
        weights.shape().to_string(), y_above.shape().to_string(), y_below.shape().to_string()));
  }
  double difference = 0.0;
  for (Index i = 0; i < weights.size(); ++i) {
    difference += static_cast<double>(weights.data()[i]) *
                  (static_cast<double>(y_above.data()[i]) - static_cast<double>(y_below.data()[i]));
  }
  return difference / (static_cast<double>(above) - static_cast<double>(below));
}

/// The worst element so far, by error over tolerance.
class Worst {
 public:
  explicit Worst(const GradcheckOptions& options) : options_(options) {}

  void add(std::size_t input, Index index, double tape, double numeric) {
    const double error = std::fabs(tape - numeric);
    const double ratio = error / (options_.atol + options_.rtol * std::fabs(numeric));
    // Negated, so that a NaN counts as the worst of all.
    if (ratio_ >= 0.0 && !(ratio > ratio_) && !std::isnan(ratio)) return;
    if (std::isnan(ratio_)) return;
    ratio_ = ratio;
    result_.ok = ratio <= 1.0;
    result_.worst_error = error;
    result_.message =
        fmt::format("gradcheck: worst at input {}, element {}: tape {}, numeric {}, error {}",
                    input, index, tape, numeric, error);
  }

  GradcheckResult result() const { return result_; }

 private:
  GradcheckOptions options_;
  double ratio_ = -1.0;
  GradcheckResult result_{true, "gradcheck: no elements to check", 0.0};
};

}  // namespace

GradcheckResult gradcheck(const Function& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  std::vector<Tensor> leaves;
  leaves.reserve(inputs.size());
  for (const Tensor& input : inputs) leaves.push_back(input.clone().set_requires_grad(true));
  Tensor y = f(leaves);
  if (!y.requires_grad()) {
    return {false, "gradcheck: the result is not on the tape: no gradient can be checked", 0.0};
  }
  const Tensor weights = random_weights(y.shape(), options.seed);
  try {
    y.backward(weights);
  } catch (const Error& error) {
    return {false, fmt::format("gradcheck: {}", error.what()), 0.0};
  }

  const NoGrad guard;
  Worst worst(options);
  for (std::size_t n = 0; n < leaves.size(); ++n) {
    Tensor& leaf = leaves[n];
    const Tensor grad = leaf.grad().defined() ? leaf.grad() : Tensor::zeros(leaf.shape());
    for (Index i = 0; i < leaf.size(); ++i) {
      const double numeric =
          central_difference(f, leaves, weights, leaf.mutable_data()[i], options.eps);
      worst.add(n, i, static_cast<double>(grad.data()[i]), numeric);
    }
  }
  return worst.result();
}

}  // namespace octet
