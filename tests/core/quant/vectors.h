#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace octet::test {

/// One entry of tests/data/vectors.json: the numbers of an upstream unit test.
struct Vector {
  std::string id;
  std::string op;
  nlohmann::json params;
  nlohmann::json input;
  nlohmann::json expected;
  double atol = 0.0;
  double rtol = 0.0;
  std::string integer_rule;  ///< "tflm", "lite" or empty
  std::string source;        ///< path and test upstream, for messages
};

/// Lets GoogleTest show the id.
inline void PrintTo(const Vector& vector, std::ostream* out) { *out << vector.id; }

/// All entries, read once. Throws if the file is missing or of another format.
const std::vector<Vector>& all_vectors();

/// Returns the entries whose operation is one of `ops`.
std::vector<Vector> vectors_of(std::span<const std::string> ops);

/// The id in the form that GoogleTest accepts: letters, digits and underscores.
std::string test_name(const Vector& vector);

/// A number or a list of numbers, each rounded to float32.
std::vector<float> floats(const nlohmann::json& value);
/// A number or a list of numbers in double.
std::vector<double> doubles(const nlohmann::json& value);
/// A number or a list of integers; fails for an integer that T cannot represent.
template <std::integral T>
std::vector<T> integers(const nlohmann::json& value) {
  std::vector<T> result;
  for (const double number : doubles(value)) {
    result.push_back(static_cast<T>(number));
    if (static_cast<double>(result.back()) != number) {
      throw std::runtime_error("vectors.json: not an integer of the type asked for");
    }
  }
  return result;
}
/// The "shape" beside "data".
std::vector<std::int64_t> shape_of(const nlohmann::json& tensor);

/// |got - want| <= atol + rtol * |want|, element by element, with the vector's tolerance.
void expect_close(std::span<const float> got, const nlohmann::json& want, const Vector& vector);
void expect_close(std::span<const double> got, const nlohmann::json& want, const Vector& vector);
template <std::integral T>
void expect_close(const std::vector<T>& got, const nlohmann::json& want, const Vector& vector) {
  const std::vector<double> wide(got.begin(), got.end());
  expect_close(std::span<const double>(wide), want, vector);
}

/// `function` must throw an octet::Error whose text holds expected.error, or one of its
/// alternatives
/// ("a|b").
void expect_error(const std::function<void()>& function, const Vector& vector);

}  // namespace octet::test
