#pragma once

#include <octet/core/ops/conv2d.h>
#include <octet/core/quant/rounding.h>
#include <octet/core/random.h>
#include <octet/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

class Description;
class GradientAngles;
class Graph;
class Layer;
class QuantizeConfig;
class Quantizer;
enum class Activation;
enum class FusedActivation;

/// A tensor under the name that it has in its layer, e.g. "kernel" or "kernel_min".
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// The tensors of a layer, or of a part of one.
struct LayerTensors {
  /// What an optimizer may change.
  std::vector<NamedTensor> parameters{};
  /// What is saved, loaded and printed, but never optimized.
  std::vector<NamedTensor> state{};
  /// Numbers that a run needs to continue but that are no state of the model: saved in
  /// checkpoints, not counted.
  std::vector<NamedTensor> counters{};
  /// The layers inside that hold some of these, so that each can be frozen by itself, behind those
  /// inside of them: see Model::part().
  std::vector<Layer*> parts{};

  /// Appends each list of `more` to that of this one.
  void append(const LayerTensors& more);
};

/// A value of a Graph: an input or a result of a layer, see Layer::emit().
struct GraphValue {
  std::size_t index = 0;
};

/// How the gradients of layers with weights are computed where they train on integers: from
/// products of floats, or of int8 with int32 sums, for which gradients are rounded
/// (docs/backward.md): to nearest, or with int8_stochastic up or down at random, so that the mean
/// over all random numbers is what was rounded.
enum class Backward { float32, int8, int8_stochastic };

/// What a forward pass needs to know beyond its inputs.
struct ForwardContext {
  /// Inference changes nothing. While training, Dropout drops and quantizers observe; calibration
  /// only observes.
  enum class Mode { inference, training, calibration };
  Mode mode = Mode::inference;
  /// Random stream of this step, for layers such as Dropout and for Backward::int8_stochastic.
  Random random{};
  /// Skips a final softmax, so that the result is the logits that losses expect, and attaches its
  /// logits to the result of a final sigmoid: see apply_activation(). A model sets it for an
  /// output, unless another layer reads it.
  bool logits = false;
  Backward backward = Backward::float32;
  /// Collects the angles between gradients on int8 and in floats, unless null; must outlive the
  /// backward pass.
  GradientAngles* angles = nullptr;

  bool training() const { return mode == Mode::training; }
  bool observes() const { return mode != Mode::inference; }
};

/// What quantization needs to know about a layer that multiplies its input by a kernel. Integer
/// training and export support two layouts: a kernel [inputs, units] for examples [.., inputs],
/// which is FULLY_CONNECTED, and that of `convolution`. A layer of another layout sets `own_layout`
/// and can be trained by Simulation::fake_quant.
struct LayerWeights {
  Tensor kernel;
  /// One value per unit; undefined without bias.
  Tensor bias;
  /// The axis of the kernel along which its units lie: where a scale per channel belongs.
  int unit_axis = 1;
  /// Set for CONV_2D: a kernel [height, width, channels / groups, units], with unit_axis 3, that
  /// slides over examples [height, width, channels], over sequences [steps, channels], which are
  /// images of height 1, or over examples [channels], images of one pixel.
  std::optional<Conv2DOptions> convolution{};
  /// Whether the convolution has as many groups as channels: DEPTHWISE_CONV_2D.
  bool depthwise = false;
  /// Whether it is a transposed convolution, of one group and without dilation: TRANSPOSE_CONV.
  bool transposed = false;
  /// Computes x, kernel and bias (undefined for none), before the activation, where the kernel has
  /// a layout of its own.
  std::function<Tensor(const Tensor& x, const Tensor& kernel, const Tensor& bias)> own_layout{};
};

/// Whether Backward::int8 has products for a layer: fully connected ones and convolutions of one
/// group, depthwise and transposed ones too.
bool has_int8_gradients(const LayerWeights& layer);

/// What quantize_model() does with one layer, where that differs from its QuantizeOptions.
struct LayerQuantization {
  std::optional<int> weight_bits{};
  std::optional<bool> per_channel{};
  /// The layer stays as it is and computes in float32, in the exported model too.
  bool in_float = false;

  bool operator==(const LayerQuantization&) const = default;
};

/// What quantizes a layer.
struct LayerQuantizers {
  /// All of its quantizers, which keep its ranges.
  std::vector<Quantizer*> all{};
  /// The quantizer of weights().kernel; null if there is none.
  Quantizer* kernel = nullptr;
  /// The quantizer of the layer's result; null where its operator gives it the scale and the zero
  /// point.
  Quantizer* result = nullptr;
  /// The rounding mode of its operators; none where it rescales nothing.
  std::optional<Rounding> contract{};
};

/// One layer of a network.
///
/// A layer of your own derives from this class and overrides type(), clone() and emit(), which says
/// the operators that it computes: with these it trains, is quantized and is exported. It makes its
/// tensors in make_tensors() and lists them in tensors(). A layer that operators cannot express
/// overrides forward_all() instead, and result_shape(), and stays in float. To be saved it
/// overrides describe() and is registered with register_layer(). examples/custom_layer.cpp is such
/// a program.
class Layer {
 public:
  /// An empty name is replaced by an automatic one when the layer joins a model.
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;

  /// The class's name as summary() shows it and files hold it, e.g. "Dense".
  virtual std::string_view type() const = 0;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  /// Makes parameters and state for inputs of these shapes (without the batch axis), drawing
  /// initial values from `random`. Throws InvalidArgument for shapes the layer cannot take.
  void build_all(std::span<const Shape> input_shapes, const Random& random);
  void build(const Shape& input_shape, const Random& random) {
    build_all({&input_shape, 1}, random);
  }
  bool built() const { return built_; }

  /// Shapes without the batch axis. input_shape() and output_shape() throw InvalidArgument before
  /// build_all() has come to its end: emit() has Graph::shape().
  const std::vector<Shape>& input_shapes() const { return input_shapes_; }
  const Shape& input_shape() const;
  const Shape& output_shape() const;

  /// Says which operators the layer computes: returns its result, made of `inputs` by the functions
  /// of `graph`, and behind it what other layers may ask for by Graph::beside(). A model calls it
  /// when it is built, quantized or loaded, not for each batch; a layer that is in no model calls
  /// it for each batch. By default Graph::linear() where the layer has weights(), and else one step
  /// that computes forward_all(), for which files have no operator.
  virtual std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const;

  /// The result [batch, output_shape...] of the inputs, each [batch, input_shape...]: by default
  /// what the operators of emit() compute. Throws InvalidArgument for inputs of another number or
  /// shape than the layer was built for.
  virtual Tensor forward_all(std::span<const Tensor> inputs, const ForwardContext& context);
  Tensor forward(const Tensor& x, const ForwardContext& context) {
    return forward_all({&x, 1}, context);
  }
  /// forward() without a final softmax.
  Tensor forward_logits(const Tensor& x, ForwardContext context) {
    context.logits = true;
    return forward(x, context);
  }

  /// The function that ends the layer; Activation::none (0) where there is none.
  Activation activation() const { return activation_; }
  bool ends_in_softmax() const;
  /// Whether end_in() takes `activation`: a clamp, of a layer that can end in one and in no
  /// function yet.
  bool can_end_in(Activation activation) const;
  /// Makes `activation` the function that ends the layer and its parts that can end in it. For a
  /// layer that is in no model yet. Throws InvalidArgument unless can_end_in().
  void end_in(Activation activation);

  /// The tensors that make_tensors() made, each in one of the lists; none by default.
  virtual LayerTensors tensors() const { return {}; }
  std::vector<NamedTensor> parameters() const { return tensors().parameters; }
  std::vector<NamedTensor> state() const { return tensors().state; }
  std::vector<NamedTensor> counters() const { return tensors().counters; }

  /// Whether optimizers change all of the parameters; true of a layer without. Freezing a layer
  /// neither needs nor computes gradients for them; files do not hold it. set_trainable() throws
  /// InvalidArgument before the layer is built.
  bool trainable() const;
  void set_trainable(bool value);

  /// The kernel and the bias; none for a layer without a kernel.
  virtual std::optional<LayerWeights> weights() const { return std::nullopt; }
  /// The layer before its activation, computed with `kernel` and `bias` (undefined for none) in
  /// place of those of weights(). Throws InvalidArgument for a layer without a kernel.
  Tensor linear(const Tensor& x, const Tensor& kernel, const Tensor& bias) const;

  /// Tells a layer that is being quantized the rounding mode, before its operators are asked for:
  /// for one that computes other operators then.
  virtual void quantize_for(Rounding /*rounding*/) {}

  /// What quantizes the layer, which came from quantize_model() or quantize_apply(); none for a
  /// layer in float.
  virtual std::optional<LayerQuantizers> quantized_by() const;
  bool is_quantized() const;
  /// The parts of quantized_by(): nothing for a layer in float.
  std::optional<Rounding> contract() const;
  std::vector<Quantizer*> quantizers() const;
  Quantizer* kernel_quantizer() const;
  Quantizer* result_quantizer() const;

  /// Writes the options from which the factory given to register_layer() makes the layer again,
  /// without its name and its tensors. The entries "type", "name", "annotated", "inputs",
  /// "weight_bits", "per_channel" and "in_float" are the file's.
  virtual void describe(Description& description) const;
  /// A copy that shares nothing with this layer.
  virtual std::unique_ptr<Layer> clone() const = 0;

  /// Marks the layer for quantize_apply(), as quantize_annotate_layer() does, to be quantized as
  /// `config` says (null: the default scheme).
  void annotate(std::shared_ptr<const QuantizeConfig> config);
  void remove_annotation();
  bool is_annotated() const { return annotated_; }
  const std::shared_ptr<const QuantizeConfig>& annotation() const { return annotation_; }

  /// Sets how this layer is quantized if not as the others of its model: see quantized() and
  /// in_float(). Marks the layer for quantize_apply() unless it is left in float. Throws
  /// InvalidArgument for a layer that is annotated with a QuantizeConfig.
  void set_quantization(const LayerQuantization& quantization);
  const LayerQuantization& quantization() const { return quantization_; }

 protected:
  Layer(const Layer&) = default;
  Layer(Layer&&) = default;
  Layer& operator=(const Layer&) = delete;
  Layer& operator=(Layer&&) = delete;

  /// Says what activation() is, none until then: in the constructor of a layer that ends in a
  /// function. `takes_clamps`: the layer computes it where end_in() makes it another clamp, too.
  void set_activation(Activation activation, bool takes_clamps = false);

  /// Throws InvalidArgument before build_all().
  void require_built() const;
  /// Throws InvalidArgument that names the layer unless `inputs` are as many as it was built for,
  /// of the shapes [batch, input_shape...], and batches of one size.
  void require_inputs(std::span<const Tensor> inputs) const;
  /// `axis` of examples counted from the front, where a negative one counts from the end. Throws
  /// InvalidArgument that names the layer for an axis that they do not have.
  Index counted_axis(const Shape& examples, Index axis) const;

  /// Makes parameters and state for inputs of these shapes: none by default. Throws InvalidArgument
  /// for shapes that the layer cannot take.
  virtual void make_tensors(std::span<const Shape> input_shapes, const Random& random);
  /// The shape of the result, once tensors are made: by default that of what emit() returns, which
  /// has to read all inputs. A layer whose emit() is Graph::call(), or whose weights() have a
  /// layout of its own, overrides it.
  virtual Shape result_shape(std::span<const Shape> input_shapes) const;

 private:
  friend class Graph;
  std::string name_;
  Activation activation_{};
  bool takes_clamps_ = false;
  bool annotated_ = false;
  std::shared_ptr<const QuantizeConfig> annotation_;
  LayerQuantization quantization_;
  bool built_ = false;
  std::vector<Shape> input_shapes_;
  Shape output_shape_;
};

/// The number of elements of all tensors together.
Index count_elements(const std::vector<NamedTensor>& tensors);

/// Appends `more` to `list`.
void append(std::vector<NamedTensor>& list, const std::vector<NamedTensor>& more);

/// Throws InvalidArgument: clone() of `owner` returned null.
[[noreturn]] void fail_null_clone(std::string_view owner);

/// The copy that clone() makes. Throws InvalidArgument that names `owner` where that is null.
template <class T>
std::unique_ptr<T> clone_of(const T& original, std::string_view owner) {
  std::unique_ptr<T> copy = original.clone();
  if (copy == nullptr) fail_null_clone(owner);
  return copy;
}

/// The layer of this name among the parts of `layer`, the innermost first; null where none has it.
Layer* find_part(const Layer& layer, std::string_view name);

/// A copy of `source` as a leaf with the same requires_grad().
Tensor clone_leaf(const Tensor& source);

}  // namespace octet
