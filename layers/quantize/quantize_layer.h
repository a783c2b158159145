#pragma once

#include <octet/layers/quantize/quantize_config.h>

namespace octet {

/// Quantizes a model's input, or what a quantized layer reads of layers that are left in float, or
/// that have another scale than it needs. State: min, max, zero_point. The range of an input is
/// found as QuantizeOptions::input_calibration says, that of other values as `calibration` does.
class QuantizeLayer : public Layer {
 public:
  static constexpr std::string_view kType = "QuantizeLayer";

  explicit QuantizeLayer(const QuantizeOptions& options = {}, std::string name = "");
  QuantizeLayer(std::unique_ptr<Quantizer> quantizer, const QuantizeOptions& options,
                std::string name = "");
  QuantizeLayer(const QuantizeLayer& other);
  static std::unique_ptr<Layer> make(const Description& description);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override { return quantizer_->tensors(); }
  std::optional<LayerQuantizers> quantized_by() const override {
    return LayerQuantizers{.all = {quantizer_.get()}, .result = quantizer_.get()};
  }
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

  const Quantizer& quantizer() const { return *quantizer_; }
  const QuantizeOptions& options() const { return options_; }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  std::unique_ptr<Quantizer> quantizer_;
  QuantizeOptions options_;
};

}  // namespace octet
