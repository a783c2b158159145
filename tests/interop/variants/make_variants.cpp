// make_variants DIR: writes small .onnx and .tflite files, each with another attribute of an
// operator, and options.tsv, which says what survey_models is to find.

#include <octet/core/file.h>
#include <octet/tests/interop/variants/variants.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

namespace {

using namespace octet::test::variants;
namespace fs = std::filesystem;

void write_all(const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream options(folder / "options.tsv");
  for (const auto& [extension, all] :
       {std::pair(".onnx", convolutions()), std::pair(".onnx", pools()),
        std::pair(".onnx", functions()), std::pair(".onnx", arithmetic()),
        std::pair(".onnx", products()), std::pair(".onnx", shapes()), std::pair(".onnx", resizes()),
        std::pair(".onnx", recurrences()), std::pair(".tflite", tflite_files())}) {
    for (const Variant& variant : all) {
      const std::string name = variant.name + extension;
      octet::write_file_atomic(folder / name, variant.file);
      options << name;
      for (const std::string& option : variant.options) options << '\t' << option;
      if (!variant.refused.empty()) options << "\t--refused\t" << variant.refused;
      options << '\n';
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_variants DIR\n", stderr);
    return 2;
  }
  try {
    write_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_variants: %s\n", error.what());
    return 1;
  }
}
