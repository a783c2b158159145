#pragma once

#include <octet/core/ops/conv2d.h>
#include <octet/layers/layer.h>
#include <octet/runtime/operator.h>

#include <concepts>

namespace octet {

struct Pool1DOptions {
  /// Steps of a window.
  Index size = 2;
  /// From window to window; 0: windows lie side by side.
  Index stride = 0;
  Padding padding = Padding::valid;
  std::string name{};
};

/// What pools along the steps of sequences [steps, channels] have in common: a window that slides
/// over each channel on its own, to [windows, channels], or one over all steps, to [channels].
/// Padding same pads as TensorFlow does; steps outside the sequence count for nothing. Padding
/// causal puts size - 1 zeros in front, which count as those of a causal convolution do, so that
/// step t of the result reads no step behind t stride, and a stream gives the same. Quantized,
/// the result keeps the scale and zero point of the input. Lowered, it is a pool of images of
/// height 1 between two RESHAPEs, as the TensorFlow converter writes it, with a PAD in front for
/// causal. build() throws
/// InvalidArgument for examples that are no sequences, for a size below 1 and a stride below 0, and
/// where no window fits.
class Pool1D : public Layer {
 public:
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;

 protected:
  /// `code` is MAX_POOL_2D or AVERAGE_POOL_2D.
  Pool1D(OpCode code, Pool1DOptions options);
  /// One window over all steps.
  Pool1D(OpCode code, std::string name);
  /// What describe() wrote for windows.
  static Pool1DOptions options_in(const Description& description);

 private:
  /// The window over sequences of so many steps.
  Pool1DOptions window_over(Index steps) const;

  OpCode code_;
  Pool1DOptions options_;
  bool over_all_ = false;
};

/// The largest value of each window: MaxPool1D(2), MaxPool1D({.size = 3, .stride = 2}).
class MaxPool1D : public Pool1D {
 public:
  static constexpr std::string_view kType = "MaxPool1D";
  static std::unique_ptr<Layer> make(const Description& d) {
    return std::make_unique<MaxPool1D>(options_in(d));
  }
  explicit MaxPool1D(Pool1DOptions options = {})
      : Pool1D(OpCode::max_pool_2d, std::move(options)) {}
  /// A template, so that {} are options.
  template <std::integral Size>
  explicit MaxPool1D(Size size) : MaxPool1D(Pool1DOptions{.size = static_cast<Index>(size)}) {}
  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<MaxPool1D>(*this); }
};

/// The mean of each window; options as those of MaxPool1D. Quantized, it is the mean of the
/// quantized values, rounded to an integer, ties away from 0.
class AveragePool1D : public Pool1D {
 public:
  static constexpr std::string_view kType = "AveragePool1D";
  static std::unique_ptr<Layer> make(const Description& d) {
    return std::make_unique<AveragePool1D>(options_in(d));
  }
  explicit AveragePool1D(Pool1DOptions options = {})
      : Pool1D(OpCode::average_pool_2d, std::move(options)) {}
  /// A template, so that {} are options.
  template <std::integral Size>
  explicit AveragePool1D(Size size)
      : AveragePool1D(Pool1DOptions{.size = static_cast<Index>(size)}) {}
  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<AveragePool1D>(*this); }
};

/// The largest value of each channel over all steps, as [channels].
class GlobalMaxPool1D : public Pool1D {
 public:
  static constexpr std::string_view kType = "GlobalMaxPool1D";
  static std::unique_ptr<Layer> make(const Description& /*d*/) {
    return std::make_unique<GlobalMaxPool1D>();
  }
  explicit GlobalMaxPool1D(std::string name = "") : Pool1D(OpCode::max_pool_2d, std::move(name)) {}
  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<GlobalMaxPool1D>(*this); }
};

/// The mean of each channel over all steps, as [channels].
class GlobalAveragePool1D : public Pool1D {
 public:
  static constexpr std::string_view kType = "GlobalAveragePool1D";
  static std::unique_ptr<Layer> make(const Description& /*d*/) {
    return std::make_unique<GlobalAveragePool1D>();
  }
  explicit GlobalAveragePool1D(std::string name = "")
      : Pool1D(OpCode::average_pool_2d, std::move(name)) {}
  std::string_view type() const override { return kType; }
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<GlobalAveragePool1D>(*this);
  }
};

}  // namespace octet
