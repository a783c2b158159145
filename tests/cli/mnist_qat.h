#pragma once

#include <octet/core/random.h>
#include <octet/tests/cli/process.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace octet::test {

using Arguments = std::vector<std::string>;

inline Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The words of a command line, of which some may stand in single quotes.
inline Arguments words_of(const std::string& line) {
  Arguments words;
  std::istringstream stream(line);
  std::string word;
  while (stream >> std::quoted(word, '\'')) words.push_back(word);
  return words;
}

/// Runs mnist_qat on its own: without the caller's data, on threads that do not spin.
inline std::map<std::string, std::string> plain_environment() {
  return {{"OCTET_MNIST_DIR", ""}, {"OMP_WAIT_POLICY", "passive"}};
}
inline ProcessResult mnist_qat(const Arguments& arguments) {
  return run_process(Arguments{OCTET_MNIST_QAT} + arguments, plain_environment());
}

inline std::ptrdiff_t lines_in(const std::string& text) { return std::ranges::count(text, '\n'); }

/// Fails unless a program ended well.
inline void expect_success(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
}
/// The JSON that a program printed; fails unless it ended well.
inline nlohmann::json printed_json(const ProcessResult& result) {
  expect_success(result);
  return nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
}

/// Fails unless a program ended with that exit code and one line on stderr that holds `part`.
inline void expect_one_error(const ProcessResult& result, int exit_code, std::string_view part) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(lines_in(result.err), 1) << result.err;
  expect_mentions(result.err, part);
}
/// Fails unless mnist_qat did.
inline void expect_failure(const ProcessResult& result, int exit_code, std::string_view part) {
  expect_one_error(result, exit_code, part);
  expect_mentions(result.err, "mnist_qat: ");
}

/// The four IDX files of a set: noisy images of `shape`, one pattern a class.
inline void write_set(const std::filesystem::path& folder, std::uint32_t train, std::uint32_t test,
                      std::uint32_t rows = 9, std::uint32_t columns = 7,
                      std::uint32_t classes = 4) {
  std::filesystem::create_directories(folder);
  const std::size_t size = std::size_t{rows} * columns;
  const Random pattern(1);
  for (const auto& [name, count] : {std::pair{"train", train}, std::pair{"t10k", test}}) {
    const Random noise = Random(2).fork(count);
    Bytes images(count * size);
    Bytes labels(count);
    for (std::size_t i = 0; i < count; ++i) {
      labels[i] = static_cast<std::uint8_t>(i * 7 % classes);
      for (std::size_t j = 0; j < size; ++j) {
        const float value =
            255.0F * pattern.uniform(labels[i] * size + j) + 60.0F * noise.normal(i * size + j);
        images[i * size + j] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
      }
    }
    const std::string stem = std::string(name);
    const auto write = [&](const std::string& file, const Bytes& bytes) {
      write_file_atomic(folder / (stem + file), bytes);
    };
    write("-images-idx3-ubyte", idx_bytes({count, rows, columns}, images));
    write("-labels-idx1-ubyte", idx_bytes({count}, labels));
  }
}

/// A test with a folder of its own that holds a small data set, "set".
class MnistQat : public ::testing::Test {
 protected:
  MnistQat() { write_set(scratch_.path() / "set", 501, 203); }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }
  /// A short run that writes to the folder `out`.
  Arguments small_run(const std::string& out) const {
    return {"--data", path("set"), "--out", path(out),      "--hidden", "12,7",    "--lr",
            "0.01",   "--epochs",  "2",     "--qat-epochs", "1",        "--batch", "32"};
  }
  nlohmann::json metrics(const std::string& out) const {
    return nlohmann::json::parse(text_of(path(out + "/metrics.json")));
  }
  Bytes model(const std::string& out) const { return read_file(path(out + "/mnist_int8.tflite")); }

 private:
  ScratchDirectory scratch_;
};

}  // namespace octet::test
