// Writes what foreign runtimes are held against: models, inputs and the outputs of our interpreter.
//
//   make_interop_cases DIR [FIRST COUNT | few-bits NETS]
//
// DIR/cases.json lists the cases; models, and numbers with samples end to end, are parts [begin,
// end) of DIR/cases.bin: one file, since there are thousands. Images come from the folder
// OCTET_MNIST_DIR, or are drawn where that is not set: 2,000, or all where OCTET_ALL_IMAGES is set.
// Where OCTET_MLPERF_DIR names a folder, the int8 networks of MLPerf Tiny in it, which others made,
// are cases too.

#include <fmt/core.h>
#include <octet/tests/interop/cases.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace octet::interop {
namespace {

constexpr std::size_t kTestImages = 2000;

/// The images of MNIST where they are there, and what they are called.
std::pair<DataSplit, std::string> images() {
  const char* mnist = std::getenv("OCTET_MNIST_DIR");
  if (mnist == nullptr || *mnist == '\0') {
    return {make_digits(0, kTrainImages, kTestImages), "drawn digits"};
  }
  DataSplit data = load_idx(mnist);
  if (std::getenv("OCTET_ALL_IMAGES") == nullptr) data.test = data.test.head(kTestImages);
  return {std::move(data), "MNIST"};
}

/// Every layer of the networks of the examples, on `count` test images from `first` on.
void make_networks(const fs::path& path, std::size_t first, std::size_t count) {
  CaseFolder folder;
  const auto [data, name] = images();
  if (count == 0 || first + count > data.test.size()) {
    throw InvalidArgument(fmt::format("expected some of {} test images, found {} from {} on",
                                      data.test.size(), count, first));
  }
  add_networks(folder, data, {.first = first, .results = count, .layers = count});
  folder.write(path, name);
}

/// Weights of few bits alone: `nets` random networks of each width, and as many operators on scales
/// that are powers of two.
void make_few_bits(const fs::path& path, std::uint32_t nets) {
  CaseFolder folder;
  const auto [data, name] = images();
  add_few_bits_cases(folder, nets);
  add_packed_cases(folder, data, {.nets = nets, .ties = nets, .packed_files = true});
  folder.write(path, name);
}

void make(const fs::path& path) {
  CaseFolder folder;
  const auto [data, name] = images();
  add_images(folder, data);
  add_networks(folder, data, {});
  add_random_cases(folder);
  add_packed_cases(folder, data);
  add_int16_cases(folder);
  add_detection_cases(folder);
  const char* mlperf = std::getenv("OCTET_MLPERF_DIR");
  if (mlperf != nullptr && *mlperf != '\0') add_foreign_networks(folder, mlperf);
  folder.write(path, name);
}

}  // namespace
}  // namespace octet::interop

int main(int argc, char** argv) {
  const auto number = [&](int i) { return static_cast<std::size_t>(std::stoul(argv[i])); };
  if (argc != 2 && argc != 4) {
    fmt::print(stderr,
               "usage: make_interop_cases DIR [FIRST COUNT | few-bits NETS]\n"
               "FIRST COUNT: the networks of the examples alone, every layer, on these images\n"
               "few-bits NETS: weights of few bits alone, so many networks of each width\n");
    return 2;
  }
  try {
    if (argc == 2) octet::interop::make(argv[1]);
    if (argc == 4 && argv[2] == std::string_view("few-bits")) {
      octet::interop::make_few_bits(argv[1], static_cast<std::uint32_t>(number(3)));
      return 0;
    }
    if (argc == 4) octet::interop::make_networks(argv[1], number(2), number(3));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_interop_cases: {}\n", error.what());
    return 1;
  }
}
