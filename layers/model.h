#pragma once

#include <octet/layers/input.h>
#include <octet/layers/layer.h>
#include <octet/layers/layer_chain.h>

#include <concepts>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace octet {

class Archive;
struct Program;

/// How much summary() shows.
enum class Detail { layers, quantization };

/// The result of one layer of a Model: what another layer reads.
class Value {
 public:
  Value() = default;

 private:
  friend class Model;
  Value(std::shared_ptr<const int> owner, std::size_t node)
      : owner_(std::move(owner)), node_(node) {}

  /// Identifies the model, so that a value of another one is noticed.
  std::shared_ptr<const int> owner_;
  std::size_t node_ = 0;
};

/// A network as a graph of layers. A layer reads the results of layers that were added before it,
/// so that the order of adding is an order of computing.
///
///     Model model("residual");
///     Value x = model.input({784});
///     x = model.add(Dense(256, Activation::relu), x);
///     const Value branch = model.add(Dense(256), x);
///     x = model.add(Add(Activation::relu), {x, branch});
///     model.output(model.add(Dense(10, Activation::softmax), x));
///     model.build(/*seed=*/0);
///
/// Sequential is the model in which each layer reads the one before it.
class Model {
 public:
  explicit Model(std::string name = "model") : name_(std::move(name)) {}
  /// A copy shares nothing with the original.
  Model(const Model& other);
  Model& operator=(const Model& other);
  Model(Model&&) noexcept = default;
  /// A model that is moved to itself stays as it is.
  Model& operator=(Model&& other) noexcept;
  virtual ~Model() = default;

  const std::string& name() const { return name_; }

  /// Adds an input whose examples have this shape, without the batch axis. Inputs are numbered in
  /// the order in which they are added.
  Value input(Shape example_shape, std::string name = "");
  /// Adds a layer that reads `inputs`. Throws InvalidArgument for a name that is taken and for a
  /// value of another model.
  template <std::derived_from<Layer> L>
  Value add(L layer, const Value& input) {
    return add(std::unique_ptr<Layer>(std::make_unique<L>(std::move(layer))), {input});
  }
  template <std::derived_from<Layer> L>
  Value add(L layer, const std::vector<Value>& inputs) {
    return add(std::unique_ptr<Layer>(std::make_unique<L>(std::move(layer))), inputs);
  }
  Value add(std::unique_ptr<Layer> layer, const std::vector<Value>& inputs);
  /// Adds a layer whose inputs are built, and builds it unless it is: with a stream of its own of
  /// seed 0. For passes that copy a model layer by layer, weights included.
  Value add_built(std::unique_ptr<Layer> layer, const std::vector<Value>& inputs);
  /// Adds the layers of a chain, of which the first reads `input`; returns the result of the last.
  Value add(LayerChain chain, const Value& input);
  /// The result of the layer that gave `of`, for other inputs of the same shapes: one layer, whose
  /// parameters both uses train, as a Keras layer that is called twice. Throws InvalidArgument for
  /// an input of the model, and as add().
  Value reuse(const Value& of, const std::vector<Value>& inputs);
  /// The `parts` equal parts of a value along an axis of its examples, in their order: a SplitPart
  /// for each, named `name` and the part's number, e.g. "gates_0". 0 is the first axis after the
  /// batch; a negative one counts from the end. In files, up to 16 parts are one SPLIT. Throws
  /// InvalidArgument for fewer than one part, and as add(); build() throws it for an extent that is
  /// no multiple of `parts`.
  std::vector<Value> split(const Value& x, Index parts, Index axis = -1,
                           const std::string& name = "");
  /// Makes a value the model's next output. Throws InvalidArgument for one that already is an
  /// output.
  void output(const Value& value);

  /// Makes all tensors; every layer draws from its own stream of `seed`. A second call starts anew.
  /// Throws InvalidArgument for a model without inputs or outputs, or with a layer whose result is
  /// neither read nor an output, and where a layer does not take its inputs' shapes.
  void build(std::uint64_t seed = 0);
  bool built() const;

  /// The layers in the order in which they run, inputs among them.
  const std::vector<std::unique_ptr<Layer>>& layers() const { return layers_; }
  /// The layer of that name. Throws InvalidArgument where there is none.
  Layer& layer(std::string_view name) const;
  /// The layer of that name, even if it became part of another layer: in a model of
  /// quantize_model(), finds the layers of the float model by their names.
  Layer& part(std::string_view name) const;
  /// Positions in layers(): what layer `i` reads, which layers read it, and the model's inputs and
  /// outputs. `i` must be below layers().size().
  const std::vector<std::size_t>& inputs_of(std::size_t i) const { return edges_[i]; }
  std::vector<std::size_t> readers(std::size_t i) const;
  std::vector<std::size_t> input_layers() const;
  const std::vector<std::size_t>& output_layers() const { return outputs_; }
  bool is_output(std::size_t i) const;
  /// The position of the layer that layer `i` uses once more, see reuse(); `i` for any other.
  std::size_t used_layer(std::size_t i) const;
  /// Whether layer `i` is used by another position.
  bool is_reused(std::size_t i) const;
  /// The result of layer `i` as a Value.
  Value value(std::size_t i) const { return {owner_, i}; }

  /// Shapes without the batch axis, of the only input and output. Throw InvalidArgument for a model
  /// of several.
  const Shape& input_shape() const;
  const Shape& output_shape() const;

  /// Called with a layer's position and the results of its operators, the layer's result last.
  using Visit = std::function<void(std::size_t layer, const std::vector<Tensor>& steps)>;
  /// The outputs for one tensor per input, each [batch, input_shape...]; `visit`, where given, is
  /// called after every layer. Inference changes nothing: several threads may run one model. Throws
  /// InvalidArgument before build(), for another number of inputs and for shapes that the inputs do
  /// not have.
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs, const Visit& visit = {}) const {
    return run(inputs, {}, visit);
  }
  /// Throws InvalidArgument, naming `operation`, before build().
  void require_built(std::string_view operation) const;
  /// Throws InvalidArgument, naming `operation`, unless there is one tensor for each input and all
  /// are batches of one size.
  void require_inputs(std::string_view operation, std::span<const Tensor> inputs) const;
  /// Computes the output of a model of one input and one output.
  Tensor forward(const Tensor& x) const { return run_one("forward", x, {}); }
  /// Computes the output without a final softmax: the logits that softmax_cross_entropy() takes.
  Tensor forward_logits(const Tensor& x) const {
    return run_one("forward_logits", x, {.logits = true});
  }
  /// Runs forward_all() without the softmax that ends an output: what losses take.
  std::vector<Tensor> forward_all_logits(std::span<const Tensor> inputs) const {
    return run(inputs, {.logits = true}, {});
  }
  /// Computes all outputs as `context` says. Training and calibration change ranges: quantizers
  /// observe.
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs, const ForwardContext& context,
                                  const Visit& visit = {}) {
    return run(inputs, context, visit);
  }
  /// @overload
  Tensor forward(const Tensor& x, const ForwardContext& context) {
    return run_one("forward", x, context);
  }
  /// @overload
  Tensor forward_logits(const Tensor& x, ForwardContext context) {
    context.logits = true;
    return run_one("forward_logits", x, context);
  }
  /// Whether the only output is a softmax's.
  bool ends_in_softmax() const;

  /// All tensors of all layers, named "layer/tensor".
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> state() const;
  std::vector<NamedTensor> counters() const;
  void zero_grad() const;

  /// A table as Keras prints it; if the model is not a chain, with a column of the layers that each
  /// one reads. Frozen parameters count as non-trainable. With Detail::quantization, each state
  /// value follows its layer. Throws InvalidArgument before build().
  std::string summary(Detail detail = Detail::layers) const;

  /// Writes parameters, state, counters and architecture_json() into one file, from which
  /// load_model() makes the model: to a temporary file, which is then renamed. Throws
  /// InvalidArgument, naming the layer, where the model cannot be described or two tensors share a
  /// name; IoError.
  void save(const std::filesystem::path& path) const;
  /// Writes the same without the architecture, for load() into a model that a program has made.
  void save_tensors(const std::filesystem::path& path) const;
  /// Throws IoError, or FormatError where the file is broken or its names or shapes differ; the
  /// model is then unchanged.
  void load(const std::filesystem::path& path);

  /// What save() writes, "layer/tensor".
  std::vector<NamedTensor> saved_tensors() const;
  /// The part of load() after reading.
  void restore(const Archive& archive);

  /// Whether each layer reads the one before it, the first is the only input and the last the only
  /// output.
  bool is_chain() const;

  /// The operators of all layers, in the order in which they run. Valid until a layer or an
  /// output is added, or build() is called. Throws InvalidArgument before build().
  const Program& program() const;

  /// The shapes that layer `i` is built with, once the layers in front of it are.
  std::vector<Shape> shapes_read_by(std::size_t i) const;
  /// Throws what build() throws for the graph itself.
  void check_graph() const;

 protected:
  /// Adds a layer that reads those at `inputs`; see add().
  std::size_t add_node(std::unique_ptr<Layer> layer, std::vector<std::size_t> inputs);
  void set_outputs(std::vector<std::size_t> outputs) {
    outputs_ = std::move(outputs);
    compiled_ = nullptr;
  }
  /// The word that errors use for the class.
  virtual std::string_view kind() const { return "Model"; }

 private:
  std::vector<NamedTensor> gather(std::vector<NamedTensor> (Layer::*list)() const) const;
  void join(Layer& layer) const;
  std::string automatic_name(std::string_view type) const;
  std::size_t node_of(const Value& value) const;
  std::vector<Tensor> run(std::span<const Tensor> inputs, const ForwardContext& context,
                          const Visit& visit) const;
  Tensor run_one(std::string_view operation, const Tensor& x, const ForwardContext& context) const;
  Archive archived_tensors(std::string_view operation) const;
  void require_one_end(std::string_view operation) const;
  std::vector<std::size_t> last_readers() const;
  std::string layer_rows(std::size_t i, Detail detail) const;

  std::string name_;
  std::shared_ptr<const int> owner_ = std::make_shared<const int>(0);
  std::vector<std::unique_ptr<Layer>> layers_;
  /// By layer: the layers that it reads, all before it.
  std::vector<std::vector<std::size_t>> edges_;
  std::vector<std::size_t> outputs_;
  struct Compiled;
  std::shared_ptr<const Compiled> compiled() const;
  /// Made when it is first asked for, null until then.
  mutable std::shared_ptr<const Compiled> compiled_;
};

}  // namespace octet
