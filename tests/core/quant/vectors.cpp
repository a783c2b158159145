#include <octet/tests/core/quant/vectors.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet_test_paths.h>

namespace octet::test {
namespace {

std::vector<Vector> load() {
  const std::string path = OCTET_TEST_DATA_DIR "/vectors.json";
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot open " + path);
  }
  const nlohmann::json root = nlohmann::json::parse(file);
  if (root.at("format") != 1) {
    throw std::runtime_error(path + ": unknown format");
  }
  std::vector<Vector> result;
  for (const nlohmann::json& entry : root.at("vectors")) {
    Vector vector;
    vector.id = entry.at("id");
    vector.op = entry.at("op");
    vector.params = entry.at("params");
    vector.input = entry.at("input");
    vector.expected = entry.at("expected");
    if (!entry.at("tolerance").is_null()) {
      vector.atol = entry.at("tolerance").at("atol");
      vector.rtol = entry.at("tolerance").at("rtol");
    }
    vector.integer_rule = entry.value("integer_rule", "");
    vector.source = std::string(entry.at("source").at("path")) + " " +
                    std::string(entry.at("source").at("test"));
    result.push_back(std::move(vector));
  }
  return result;
}

// The patterns are literal texts with "|" between them. (std::regex sets off GCC 12's warnings
// under the sanitizers.)
bool matches(const std::string& text, const std::string& pattern) {
  std::istringstream alternatives(pattern);
  std::string alternative;
  while (std::getline(alternatives, alternative, '|')) {
    if (text.find(alternative) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

const std::vector<Vector>& all_vectors() {
  static const std::vector<Vector> vectors = load();
  return vectors;
}

std::vector<Vector> vectors_of(std::span<const std::string> ops) {
  std::vector<Vector> result;
  for (const Vector& vector : all_vectors()) {
    if (std::find(ops.begin(), ops.end(), vector.op) != ops.end()) {
      result.push_back(vector);
    }
  }
  return result;
}

std::string test_name(const Vector& vector) {
  std::string name = vector.id;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::vector<double> doubles(const nlohmann::json& value) {
  if (value.is_number()) {
    return {value.get<double>()};
  }
  return value.get<std::vector<double>>();
}

std::vector<float> floats(const nlohmann::json& value) {
  std::vector<float> result;
  for (const double number : doubles(value)) {
    result.push_back(static_cast<float>(number));
  }
  return result;
}

std::vector<std::int64_t> shape_of(const nlohmann::json& tensor) {
  return tensor.at("shape").get<std::vector<std::int64_t>>();
}

void expect_close(std::span<const double> got, const nlohmann::json& want, const Vector& vector) {
  const std::vector<double> expected = doubles(want);
  ASSERT_EQ(got.size(), expected.size()) << vector.id << ": " << vector.source;
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Written so that NaN fails.
    const double allowed = vector.atol + vector.rtol * std::fabs(expected[i]);
    EXPECT_TRUE(std::fabs(got[i] - expected[i]) <= allowed)
        << vector.id << "[" << i << "]: got " << got[i] << ", expected " << expected[i] << " +- "
        << allowed << "; " << vector.source;
  }
}

void expect_close(std::span<const float> got, const nlohmann::json& want, const Vector& vector) {
  // The literals too are float32 upstream.
  const std::vector<float> expected = floats(want);
  const std::vector<double> wide(got.begin(), got.end());
  expect_close(std::span<const double>(wide), nlohmann::json(expected), vector);
}

void expect_error(const std::function<void()>& function, const Vector& vector) {
  const std::string pattern = vector.expected.at("error");
  try {
    function();
    ADD_FAILURE() << vector.id << ": no error; expected one that matches \"" << pattern << "\"";
  } catch (const Error& error) {
    EXPECT_TRUE(matches(error.what(), pattern))
        << vector.id << ": \"" << error.what() << "\" does not match \"" << pattern << "\"";
  }
}

}  // namespace octet::test
