#pragma once

#include <octet/layers/layer.h>

// Layers that make sequences [steps, channels] longer.

namespace octet {

/// Zeros in front of and behind sequences: [steps, channels] to [begin + steps + end, channels], as
/// in Keras. Quantized, its result has the scale and the zero point of what it reads. build()
/// throws InvalidArgument for examples that are no sequences and for a negative padding.
class ZeroPadding1D : public Layer {
 public:
  static constexpr std::string_view kType = "ZeroPadding1D";
  static std::unique_ptr<Layer> make(const Description& description);

  ZeroPadding1D(Index begin, Index end, std::string name = "")
      : Layer(std::move(name)), begin_(begin), end_(end) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<ZeroPadding1D>(*this); }

 private:
  Index begin_;
  Index end_;
};

/// Repeats each step of sequences: [steps, channels] to [steps * factor, channels], as in Keras.
/// Quantized, its result has the scale and the zero point of what it reads. build() throws
/// InvalidArgument for examples that are no sequences and for a factor below 1.
class UpSampling1D : public Layer {
 public:
  static constexpr std::string_view kType = "UpSampling1D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit UpSampling1D(Index factor = 2, std::string name = "")
      : Layer(std::move(name)), factor_(factor) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<UpSampling1D>(*this); }

 private:
  Index factor_;
};

/// Repeats a vector at every step: examples [features] become sequences [steps, features], as in
/// Keras. Quantized, its result has the scale and the zero point of what it reads. build() throws
/// InvalidArgument for examples of another rank.
class RepeatVector : public Layer {
 public:
  static constexpr std::string_view kType = "RepeatVector";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for less than 1 step.
  explicit RepeatVector(Index steps, std::string name = "");

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<RepeatVector>(*this); }

 private:
  Index steps_;
};

}  // namespace octet
