#include <gtest/gtest.h>
#include <octet/core/description_json.h>
#include <octet/core/error.h>
#include <octet/tests/core/thrown.h>

#include <functional>
#include <limits>
#include <vector>

namespace octet::test::description_test {
namespace {

Description whole() {
  Description d;
  d.set("flag", true).set("count", 7).set("rate", 0.25).set("name", "dense");
  d.set("shape", Shape{2, -1}).set("inner", Description().set("depth", 1));
  return d;
}

TEST(Description, GivesBackWhatWasSet) {
  const Description d = whole();
  EXPECT_TRUE(d.flag("flag"));
  EXPECT_EQ(d.integer("count"), 7);
  EXPECT_EQ(d.number("rate"), 0.25);
  EXPECT_EQ(d.number("count"), 7.0);
  EXPECT_EQ(d.text("name"), "dense");
  EXPECT_EQ(d.shape("shape"), (Shape{2, -1}));
  EXPECT_EQ(d.part("inner").integer("depth"), 1);
  EXPECT_TRUE(d.has("inner"));
  EXPECT_FALSE(d.has("outer"));
}

TEST(Description, IsJsonWithSortedKeys) {
  EXPECT_EQ(whole().to_json(),
            R"({"count":7,"flag":true,"inner":{"depth":1},"name":"dense","rate":0.25,)"
            R"("shape":[2,-1]})");
}

TEST(Description, ACopyDoesNotChangeWithItsSource) {
  Description d = whole();
  const Description copy = d;
  d.set("count", 8);
  EXPECT_EQ(copy.integer("count"), 7);
  EXPECT_EQ(d.integer("count"), 8);
}

TEST(Description, RefusesWhatJsonCannotHold) {
  Description d;
  EXPECT_THROW(d.set("rate", std::numeric_limits<double>::infinity()), InvalidArgument);
  EXPECT_THROW(d.set("rate", std::numeric_limits<double>::quiet_NaN()), InvalidArgument);
  EXPECT_THROW(d.set("name", "\xff"), InvalidArgument);
  EXPECT_FALSE(d.has("rate"));
}

TEST(Description, NamesAnEntryThatIsMissingOrOfAnotherKind) {
  const Description d = whole();
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { d.text("missing"); }, [&] { d.flag("count"); }, [&] { d.integer("rate"); },
           [&] { d.number("name"); }, [&] { d.text("flag"); }, [&] { d.shape("count"); },
           [&] { d.part("name"); }}) {
    EXPECT_THROW(read(), FormatError);
  }
  EXPECT_EQ(message_of<FormatError>([&] { d.integer("rate"); }),
            "description: expected a whole number as \"rate\", found 0.25");
}

TEST(Description, ANumberIsAFloat32WhereItFits) {
  Description d;
  d.set("rate", 0.1).set("most", double{std::numeric_limits<float>::max()});
  d.set("huge", 1e300).set("lowest", -1e39);
  EXPECT_EQ(d.float_number("rate"), 0.1F);
  EXPECT_EQ(d.float_number("most"), std::numeric_limits<float>::max());
  EXPECT_THROW(d.float_number("lowest"), FormatError);
  EXPECT_THROW(d.float_number("missing"), FormatError);
  EXPECT_EQ(message_of<FormatError>([&] { d.float_number("huge"); }),
            "description: expected a float32 number as \"huge\", found 1e+300");
}

TEST(Description, OfJsonRefusesNumbersThatDoNotFit) {
  const auto json = std::make_shared<const nlohmann::json>(
      nlohmann::json::parse(R"({"a": 18446744073709551615, "s": [1.5]})"));
  const auto d = DescriptionAccess::of(*json, json);
  EXPECT_THROW(d.integer("a"), FormatError);
  EXPECT_THROW(d.shape("s"), FormatError);
  EXPECT_THROW(DescriptionAccess::of(nlohmann::json::array(), nullptr), FormatError);
}

TEST(Description, OfJsonKeepsWhatItsCopiesAndPartsShow) {
  auto json =
      std::make_shared<const nlohmann::json>(nlohmann::json::parse(R"({"inner": {"text": "t"}})"));
  const std::weak_ptr<const nlohmann::json> watched = json;
  Description part;
  {
    const Description whole = DescriptionAccess::of(*json, json);
    json.reset();
    part = Description(whole).part("inner");
  }
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(part.text("text"), "t");
  // What is changed has entries of its own.
  part.set("text", "u");
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(part.text("text"), "u");
}

}  // namespace
}  // namespace octet::test::description_test
