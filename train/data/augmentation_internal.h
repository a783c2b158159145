#pragma once

#include <octet/core/parallel.h>
#include <octet/core/random.h>
#include <octet/core/tensor.h>
#include <octet/train/data/augmentation.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

// The changes of an Augmentation, each of which leaves features alone where its members are 0.

namespace octet::detail {

/// The stream of a change. Fixed, so that switching one on leaves the others as they are.
enum class ChangeStream : std::uint64_t {
  affine = 101,
  colour,
  speed,
  time_shift,
  mask,
  noise,
  mixup
};

inline Random stream_of(const Random& random, ChangeStream change) {
  return random.fork(static_cast<std::uint64_t>(change));
}

/// From 1 / (1 + most) to 1 + most, uniform in the logarithm.
double factor_around_one(float most, float uniform);

/// Calls change(row, values) for every example on all threads.
template <class Change>
void change_rows(Tensor& features, const Change& change) {
  const auto rows = static_cast<std::size_t>(features.dim(0));
  const std::span<float> all = features.mutable_span();
  const std::size_t each = all.size() / rows;
  parallel_for(rows, parallel_grain(Work::write_floats, each),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   change(row, all.subspan(row * each, each));
                 }
               });
}

/// Throws InvalidArgument, which names the change, for features of another rank than one of these.
void require_rank(const Tensor& features, std::initializer_list<Index> ranks, const char* change,
                  const char* expected);

/// Rotate, scale and crop.
void change_place(const Augmentation& how, Tensor& features, const Random& random);
/// Brightness, contrast and saturation.
void change_colour(const Augmentation& how, Tensor& features, const Random& random);
/// Speed and time_shift.
void change_time(const Augmentation& how, Tensor& features, const Random& random);
/// Masks in time and in frequency.
void mask_sequences(const Augmentation& how, Tensor& features, const Random& random);

}  // namespace octet::detail
