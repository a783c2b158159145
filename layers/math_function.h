#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// Functions of one value, by the name of their operator: e^x, the natural logarithm, and the
/// square root.
enum class UnaryFunction { exp, log, sqrt };

/// y = f(x), element by element. The gradients of log and sqrt are 0 at 0, where they are infinite.
/// On int8, f is a table of what LiteRT computes: log gives the lowest quantized value at 0 and
/// below, and sqrt drops fractions. The input of a sqrt has to have the zero point -128, as values
/// behind a ReLU have, because a value below 0 ends a run there. TFLite Micro has these operators
/// in float alone; the C source runs them.
class MathFunction : public Layer {
 public:
  static constexpr std::string_view kType = "MathFunction";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit MathFunction(UnaryFunction function, std::string name = "")
      : Layer(std::move(name)), function_(function) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<MathFunction>(*this); }

 private:
  UnaryFunction function_;
};

}  // namespace octet
