#pragma once

#include <octet/core/autograd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octet::detail {

/// A result off the tape, and the version of its data when the op ran.
struct SavedResult {
  Tensor values;
  std::uint64_t version;
};

/// One op on the tape: what it was made from and how gradients flow back through it.
struct Node {
  std::string operation;
  std::vector<Tensor> inputs;
  BackwardFn backward;
  /// The versions of the inputs' data when the op ran, if `backward` reads them; else empty.
  std::vector<std::uint64_t> input_versions;
  /// The result, if `backward` reads it.
  std::optional<SavedResult> result;
  /// Nodes are numbered as they are made: later ones depend only on earlier ones.
  std::uint64_t sequence = 0;
  /// Whose op it is, for a Profile; empty where none is made.
  std::string owner;
  bool freed = false;

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();
};

}  // namespace octet::detail
