#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/loss.h>
#include <octet/train/loss.h>

namespace octet {

Loss sparse_categorical_cross_entropy() {
  return [](const Tensor& output, std::span<const std::int32_t> labels) {
    return softmax_cross_entropy(output, labels);
  };
}

Loss smoothed_cross_entropy(float smoothing) {
  if (!(smoothing >= 0.0F && smoothing < 1.0F)) {
    throw InvalidArgument(
        fmt::format("smoothed_cross_entropy: expected 0 <= smoothing < 1, found {}", smoothing));
  }
  return [smoothing](const Tensor& output, std::span<const std::int32_t> labels) {
    const Index classes = output.dim(-1);
    const Tensor target =
        one_hot(labels, classes) * (1.0F - smoothing) + smoothing / static_cast<float>(classes);
    return softmax_cross_entropy(output, target);
  };
}

Loss one_hot_mean_squared_error() {
  return [](const Tensor& output, std::span<const std::int32_t> labels) {
    return mean_squared_error(output, one_hot(labels, output.dim(-1)));
  };
}

Tensor one_hot(std::span<const std::int32_t> labels, Index classes) {
  Tensor result = Tensor::zeros({static_cast<Index>(labels.size()), classes});
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      throw InvalidArgument(fmt::format("one_hot: row {}: expected a label in [0, {}), found {}", i,
                                        classes, labels[i]));
    }
    result.data()[static_cast<Index>(i) * classes + labels[i]] = 1.0F;
  }
  return result;
}

}  // namespace octet
