#include <octet/core/file.h>
#include <octet/import/onnx/builder.h>
#include <octet/import/onnx/cut.h>
#include <octet/import/onnx/import_onnx.h>

namespace octet {
namespace {

namespace onnx = detail::onnx_import;

/// Writes the names of the nodes at fault to `refused` where the graph cannot be imported.
Model import_graph(onnx::Graph graph, const ImportOptions& options,
                   std::set<std::string>& refused) {
  onnx::cut(graph, options);
  graph.report.nodes = graph.nodes.size();
  onnx::simplify(graph);
  onnx::Builder builder(graph);
  try {
    Model model = builder.build();
    if (options.report != nullptr) *options.report = std::move(graph.report);
    return model;
  } catch (const InvalidArgument&) {
    refused.insert(builder.refused().begin(), builder.refused().end());
    throw;
  }
}

/// The `to` that leaves out what cannot be imported at the end of the file, by trying; none where
/// there is no such.
std::vector<std::string> proposed_ends(const onnx::Graph& whole, ImportOptions options,
                                       std::set<std::string> refused) {
  constexpr int kMostTries = 8;
  options.report = nullptr;
  for (int i = 0; i < kMostTries; ++i) {
    onnx::Graph graph = whole;
    onnx::cut(graph, options);
    const std::vector<std::string> ends = onnx::ends_in_front_of(graph, refused);
    if (ends.empty()) return {};
    const std::size_t before = refused.size();
    try {
      options.to = ends;
      import_graph(whole, options, refused);
      return ends;
    } catch (const InvalidArgument&) {
      if (refused.size() == before) return {};
      options.to.clear();
    }
  }
  return {};
}

Model import_file(std::span<const std::uint8_t> bytes,
                  const std::optional<std::filesystem::path>& folder,
                  const ImportOptions& options) {
  const onnx::Graph whole = onnx::parse(bytes, folder);
  std::set<std::string> refused;
  try {
    return import_graph(whole, options, refused);
  } catch (const InvalidArgument& error) {
    if (refused.empty() || !options.to.empty()) throw;
    const std::vector<std::string> ends = proposed_ends(whole, options, refused);
    if (ends.empty()) throw;
    throw InvalidArgument(error.what() + onnx::proposal(ends));
  }
}

}  // namespace

Model import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  const MappedFile file(path);
  try {
    return import_file(file.bytes(), path.parent_path(), options);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{}: {}", path.string(), error.what()));
  }
}

Model import_onnx(std::span<const std::uint8_t> bytes, const ImportOptions& options) {
  return import_file(bytes, std::nullopt, options);
}

}  // namespace octet
