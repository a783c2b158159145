#pragma once

#include <octet/core/shape.h>
#include <octet/import/import_report.h>

#include <map>
#include <string>
#include <vector>

namespace octet {

/// In which order the inputs of a file have their axes.
enum class InputLayout {
  of_readers,      ///< as the operators that read them tell
  channels_first,  ///< [batch, channels, height, width] or [batch, channels, steps]
  as_given         ///< as the file has them, which the model keeps
};

/// What an importer is told about a file beside its contents.
struct ImportOptions {
  /// By the name of an input: its extents with the batch, in the file's order, for files that leave
  /// some open. An extent that the file states has to be the same.
  std::map<std::string, std::vector<Index>, std::less<>> shapes{};
  /// Values of the file that become the inputs of the model; none: those of the file.
  std::vector<std::string> from{};
  /// Values of the file that become the outputs of the model; none: those of the file.
  std::vector<std::string> to{};
  /// How inputs of three and four axes lie in .onnx files.
  InputLayout layout = InputLayout::of_readers;
  /// Gets what became of the file's nodes; null: nobody asks.
  ImportReport* report = nullptr;
};

}  // namespace octet
