#include <gtest/gtest.h>
#include <octet/core/json_text.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace octet::test::json_text_test {
namespace {

using nlohmann::json;

TEST(JsonFault, IsSaidInTheWordsOfOctet) {
  using Read = std::function<void(const json&)>;
  const Read nothing = [](const json&) {};
  for (const auto& [text, read, words] : std::vector<std::tuple<const char*, Read, std::string>>{
           {"[1", nothing, "line 1, column 3: expected ']', found end of input"},
           {"{\n\"a\":}", nothing, "line 2, column 5: expected '[', '{', or a literal, found '}'"},
           {"[nul]", nothing,
            "line 1, column 5: expected JSON, found invalid literal; last read: '[nul]'"},
           {"1e999", nothing, "number overflow parsing '1e999'"},
           {"{}", [](const json& value) { value.at("a"); }, "expected an entry \"a\", found none"},
           {"[]", [](const json& value) { value.at("a"); }, "expected an object, found a list"},
           {"\"x\"", [](const json& value) { value.get<double>(); },
            "expected a number, found a text"},
           {"{}", [](const json& value) { value.get<bool>(); },
            "expected true or false, found an object"},
           {"null", [](const json& value) { value.get<std::vector<int>>(); },
            "expected a list, found null"}}) {
    try {
      const detail::ParsedJson parsed(text);
      read(*parsed);
      ADD_FAILURE() << text;
    } catch (const json::exception& fault) {
      EXPECT_EQ(detail::fault_text(fault), words) << fault.what();
    }
  }
}

}  // namespace
}  // namespace octet::test::json_text_test
