#pragma once

#include <octet/core/autograd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::detail {

/// A result off the tape, and the version of its data when the op ran.
struct SavedResult {
  Tensor values;
  std::uint64_t version;
};

/// Adds the gradient of an op's only input, given that of its result, to a sum of the input's
/// shape that nobody else holds.
using AddGradient = std::function<void(const Tensor& grad_output, Tensor& sum)>;

/// Puts `result` on the tape as record() does, for an op that reads a part of x and no values
/// backwards: a gradient as large as x for each of many parts would take a time that grows with the
/// square of their number.
Tensor record_part(std::string_view operation, Tensor result, const Tensor& x, AddGradient add);

/// One op on the tape: what it was made from and how gradients flow back through it.
struct Node {
  std::string operation;
  std::vector<Tensor> inputs;
  /// One of both.
  BackwardFn backward;
  AddGradient add_gradient;
  /// The versions of the inputs' data when the op ran, if `backward` reads them; else empty.
  std::vector<std::uint64_t> input_versions;
  /// The result, if `backward` reads it.
  std::optional<SavedResult> result;
  /// Nodes are numbered as they are made: later ones depend only on earlier ones.
  std::uint64_t sequence = 0;
  /// The last backward pass that has found the node, and its place there.
  std::uint64_t pass = 0;
  std::size_t position = 0;
  /// Whose op it is, for a Profile; empty where none is made.
  std::string owner;
  bool freed = false;

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();
};

}  // namespace octet::detail
