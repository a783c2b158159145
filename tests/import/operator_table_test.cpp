// The table of docs/import.md names the operators that the importer has, and no others.

#include <gtest/gtest.h>
#include <octet/import/onnx/builder.h>
#include <octet_test_paths.h>

#include <cctype>
#include <fstream>
#include <set>

namespace octet::test::operator_table_test {
namespace {

/// What simplify() and the folding of constants take away or make others of.
const std::set<std::string> kSimplified = {"Constant", "Dropout", "Erf", "Identity", "Mean", "Sum"};
/// Words of the first column that are no operators.
const std::set<std::string> kWords = {"Shape"};

/// The words of the table's first column that begin as operators do.
std::set<std::string> operators_in_docs() {
  std::ifstream file(OCTET_TEST_DATA_DIR "/../../docs/import.md");
  std::set<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    inside = line.starts_with("| ONNX |") || (inside && line.starts_with("|"));
    if (!inside || line.starts_with("| ONNX |") || line.starts_with("| ---")) continue;
    std::string word;
    for (const char c : line.substr(1, line.find('|', 1) - 1) + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        word += c;
        continue;
      }
      if (word.size() > 1 && std::isupper(static_cast<unsigned char>(word[0])) != 0) {
        found.insert(word);
      }
      word.clear();
    }
  }
  return found;
}

TEST(OperatorTable, IsThatOfTheImporter) {
  namespace onnx = detail::onnx_import;
  const std::set<std::string> documented = operators_in_docs();
  ASSERT_GT(documented.size(), 50U);
  std::set<std::string> known = kSimplified;
  for (const auto operators :
       {onnx::activation_operators(), onnx::arithmetic_operators(), onnx::convolution_operators(),
        onnx::dense_operators(), onnx::merge_operators(), onnx::normalization_operators(),
        onnx::part_operators(), onnx::pooling_operators(), onnx::recurrent_operators(),
        onnx::resizing_operators(), onnx::shape_operators()}) {
    for (const onnx::Operator& op : operators) known.insert(std::string(op.name));
  }
  for (const std::string& name : known) EXPECT_TRUE(documented.contains(name)) << name;
  for (const std::string& name : documented) {
    EXPECT_TRUE(known.contains(name) || kWords.contains(name)) << name;
  }
}

}  // namespace
}  // namespace octet::test::operator_table_test
