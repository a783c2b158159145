#pragma once

#include <octet/layers/layer.h>

namespace octet {

struct TensorFunction;

/// Drops whole channels, for a layer that drops inside of itself: a channel of an example [..,
/// channels] that is set to 0 is so in all of its rows; the others are multiplied as by Dropout.
TensorFunction drop_channels(float rate);

/// While training, sets each value to 0 with probability `rate` and multiplies the others by
/// 1 / (1 - rate); passes everything on unchanged otherwise. (Srivastava et al., JMLR 2014.)
class Dropout : public Layer {
 public:
  static constexpr std::string_view kType = "Dropout";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit Dropout(float rate, std::string name = "");

  std::string_view type() const override { return kType; }
  float rate() const { return rate_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  /// What is dropped as one: a value, or a channel of an example.
  enum class Unit { value, channel };
  Dropout(float rate, Unit unit, std::string name);

 private:
  float rate_;
  Unit unit_ = Unit::value;
};

/// Dropout of whole channels of sequences [steps, channels]: what is set to 0 is so at all steps.
/// (Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015; as in Keras.)
/// build() throws InvalidArgument for other examples.
class SpatialDropout1D : public Dropout {
 public:
  static constexpr std::string_view kType = "SpatialDropout1D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit SpatialDropout1D(float rate, std::string name = "")
      : Dropout(rate, Unit::channel, std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<SpatialDropout1D>(*this);
  }
};

/// Dropout of whole channels of images [height, width, channels]: what is set to 0 is so in all
/// pixels. (Tompson et al., 2015; as in Keras.) build() throws InvalidArgument for other examples.
class SpatialDropout2D : public Dropout {
 public:
  static constexpr std::string_view kType = "SpatialDropout2D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit SpatialDropout2D(float rate, std::string name = "")
      : Dropout(rate, Unit::channel, std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<SpatialDropout2D>(*this);
  }
};

}  // namespace octet
