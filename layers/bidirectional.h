#pragma once

#include <octet/layers/recurrent.h>

#include <concepts>
#include <memory>

namespace octet {

/// How Bidirectional puts the results of both directions together.
enum class MergeMode { concat, sum, mul, ave };

/// "concat", "sum", "mul" or "ave".
std::string_view to_string(MergeMode mode);
/// Throws InvalidArgument for another text.
MergeMode parse_merge_mode(std::string_view text);

struct BidirectionalOptions {
  MergeMode merge_mode = MergeMode::concat;
  std::string name{};
};

/// Two recurrent layers over sequences [steps, features], as in Keras: one goes from the first step
/// to the last, a copy of it with weights of its own from the last to the first. With
/// return_sequences the result holds, for every step, what both give behind it; else what both give
/// behind their last.
///
///     model.add(Bidirectional(GRU(16, {.return_sequences = true})), x);   // [steps, 32]
///
/// Parameters: those of the layer, "forward_kernel", "backward_kernel" and so on. Quantized, the
/// results that concat joins share one scale. build() throws InvalidArgument for other examples.
class Bidirectional : public Layer {
 public:
  static constexpr std::string_view kType = "Bidirectional";
  static std::unique_ptr<Layer> make(const Description& description);

  template <std::derived_from<Recurrent> L>
  explicit Bidirectional(L layer, BidirectionalOptions options = {})
      : Bidirectional(std::make_unique<L>(std::move(layer)), std::move(options)) {}
  /// Throws InvalidArgument for null, and for a layer that goes backwards by itself.
  explicit Bidirectional(std::unique_ptr<Recurrent> layer, BidirectionalOptions options = {});
  Bidirectional(const Bidirectional& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Bidirectional>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  MergeMode merge_mode_;
  std::unique_ptr<Recurrent> forward_;
  std::unique_ptr<Recurrent> backward_;
};

}  // namespace octet
