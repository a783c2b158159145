// write_digits FOLDER: the four IDX files of a small set of drawn digits, where commands of the
// pages look for MNIST.

#include <octet/core/file.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/data/digits.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace {

using namespace octet;

void write_set(const std::filesystem::path& folder, const std::string& name, const Dataset& set) {
  const auto count = static_cast<std::uint32_t>(set.size());
  const test::Bytes images(set.bytes().begin(), set.bytes().end());
  const test::Bytes labels(set.labels().begin(), set.labels().end());
  write_file_atomic(folder / (name + "-images-idx3-ubyte"),
                    test::idx_bytes({count, 28, 28}, images));
  write_file_atomic(folder / (name + "-labels-idx1-ubyte"), test::idx_bytes({count}, labels));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_digits FOLDER\n", stderr);
    return 2;
  }
  try {
    std::filesystem::create_directories(argv[1]);
    const DataSplit digits = make_digits(/*seed=*/0, /*train_count=*/1200, /*test_count=*/200);
    write_set(argv[1], "train", digits.train);
    write_set(argv[1], "t10k", digits.test);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_digits: %s\n", error.what());
    return 1;
  }
}
