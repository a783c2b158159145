#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/data/signal_augmentation.h>
#include <octet/train/data/signal_features.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace octet {
namespace {

/// The signals of a batch, [n, samples, axes]. Throws InvalidArgument for others.
Tensor signals_in(const Tensor& batch, const LogMel& front_end) {
  const auto axes = static_cast<Index>(front_end.axes());
  const bool is_one_axis = batch.rank() == 2 && axes == 1;
  const bool fits = is_one_axis || (batch.rank() == 3 && batch.dim(2) == axes);
  if (!fits || front_end.frames(static_cast<std::size_t>(batch.dim(1))) == 0) {
    throw InvalidArgument(fmt::format(
        "augment_signals: expected signals [samples, {}] of at least the {} samples of a frame, "
        "found {}; LoaderOptions::augments_signals gives the signals of a set",
        axes, front_end.window(), batch.shape().without_batch().to_string()));
  }
  return is_one_axis ? batch.reshape({batch.dim(0), batch.dim(1), 1}) : batch;
}

/// The features of signals, as bytes / 255.
Tensor features_of(const LogMel& front_end, const Tensor& signals) {
  const auto rows = static_cast<std::size_t>(signals.dim(0));
  const std::size_t frames = front_end.frames(static_cast<std::size_t>(signals.dim(1)));
  const std::size_t each = frames * front_end.channels();
  const std::size_t samples = signals.span().size() / rows;
  const std::shared_ptr<std::uint8_t[]> bytes = allocate_array<std::uint8_t>(rows * each);
  parallel_tasks(rows, [&](std::size_t row) {
    const auto signal = signals.span().subspan(row * samples, samples);
    std::ranges::copy(feature_bytes(front_end, signal, fmt::format("row {}", row)),
                      bytes.get() + row * each);
  });
  return detail::TensorAccess::from_bytes(
      {signals.dim(0), static_cast<Index>(frames), static_cast<Index>(front_end.channels())},
      bytes);
}

}  // namespace

bool changes_signals(const Augmentation& augmentation) {
  return augmentation.speed > 0.0F || augmentation.time_shift > 0 || augmentation.noise > 0.0F;
}

Augment augment_signals(const Augmentation& augmentation, const LogMel& front_end, int classes) {
  Augmentation of_features = augmentation;
  of_features.speed = 0;
  of_features.time_shift = 0;
  of_features.noise = 0;
  return [front_end,
          change_signals = augment({.speed = augmentation.speed,
                                    .time_shift = augmentation.time_shift,
                                    .noise = augmentation.noise}),
          change_features = augment(of_features, classes)](Tensor& features, Targets& targets,
                                                           const Random& random) {
    features = signals_in(features, front_end);
    if (change_signals) change_signals(features, targets, random);
    features = features_of(front_end, features);
    if (change_features) change_features(features, targets, random);
  };
}

}  // namespace octet
