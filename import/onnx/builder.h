#pragma once

#include <octet/core/ops/image_ops.h>
#include <octet/core/tensor.h>
#include <octet/core/unique_names.h>
#include <octet/import/onnx/graph.h>
#include <octet/layers/model.h>

#include <memory>

namespace octet::detail::onnx_import {

/// Where the elements of a value that was flattened come from: it was `logical` in ONNX, with axes
/// in this order in the model.
struct Flattened {
  Shape logical;
  std::vector<Index> axes;

  bool operator==(const Flattened&) const = default;
};

/// Where ONNX has the batch of a value.
struct BatchPlace {
  /// How many axes of examples are in front of it.
  Index axis = 0;
  /// Whether ONNX has the batch and the axis of examples in front of it, or behind it, as one axis,
  /// as PyTorch's attention has the heads of all examples.
  bool joins_front = false;
  bool joins_behind = false;

  bool joins() const { return joins_front || joins_behind; }
  bool operator==(const BatchPlace&) const = default;
};

/// A value of the ONNX graph as the model holds it. A transposition is another way to read the same
/// value: which of ONNX's axes each of the model's is. Only what reads the elements in that order
/// makes it a layer, see Builder::arranged(). All shapes are without the batch.
struct Imported {
  Value value;
  /// In the model.
  Shape physical;
  /// In ONNX, but for axes that it joins with the batch, which are apart here.
  Shape logical;
  /// By axis of the model: that of ONNX, or -1 for an extent of 1 that ONNX does not have. Axes of
  /// ONNX that are not named have extent 1.
  std::vector<Index> axes;
  BatchPlace batch{};
  /// How a vector was flattened from an image whose axes were in another order.
  std::optional<Flattened> flattened{};
  /// Whether no element is below 0, as behind a ReLU.
  bool not_negative = false;

  /// Whether the elements are in ONNX's order.
  bool in_order() const;
  /// By position in the model's vector: that in ONNX's. For vectors.
  std::vector<Index> order() const;
  /// The number of ONNX's axes, which of them the batch is or is part of, and their extents, for
  /// the batch batches().
  Index onnx_rank() const;
  Index onnx_batch() const;
  std::vector<std::int64_t> onnx_extents() const;
};

/// The order of images in the model, [height, width, channels], by axes of ONNX's [channels,
/// height, width]; that of sequences, [steps, channels], of [channels, steps].
inline const std::vector<Index> kImageAxes = {1, 2, 0};
inline const std::vector<Index> kSequenceAxes = {1, 0};

/// Tensors of a layer, by their names in it, that the file gives.
using Weights = std::vector<std::pair<std::string, Tensor>>;

/// Makes a model of a graph, node by node.
class Builder {
 public:
  explicit Builder(Graph& graph);

  /// The model, built, with the file's weights.
  Model build();

  /// The names of the nodes that build() has refused.
  const std::set<std::string>& refused() const { return refused_; }

  // What the functions of operators use. `node` is the node that is being imported.

  std::int64_t opset() const { return graph_.opset; }
  /// Input `i` of the node, which is computed. Throws InvalidArgument for a constant, and where the
  /// batch is not in front.
  Imported input(const Node& node, std::size_t i) const;
  /// Input `i`, wherever its batch is. Throws as input() for a constant, and where the batch is
  /// joined with another axis.
  const Imported& unjoined(const Node& node, std::size_t i) const;
  /// Input `i`, wherever its batch is, joined with other axes or not.
  const Imported& value(const Node& node, std::size_t i) const;
  /// Input `i`, which is a constant; null where it is left out. Throws InvalidArgument for a value
  /// that is computed.
  const Constant* constant(const Node& node, std::size_t i) const;
  /// Returns input `i`, a constant that has to be there. Throws InvalidArgument where it is left
  /// out or computed.
  const Constant& required_constant(const Node& node, std::size_t i) const;
  /// Whether input `i` of the node is a constant.
  bool is_constant(const Node& node, std::size_t i) const {
    return node.has(i) && graph_.constant(node.inputs[i]) != nullptr;
  }
  /// Whether a node or the graph's outputs read `value`.
  bool is_read(const std::string& value) const { return read_.contains(value); }
  /// Takes weights of which most are zeros from their budget, see Graph::fill().
  void fill(std::size_t elements) { graph_.fill(elements); }
  /// Makes a value the node's result number `i`, which is not the first. Those of which this is not
  /// said must not be read.
  void set_result(const Node& node, std::size_t i, Imported value);
  /// `x` with the batch as ONNX's axis `place`, where both are of extent 1, or joined with that
  /// axis where it is joined and of extent 1: the elements are the same. Otherwise `x` as it is.
  Imported with_batch_at(const Imported& x, Index place) const;
  /// The number of examples that the file is written for; -1 where it is open.
  Index batch() const { return batch_; }

  /// Adds a layer named after the node's weights or the node itself.
  Imported add(const Node& node, std::unique_ptr<Layer> layer, const std::vector<Imported>& inputs,
               std::vector<Index> axes, Weights weights = {});
  /// `x` with its axes in the order `axes`, by a Reshape, or a Permute where elements move. Throws
  /// InvalidArgument where these are other axes.
  Imported arranged(const Node& node, const Imported& x, const std::vector<Index>& axes);
  /// `x` with its axes in the order that layers of images (or, of rank 3, sequences) and of vectors
  /// read. Throws as arranged().
  Imported image(const Node& node, const Imported& x);
  Imported vector(const Node& node, const Imported& x);
  /// `x` with its elements in ONNX's order, where it is the flattening of an image.
  Imported ordered(const Node& node, const Imported& x);
  /// `x` as ONNX's Reshape to `logical` reads it.
  Imported reshaped(const Node& node, const Imported& x, const Shape& logical);
  /// `x` with zeros around it, which is an image, or a sequence, of which a row is the image.
  Imported padded(const Node& node, const Imported& x, const Padding2D& padding);
  /// `x` with zeros in front of and behind its axis `axis`, counted as ONNX does without the batch,
  /// which the model has.
  Imported with_zeros(const Node& node, const Imported& x, Index axis, Index front, Index behind);

 private:
  Imported transposed(const Node& node, const Imported& x, const std::vector<Index>& axes);
  void add_inputs();
  bool is_image_input(const std::string& name, const std::vector<Index>& extents) const;
  void import(const Node& node);
  void add_outputs();
  Imported as_result(const Node& node, const Imported& x);
  void set_weights();
  void report(const Node& node, std::size_t before);
  std::string unique_name(const Node& node);

  Graph& graph_;
  Model model_;
  Index batch_ = -1;
  std::map<std::string, Imported, std::less<>> values_;
  /// Names of layers.
  UniqueNames names_;
  /// What nodes read and what the graph puts out.
  std::set<std::string, std::less<>> read_;
  /// A layer with weights of the file: its position in the model, the names of the constants that
  /// its node reads, and what it is but for its name.
  struct LayerOfFile {
    std::size_t layer;
    std::vector<std::string> constants;
    std::string description;
    Weights weights;
  };
  std::vector<LayerOfFile> weights_;
  std::set<std::string> refused_;
};

/// A row of the table of operators.
struct Operator {
  std::string_view name;
  Imported (*import)(Builder& builder, const Node& node);
};

// The operators, by family: each in a file of operators/.
std::span<const Operator> activation_operators();
std::span<const Operator> arithmetic_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> dense_operators();
std::span<const Operator> merge_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> part_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> resizing_operators();
std::span<const Operator> shape_operators();

/// The operator of that name; null where Octet has none.
const Operator* find_operator(std::string_view name);

/// An axis of ONNX as one of the examples of `x`. Throws for the batch.
Index example_axis(std::int64_t axis, const Imported& x);

/// Extents of ONNX for an error: "[2 * batch, 5, -1]".
std::string written(const std::vector<std::int64_t>& extents);

/// `x` without the axes of its examples of which `is_dropped` says so.
Imported without_axes(Builder& builder, const Node& node, const Imported& x,
                      const std::vector<bool>& is_dropped);

/// `x`, whose batch is in front, with its axes in the order `axes`: another way to read it.
Imported permuted(const Imported& x, const std::vector<Index>& axes);

/// `x` with each of its axes in the model, those of extent 1 behind the others.
Imported with_all_axes(Builder& builder, const Node& node, const Imported& x);

/// The list `key` of one number per axis as height, width; `otherwise`, 0 or 1, where the node has
/// none, and for the height of sequences, which are of rank 1. Throws for lists of another length,
/// and for numbers below `otherwise` or above 2^31 - 1.
std::array<Index, 2> pair_of(const Node& node, std::string_view key, std::size_t rank,
                             Index otherwise);

/// The zeros in front of and behind height and width, from "pads". Throws as pair_of().
std::array<std::array<Index, 2>, 2> pads_of(const Node& node, std::size_t rank);

/// How a window slides over an image, from the attributes that Conv and pools share.
struct WindowOptions {
  std::array<Index, 2> strides = {1, 1};
  std::array<Index, 2> dilations = {1, 1};
  /// Whether padding is what Padding::same or Padding::valid computes, or has to be put around.
  std::optional<Padding> padding{};
  Padding2D around{};
  /// Whether windows that the image ends in count for more than those that ceil_mode leaves out.
  bool overhangs = false;
};

/// The window of `node` with a kernel of `size` on an image of height and width `image`; sequences
/// have height 1.
WindowOptions window_of(const Node& node, const std::array<Index, 2>& size,
                        const std::array<Index, 2>& image, std::size_t rank);

}  // namespace octet::detail::onnx_import
