#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "process.h"

namespace octet::tools {

/// A code q stands for (q - zero_point) * scale.
struct CodeGrid {
  float scale = 1.0F;
  std::int32_t zero_point = 0;
  bool operator==(const CodeGrid&) const = default;
};

/// A model exported as C source, compiled for this machine and run as a process of its own. Codes
/// of uint8 are shown, and taken, as those of int8: 128 less.
class CProgram {
 public:
  /// Compiles NAME.c with NAME.h beside it, by $CC, cc, gcc or clang. Throws InvalidArgument where
  /// there is no compiler, FormatError where the source is no such export, IoError.
  explicit CProgram(const std::filesystem::path& source);

  /// An input or output.
  struct End {
    /// Codes of one sample.
    std::size_t size = 0;
    /// What codes stand for; none where the header does not say.
    std::optional<CodeGrid> grid{};
  };

  /// In the order of the parameters.
  const std::vector<End>& inputs() const { return inputs_; }
  const std::vector<End>& outputs() const { return outputs_; }

  /// The outputs of samples laid end to end: in each, of several inputs or outputs one lies behind
  /// the other. Throws IoError where the program fails.
  std::vector<std::int8_t> run(std::span<const std::int8_t> samples) const;

 private:
  void compile();
  void read_sizes();
  void write_scratch(const std::string& file, std::string_view bytes) const;

  std::filesystem::path source_;
  TemporaryFolder folder_;
  std::vector<End> inputs_;
  std::vector<End> outputs_;
};

}  // namespace octet::tools
