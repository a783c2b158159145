// make_import_cases DIR: writes what the ONNX files of tests/data/onnx compute as imported models,
// for import_onnx.mjs: DIR/cases.json, and DIR/NAME.f32 with the outputs for kExamples inputs.

#include <octet/core/file.h>
#include <octet/tests/import/onnx_fixtures.h>

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

namespace {

using namespace octet;

constexpr Index kExamples = 1000;

void write_cases(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  nlohmann::json cases;
  for (const test::OnnxFixture& fixture : test::onnx_fixtures()) {
    const Tensor y =
        import_onnx(test::onnx_path(fixture.name)).forward(test::onnx_inputs(fixture, kExamples));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(y.data());
    write_file_atomic(folder / (std::string(fixture.name) + ".f32"),
                      std::span(bytes, y.span().size_bytes()));
    cases.push_back({{"name", fixture.name},
                     {"onnx", test::onnx_path(fixture.name).string()},
                     {"extents", fixture.extents},
                     {"examples", kExamples}});
  }
  write_file_atomic(folder / "cases.json", cases.dump(2) + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_import_cases DIR\n", stderr);
    return 2;
  }
  try {
    write_cases(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_import_cases: %s\n", error.what());
    return 1;
  }
}
