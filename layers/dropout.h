#pragma once

#include <octet/layers/layer.h>

namespace octet {

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

 private:
  float rate_;
};

}  // namespace octet
