// read_npy_files FEATURES TARGETS: the shape and the number of classes of a data set of bytes, and
// then of each example its class and the sum of its bytes.

#include <fmt/core.h>
#include <octet/train/data/npy.h>

#include <exception>
#include <numeric>

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: read_npy_files FEATURES TARGETS\n");
    return 2;
  }
  try {
    const octet::Dataset set = octet::load_npy(argv[1], argv[2]);
    fmt::print("{} {}\n", set.example_shape().to_string(), set.classes());
    const std::size_t size = set.bytes().size() / set.size();
    for (std::size_t i = 0; i < set.size(); ++i) {
      const auto bytes = set.bytes().subspan(i * size, size);
      fmt::print("{} {}\n", set.labels()[i], std::accumulate(bytes.begin(), bytes.end(), 0));
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "read_npy_files: {}\n", error.what());
    return 1;
  }
}
