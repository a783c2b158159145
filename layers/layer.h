#pragma once

#include <octet/core/random.h>
#include <octet/core/tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

class Quantizer;

/// A tensor under the name that it has in its layer, e.g. "kernel" or "kernel_min".
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// What a forward pass needs to know beyond its input.
struct ForwardContext {
  /// Inference changes nothing. While training, Dropout drops and quantizers observe; calibration
  /// only observes.
  enum class Mode { inference, training, calibration };
  Mode mode = Mode::inference;
  /// Where random layers draw from: a stream of this very step.
  Random random{};

  bool training() const { return mode == Mode::training; }
  bool observes() const { return mode != Mode::inference; }
};

/// One layer of a network. `parameters()` are what an optimizer may change, `state()` is what is
/// saved, loaded and printed but never optimized; no tensor is in both.
class Layer {
 public:
  /// An empty name is replaced by an automatic one when the layer joins a model.
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;

  /// The class's name as summary() shows it, e.g. "Dense".
  virtual std::string_view type() const = 0;

  const std::string& name() const { return name_; }
  virtual void set_name(std::string name) { name_ = std::move(name); }

  /// Makes parameters and state for inputs of `input_shape` (without the batch axis), drawing
  /// initial values from `random`. Throws InvalidArgument for a shape the layer cannot take.
  void build(const Shape& input_shape, const Random& random);
  bool built() const { return built_; }

  /// Shapes without the batch axis. Valid once built.
  const Shape& input_shape() const { return input_shape_; }
  const Shape& output_shape() const { return output_shape_; }

  /// x is [batch, input_shape...]; the result is [batch, output_shape...].
  virtual Tensor forward(const Tensor& x, const ForwardContext& context) = 0;

  /// The same without a final softmax: what softmax_cross_entropy() takes. Equal to forward() for
  /// a layer that ends in none.
  virtual Tensor forward_logits(const Tensor& x, const ForwardContext& context) {
    return forward(x, context);
  }
  virtual bool ends_in_softmax() const { return false; }

  virtual std::vector<NamedTensor> parameters() const { return {}; }
  virtual std::vector<NamedTensor> state() const { return {}; }
  /// Numbers that a run needs to continue but that are no state of the model: saved in
  /// checkpoints, not counted.
  virtual std::vector<NamedTensor> counters() const { return {}; }
  /// What keeps the ranges of a quantized layer; none for any other.
  virtual std::vector<Quantizer*> quantizers() const { return {}; }

  /// A copy that shares nothing with this layer.
  virtual std::unique_ptr<Layer> clone() const = 0;

 protected:
  Layer(const Layer&) = default;
  Layer(Layer&&) = default;
  Layer& operator=(const Layer&) = delete;
  Layer& operator=(Layer&&) = delete;

  /// Makes the tensors; returns the output shape.
  virtual Shape do_build(const Shape& input_shape, const Random& random) = 0;

 private:
  std::string name_;
  bool built_ = false;
  Shape input_shape_;
  Shape output_shape_;
};

/// The number of elements of all tensors together.
Index count_elements(const std::vector<NamedTensor>& tensors);

/// Puts `more` behind `list`.
void append(std::vector<NamedTensor>& list, const std::vector<NamedTensor>& more);

/// A copy of `source` that is a leaf with the same wish for gradients.
Tensor clone_leaf(const Tensor& source);

}  // namespace octet
