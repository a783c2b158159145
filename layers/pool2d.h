#pragma once

#include <octet/core/ops/pool2d.h>
#include <octet/layers/layer.h>
#include <octet/runtime/operator.h>

#include <concepts>

namespace octet {

/// What MaxPool2D and AveragePool2D have in common: a window that slides over images [h, w, c],
/// each channel on its own, to [oh, ow, c]. Padding same pads as TensorFlow does; pixels outside
/// the image count for nothing. Quantized, the result keeps the scale and zero point of the input.
/// build() throws InvalidArgument for examples that are no images, for sizes and strides below 1,
/// and where no window fits into the image.
class Pool2D : public Layer {
 public:
  const Pool2DOptions& options() const { return options_; }
  void describe(Description& description) const override;

 protected:
  Pool2D(const Pool2DOptions& options, std::string name)
      : Layer(std::move(name)), options_(options) {}
  /// AVERAGE_POOL_2D or MAX_POOL_2D.
  GraphValue pooled(Graph& graph, OpCode code, GraphValue input) const;
  /// What describe() wrote.
  static Pool2DOptions options_in(const Description& description);

 private:
  Pool2DOptions options_;
};

/// The largest value of each window, max_pool2d():
///
///     MaxPool2D({.size = {3, 3}, .stride = {2, 2}, .padding = Padding::same})
///
/// Windows lie side by side unless a stride is given.
class MaxPool2D : public Pool2D {
 public:
  static constexpr std::string_view kType = "MaxPool2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit MaxPool2D(const Pool2DOptions& options = {}, std::string name = "")
      : Pool2D(options, std::move(name)) {}
  /// Square windows: MaxPool2D(2). A template, so that {} are options.
  template <std::integral Size>
  explicit MaxPool2D(Size size, std::string name = "")
      : MaxPool2D(Pool2DOptions{.size = {static_cast<Index>(size), static_cast<Index>(size)}},
                  std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override;
};

/// The mean of each window, average_pool2d(); options as those of MaxPool2D. Quantized, it is the
/// mean of the quantized values, rounded to an integer, ties away from 0.
class AveragePool2D : public Pool2D {
 public:
  static constexpr std::string_view kType = "AveragePool2D";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit AveragePool2D(const Pool2DOptions& options = {}, std::string name = "")
      : Pool2D(options, std::move(name)) {}
  /// Square windows: AveragePool2D(2). A template, so that {} are options.
  template <std::integral Size>
  explicit AveragePool2D(Size size, std::string name = "")
      : AveragePool2D(Pool2DOptions{.size = {static_cast<Index>(size), static_cast<Index>(size)}},
                      std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override;
};

}  // namespace octet
