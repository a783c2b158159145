#pragma once

#include <octet/deploy/tflite/operators.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

// Operators that TensorFlow's converter spells out by others, some of which Octet does not have.

namespace octet::detail {

/// What stands in a graph for one operator on floats:
///
///     e = EXP(x - REDUCE_MAX(x)), e / SUM(e), both along the last axis     SOFTMAX
///     RELU(x) + alpha * NEG(RELU(NEG(x)))                                  PRELU
///
/// where nothing else reads what is computed in between.
class Composites {
 public:
  Composites(const tflite::Model& file, const tflite::SubGraph& graph, Budget& budget);

  /// Whether operator `index` of the graph is a part of one.
  bool covers(std::size_t index) const { return parts_.contains(index); }
  /// The operator that all parts of one are, if `index` is the last of them; null otherwise.
  const octet::Operator* ending_at(std::size_t index) const;

 private:
  std::set<std::size_t> parts_;
  std::map<std::size_t, octet::Operator> by_last_;
};

}  // namespace octet::detail
