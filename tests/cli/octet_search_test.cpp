// `octet search` as its users run it.

#include <octet/compress/bit_search.h>
#include <octet/core/error.h>
#include <octet/tests/cli/float_digits.h>
#include <octet_test_paths.h>

#include <fmt/core.h>

namespace octet::test::octet_search_test {
namespace {

using nlohmann::json;

class OctetSearch : public FloatDigits {
 protected:
  ProcessResult search(const Arguments& more) const { return octet_on_digits("search", more); }
};

TEST_F(OctetSearch, FindsWhatTheLibraryFinds) {
  const BitSearch expected = search_bits(model_, data_.train, 700, {.samples = 300});
  const json found =
      printed_json(search({"--flash", "700", "--samples", "300", "--json", "--csv",
                           path("bits.csv"), "--svg", path("bits.svg"), "--threads", "2"}));
  const json& chosen = found.at("chosen");
  EXPECT_EQ(chosen.at("bits"),
            json({{"dense", expected.chosen.bits[0]}, {"dense_1", expected.chosen.bits[1]}}));
  EXPECT_EQ(chosen.at("bytes"), expected.chosen.bytes);
  EXPECT_EQ(chosen.at("loss"), expected.chosen.measured->loss);
  EXPECT_EQ(chosen.at("accuracy"), expected.chosen.measured->accuracy.value());
  EXPECT_EQ(found.at("float_accuracy"), expected.in_float.accuracy.value());
  EXPECT_EQ(found.at("measured").size(), expected.measured.size());
  EXPECT_EQ(text_of(path("bits.csv")), bit_curve_csv(expected));
  EXPECT_EQ(text_of(path("bits.svg")), bit_curve_svg(expected, "float.octet"));
}

TEST_F(OctetSearch, LooksThroughASigmoid) {
  write_set(path("set"), 400, 50, 9, 7, 2);
  std::vector<json> chosen;
  for (const Activation last : {Activation::none, Activation::sigmoid}) {
    Sequential model("two", Input({63}), Dense(14, Activation::relu, "a"), Dense(1, last, "b"));
    model.build(1);
    model.save(path("float.octet"));
    const ProcessResult result = search({"--flash", "700", "--samples", "300", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    chosen.push_back(json::parse(result.out).at("chosen"));
  }
  EXPECT_EQ(chosen[1].at("loss"), chosen[0].at("loss"));
  EXPECT_EQ(chosen[1].at("bits"), chosen[0].at("bits"));
}

TEST_F(OctetSearch, ShowsATable) {
  const BitSearch expected = search_bits_for_drop(model_, data_.train, 2.0);
  const ProcessResult result = search({"--max-drop", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, fmt::format("dense_1                {:>6}", expected.chosen.bits[1]));
  expect_mentions(result.out,
                  fmt::format("in all                        {:>12}\n", expected.chosen.bytes));
  expect_mentions(result.out, "accuracy on training examples: float ");
}

TEST_F(OctetSearch, SaysWhatIsWrong) {
  const auto failure = [&](const Arguments& arguments, int exit_code, std::string_view part) {
    expect_one_error(search(arguments), exit_code, part);
  };
  // 14 rows of 16 bytes and 4 of 4, and 12 bytes a unit.
  failure({"--flash", "455"}, 1, "expected a budget of at least 456 bytes");
  failure({}, 2, "Exactly 1 option from [--flash,--max-drop] is required");
  failure({"--flash", "500", "--max-drop", "1"}, 2, "and 2 were given");
  failure({"--flash", "0"}, 2, "--flash");
  failure({"--max-drop", "101"}, 2, "--max-drop");
  failure({"--flash", "500", "--rounding", "single", "--target", "tflm"}, 2, "--target");
  failure({"--flash", "500", "--csv", path("nowhere/bits.csv")}, 1, "nowhere/bits.csv");
}

}  // namespace
}  // namespace octet::test::octet_search_test
