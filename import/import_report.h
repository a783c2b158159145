#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace octet {

/// Counts what an importer made of the nodes of a file, as octet import prints it.
struct ImportReport {
  /// A node that became layers, or none where the model can be read another way.
  struct Made {
    std::string op;
    /// The name of the node, or of its result where it has none.
    std::string name;
    std::vector<std::string> layers;
  };
  /// All nodes of the part that was asked for.
  std::size_t nodes = 0;
  /// Nodes that compute with constants and shapes alone.
  std::size_t folded = 0;
  /// Nodes that pass their input on, as Identity does.
  std::size_t passed_on = 0;
  /// Transpositions, and those of them that became no layer.
  std::size_t transposes = 0;
  std::size_t transposes_removed = 0;
  /// The other nodes, those apart that became a part of another's layer.
  std::vector<Made> made;
};

}  // namespace octet
