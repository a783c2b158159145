#include <octet/core/file.h>
#include <octet/import/onnx/builder.h>
#include <octet/import/onnx/import_onnx.h>

namespace octet {
namespace {

Model import_bytes(std::span<const std::uint8_t> bytes,
                   const std::optional<std::filesystem::path>& folder) {
  namespace onnx = detail::onnx_import;
  onnx::Graph graph = onnx::parse(bytes, folder);
  onnx::simplify(graph);
  return onnx::Builder(graph).build();
}

}  // namespace

Model import_onnx(const std::filesystem::path& path) {
  const MappedFile file(path);
  try {
    return import_bytes(file.bytes(), path.parent_path());
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{}: {}", path.string(), error.what()));
  }
}

Model import_onnx(std::span<const std::uint8_t> bytes) { return import_bytes(bytes, std::nullopt); }

}  // namespace octet
