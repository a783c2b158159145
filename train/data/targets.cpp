#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/targets.h>

namespace octet {

Targets::Targets(Tensor values) : values_(std::move(values)) {
  if (values_.defined() && values_.rank() > 0) return;
  throw InvalidArgument(fmt::format("Targets: expected a tensor with one row per example, found {}",
                                    values_.defined() ? "a scalar" : "no tensor"));
}

std::size_t Targets::size() const {
  return are_labels() ? labels_.size() : static_cast<std::size_t>(values_.dim(0));
}

const Labels& Targets::labels() const {
  if (are_labels()) return labels_;
  throw InvalidArgument(fmt::format(
      "Targets: expected class labels, found a tensor of shape {}; is the loss, or the metric, one "
      "for labels?",
      values_.shape().to_string()));
}

const Tensor& Targets::values() const {
  if (!are_labels()) return values_;
  throw InvalidArgument(fmt::format(
      "Targets: expected a tensor, found {} class labels; is the loss, or the metric, one for "
      "tensors? one_hot() makes a tensor of labels",
      labels_.size()));
}

Tensor one_hot(std::span<const std::int32_t> labels, Index classes) {
  Tensor result = Tensor::zeros({static_cast<Index>(labels.size()), classes});
  float* out = result.mutable_data();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      throw InvalidArgument(fmt::format("one_hot: row {}: expected a label in [0, {}), found {}", i,
                                        classes, labels[i]));
    }
    out[static_cast<Index>(i) * classes + labels[i]] = 1.0F;
  }
  return result;
}

}  // namespace octet
