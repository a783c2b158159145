#pragma once

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/shape.h>
#include <octet/import/import_options.h>
#include <octet/runtime/operators/operands.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace octet::detail::onnx_import {

/// An extent or an axis that is known not to be negative, as an index of std containers.
inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// The most axes of a value, as of a tensor of a .tflite file.
inline constexpr Index kMostRank = static_cast<Index>(kMaxRank);

/// What stands for the number of examples where a graph computes with shapes; see batches().
inline constexpr std::int64_t kBatch = -(std::int64_t{1} << 62);
/// More than any number of examples is multiplied by.
inline constexpr Index kMostBatches = Index{1} << 32;

/// How many times the number of examples `extent` is; 0 for a number that is known.
inline Index batches_in(std::int64_t extent) {
  return extent >= kBatch && extent < kBatch + kMostBatches ? extent - kBatch + 1 : 0;
}

template <class... Args>
[[noreturn]] void fail_format(fmt::format_string<Args...> text, Args&&... args) {
  throw FormatError("ONNX: " + fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw InvalidArgument(fmt::format(text, std::forward<Args>(args)...));
}

/// What stands for `factor` times the number of examples.
inline std::int64_t batches(Index factor) {
  if (factor < 1 || factor > kMostBatches)
    refuse("multiplies the number of examples by {}", factor);
  return kBatch + factor - 1;
}

/// A vector in a variant. Of plain vectors alone libstdc++ 12 takes a variant to be never without a
/// value, which one whose copy has thrown is when it is destroyed.
template <class T>
struct Numbers : std::vector<T> {
  using std::vector<T>::vector;
  Numbers(std::vector<T> values) : std::vector<T>(std::move(values)) {}
};

/// Numbers that the file holds, or that follow from them: floats, or integers for shapes and axes.
struct Constant {
  Shape shape;
  std::variant<Numbers<float>, Numbers<std::int64_t>> data;

  bool is_float() const { return data.index() == 0; }
  std::size_t size() const {
    return is_float() ? std::get<0>(data).size() : std::get<1>(data).size();
  }
  /// Throw InvalidArgument for numbers of the other kind.
  const std::vector<float>& floats() const;
  const std::vector<std::int64_t>& integers() const;
  /// The value of a constant of one element.
  float real() const;
};

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, Constant>;

/// A node, its operator of ONNX's own domain.
struct Node {
  std::string op;
  std::string name;
  /// Names of values; an empty one is an operand left out.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, Attribute, std::less<>> attributes;

  bool has(std::size_t input) const { return input < inputs.size() && !inputs[input].empty(); }
  const std::string& output() const { return outputs.front(); }
  /// The attribute, or `otherwise` where there is none. Throw FormatError for another type.
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  float real(std::string_view key, float otherwise) const;
  std::string text(std::string_view key, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
};

/// Throws InvalidArgument for a shape of more than kMostRank axes: a file of one long shape could
/// give it to all its values.
void require_rank(const Shape& shape);

/// "node "name" (Op)".
std::string describe(const Node& node);

/// What `work` gives; what it throws names the node.
template <class Work>
auto in_node(const Node& node, const Work& work) {
  try {
    return work();
  } catch (const InvalidArgument& error) {
    refuse("import_onnx: {}: {}", describe(node), error.what());
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", describe(node), error.what()));
  }
}

/// An input of a graph: its extents, -1 where the file does not say.
struct GraphInput {
  std::string name;
  std::vector<Index> extents;
  /// As numpy calls it.
  std::string type = "float32";
};

/// The checked contents of a file: every value is given once, in front of what reads it.
struct Graph {
  std::string name;
  std::int64_t opset = 0;
  std::vector<Node> nodes;
  /// Copies of a graph share them.
  std::map<std::string, std::shared_ptr<const Constant>, std::less<>> constants;
  std::vector<GraphInput> inputs;
  InputLayout layout = InputLayout::of_readers;
  std::vector<std::string> outputs;
  /// Extents that the file states of values that nodes give.
  std::map<std::string, std::vector<Index>, std::less<>> extents;
  /// How many more elements may be computed of constants and copied into layers: a small file must
  /// not make a huge model.
  std::size_t budget = 0;
  /// How many of these may be one number, repeated: each may then become weights of a layer, too.
  std::size_t filled_budget = 0;
  /// Every name of a value that there is, or was.
  std::set<std::string, std::less<>> names{};
  /// Counts what became of nodes.
  ImportReport report{};

  /// The constant of that name; null where there is none.
  const Constant* constant(const std::string& value) const;
  /// Adds a constant; false where there is one of that name.
  bool define(const std::string& value, Constant constant);
  /// Returns a name for a value that the file does not have, which begins so.
  std::string new_name(std::string wanted);
  /// Defines a constant under such a name, and returns that.
  std::string add(std::string wanted, Constant constant);
  /// Takes `elements` from the budget. Throws FormatError where they are too many.
  void spend(std::size_t elements);
  /// Takes `elements` that are filled with one number from theirs.
  void fill(std::size_t elements);
};

/// The graph of a file. Without a folder, weights in external files are refused.
Graph parse(std::span<const std::uint8_t> bytes,
            const std::optional<std::filesystem::path>& folder);

/// Makes of a graph of opset 1 to 6 one of opset 7. Throws InvalidArgument, naming the node, for
/// operators that have changed in other ways than Reshape and arithmetic on unlike shapes.
void renew(Graph& graph);

/// What `node` gives for constants, where it is one of the operators that exporters compute shapes
/// and reorder weights with; nothing for any other.
std::optional<Constant> evaluate(const Node& node, const std::vector<const Constant*>& inputs,
                                 Graph& graph);

/// The axes of a node that has them as an attribute up to some opset, and as input `i` since.
std::optional<std::vector<std::int64_t>> axes_of(const Node& node, std::size_t i,
                                                 const Constant* input);

/// The values that nodes read and the graph puts out.
std::set<std::string, std::less<>> read_values(const Graph& graph);

/// Drops nodes that no result follows from.
void drop_unread(Graph& graph);

/// Makes one node of those that are one layer, as Relu6(x + 3) x / 6 is HardSwish. Nodes that
/// nothing reads any more stay.
void merge(Graph& graph);

/// Computes what follows from constants, drops what computes nothing, and makes one node of those
/// that are one layer.
void simplify(Graph& graph);

}  // namespace octet::detail::onnx_import
