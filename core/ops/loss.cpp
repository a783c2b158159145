#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/softmax_row.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/loss.h>
#include <octet/core/ops/map.h>
#include <octet/core/ops/reduce.h>

#include <cmath>

namespace octet {
namespace {

void check_logits(const Tensor& logits) {
  if (logits.rank() != 2 || logits.size() == 0) {
    throw InvalidArgument(
        fmt::format("softmax_cross_entropy: expected logits [rows, classes] of at least one "
                    "element, found shape {}",
                    logits.shape().to_string()));
  }
}

void check_labels(const Tensor& logits, std::span<const std::int32_t> labels) {
  const Index classes = logits.shape()[1];
  if (static_cast<Index>(labels.size()) != logits.shape()[0]) {
    throw InvalidArgument(fmt::format(
        "softmax_cross_entropy: expected one label per row of logits {}, found {} labels",
        logits.shape().to_string(), labels.size()));
  }
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] < 0 || labels[row] >= classes) {
      throw InvalidArgument(fmt::format(
          "softmax_cross_entropy: label {} in row {} is outside [0, {}), the classes that the "
          "logits have{}",
          labels[row], row, classes,
          classes == 1 ? "; one output for two classes is for binary cross-entropy" : ""));
    }
  }
}

}  // namespace

Tensor softmax_cross_entropy(const Tensor& logits, std::span<const std::int32_t> labels) {
  check_logits(logits);
  check_labels(logits, labels);
  const Index rows = logits.shape()[0];
  const Index classes = logits.shape()[1];
  // The gradient, (softmax - one-hot) / rows, falls out of the forward pass.
  const bool wants_gradient = records_gradient({logits});
  Tensor gradient = wants_gradient ? Tensor(logits.shape()) : Tensor();
  std::vector<double> losses(labels.size());
  const auto count = static_cast<float>(rows);
  const std::size_t least = detail::row_grain(Work::transcendental, classes);
  parallel_for(labels.size(), thread_share(labels.size(), least),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   const Index offset = static_cast<Index>(row) * classes;
                   const float* x = logits.data() + offset;
                   if (!wants_gradient) {
                     losses[row] = -detail::row_norm(x, classes).log_softmax(x[labels[row]]);
                     continue;
                   }
                   float* p = gradient.mutable_data() + offset;
                   losses[row] = -detail::softmax_row(x, classes, p).log_softmax(x[labels[row]]);
                   p[labels[row]] -= 1.0F;
                   for (Index j = 0; j < classes; ++j) p[j] /= count;
                 }
               });
  double total = 0.0;
  for (const double loss : losses) total += loss;
  const Tensor mean_loss = Tensor::scalar(static_cast<float>(total / static_cast<double>(rows)));
  return record(
      "softmax_cross_entropy", mean_loss, {logits},
      [gradient](const Tensor& g) { return std::vector<Tensor>{mul(gradient, g)}; },
      BackwardReads::nothing);
}

Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& probabilities) {
  check_logits(logits);
  if (probabilities.shape() != logits.shape()) {
    throw InvalidArgument(
        fmt::format("softmax_cross_entropy: expected probabilities of the logits' shape {}, found "
                    "{}; whole-number labels go in as a span of int32",
                    logits.shape().to_string(), probabilities.shape().to_string()));
  }
  const auto rows = static_cast<float>(logits.shape()[0]);
  return sum(probabilities * log_softmax(logits)) / -rows;
}

Tensor sigmoid_cross_entropy(const Tensor& logits, const Tensor& targets) {
  if (logits.shape() != targets.shape() || logits.size() == 0) {
    throw InvalidArgument(
        fmt::format("sigmoid_cross_entropy: expected logits and targets of one shape and at least "
                    "one element, found {} and {}",
                    logits.shape().to_string(), targets.shape().to_string()));
  }
  const float* x = logits.data();
  const float* t = targets.data();
  double total = 0.0;
  for (Index i = 0; i < logits.size(); ++i) {
    const auto logit = static_cast<double>(x[i]);
    // std::max would drop a NaN.
    const double positive = logit < 0.0 ? 0.0 : logit;
    total += positive - logit * static_cast<double>(t[i]) + std::log1p(std::exp(-std::abs(logit)));
  }
  const auto count = static_cast<double>(logits.size());
  const Tensor loss = Tensor::scalar(static_cast<float>(total / count));
  return record("sigmoid_cross_entropy", loss, {logits},
                [logits, targets, scale = static_cast<float>(1.0 / count)](const Tensor& g) {
                  return std::vector<Tensor>{(sigmoid(logits) - targets) * (g * scale)};
                });
}

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target) {
  if (prediction.shape() != target.shape()) {
    throw InvalidArgument(
        fmt::format("mean_squared_error: expected operands of one shape, found {} and {}",
                    prediction.shape().to_string(), target.shape().to_string()));
  }
  if (prediction.size() == 0) {
    throw InvalidArgument(
        fmt::format("mean_squared_error: expected at least one element, found shape {}",
                    prediction.shape().to_string()));
  }
  return mean(square(prediction - target));
}

}  // namespace octet
