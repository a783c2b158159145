#pragma once

#include <octet/core/autograd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace octet::detail {

/// One op on the tape: what it was made from and how gradients flow back through it.
struct Node {
  std::string operation;
  std::vector<Tensor> inputs;
  BackwardFn backward;
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
