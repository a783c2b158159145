#include <fmt/core.h>
#include <octet/tests/interop/cases.h>
#include <octet/tests/runtime/naive_graph.h>

#include <filesystem>
#include <set>

namespace octet::interop {
namespace {

/// Cases of each network, samples of a case, and samples of the one case that shows all layers.
constexpr int kForeignCases = 10;
constexpr Index kForeignSamples = 100;
constexpr Index kForeignLayerSamples = 10;

/// Samples of random codes for a model of int8.
Samples random_input(CaseFolder& folder, const IntegerModel& model, Index count,
                     std::uint64_t seed) {
  test::Draw draw(seed);
  const auto size = static_cast<std::size_t>(tensor_of(model, model.inputs[0]).size());
  const auto codes = test::random_codes(size * static_cast<std::size_t>(count), draw);
  return folder.input(DType::int8, count, std::span<const std::int8_t>(codes));
}

}  // namespace

void add_foreign_networks(CaseFolder& folder, const fs::path& files) {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(files)) {
    if (entry.path().extension() == ".tflite") found.insert(entry.path());
  }
  if (found.empty()) {
    throw InvalidArgument(fmt::format(
        "OCTET_MLPERF_DIR: expected .tflite files in '{}', found none", files.string()));
  }
  for (const fs::path& file : found) {
    const IntegerModel model = read_tflite(file);
    const std::string name = file.stem().string();
    for (int part = 0; part < kForeignCases; ++part) {
      folder.add(fmt::format("{}-{}", name, part), model,
                 random_input(folder, model, kForeignSamples, static_cast<std::uint64_t>(part)));
    }
    folder.add(name + "-layers", with_all_layers(model),
               random_input(folder, model, kForeignLayerSamples, kForeignCases));
  }
}

}  // namespace octet::interop
