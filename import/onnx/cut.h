#pragma once

#include <octet/import/import_options.h>
#include <octet/import/onnx/graph.h>

// The part of a graph that a user asks for.

namespace octet::detail::onnx_import {

/// Leaves of the graph what lies between `from` and `to`, and gives its inputs their shapes. Throws
/// InvalidArgument for names that the graph does not have, and shapes that its own contradict.
void cut(Graph& graph, ImportOptions options);

/// The values that the nodes in front of those called `refused` give, for these or as results; none
/// where there are more than a few, or none.
std::vector<std::string> ends_in_front_of(const Graph& graph, const std::set<std::string>& refused);

/// "; --to a imports ...".
std::string proposal(const std::vector<std::string>& ends);

}  // namespace octet::detail::onnx_import
