#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/import/weights/weight_file.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace octet {

std::vector<WeightTensor> read_weight_file(const std::filesystem::path& path) {
  FileReader file(path);
  std::array<std::uint8_t, 4> bytes{};
  file.read(std::span(bytes).first(std::min(bytes.size(), file.size())));
  const std::string_view first(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (first.starts_with("\x89HDF")) {
    throw FormatError(fmt::format(
        "{}: expected a .safetensors or .npz file, found HDF5, as Keras writes it; save the "
        "weights by name: numpy.savez(\"weights.npz\", **{{w.name: w.numpy() for w in "
        "model.weights}})",
        path.string()));
  }
  return first.starts_with("PK") ? read_npz(path) : read_safetensors(path);
}

}  // namespace octet
