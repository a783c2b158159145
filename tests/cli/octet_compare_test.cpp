// `octet compare` on what runs leave in their folders.

#include <octet/tests/cli/octet_tool.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace octet::test::octet_compare_test {
namespace {

class OctetCompare : public OctetTool {
 protected:
  std::string run(const std::string& name, const std::string& metrics) const {
    std::filesystem::create_directories(path(name));
    std::ofstream(path(name + "/metrics.json")) << metrics;
    return "'" + path(name) + "' ";
  }
};

TEST_F(OctetCompare, ShowsResultsAndOptionsThatDiffer) {
  const std::string runs =
      run("a", R"({"integer_accuracy":0.95,"int8_bytes":1000,"lr":0.001,"batch":32,"seed":1,
                   "hidden":[8],"network":"mlp","data":{"name":"set","train":9,"test":200}})") +
      run("b", R"({"integer_accuracy":0.9,"int8_bytes":500,"lr":0.01,"batch":32,"seed":1,
                   "hidden":[4,4],"network":"gru","scores":{"f1":{"float":0.875,"integer":0.625}},
                   "data":{"name":"set","train":9,"test":200}})");
  const Result table = octet("compare " + runs);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  for (const char* words : {"95.00 %", "90.00 %", "91.04 to 97.26 %", "int8_bytes", "[4,4]", "gru",
                            "0.001", "0.01", "float_f1", "0.875", "integer_f1", "0.625"}) {
    EXPECT_NE(table.out.find(words), std::string::npos) << words << "\n" << table.out;
  }
  for (const char* words : {"batch", "seed"}) {
    EXPECT_EQ(table.out.find(words), std::string::npos) << words << "\n" << table.out;
  }
  const auto json = nlohmann::json::parse(octet("compare " + runs + "--json").out);
  EXPECT_EQ(json.at(1).at("int8_bytes"), 500);
  EXPECT_EQ(json.at(0).at("hidden"), nlohmann::json({8}));
}

TEST_F(OctetCompare, ShowsOptionsByTheirNames) {
  const std::string runs =
      run("a", R"({"verdict":"Ship","batch":32,"seed":1,"options":{"--batch":"32","--seed":"1",
                   "--epochs":"5"}})") +
      run("b", R"({"verdict":"Do not ship","batch":16,"seed":1,"options":{"--batch":"16",
                   "--seed":"1","--optimizer":"sgd","--epochs":"5"}})");
  const Result table = octet("compare " + runs);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  for (const char* words : {"verdict", "Do not ship", "--batch", "--optimizer", "sgd"}) {
    EXPECT_NE(table.out.find(words), std::string::npos) << words << "\n" << table.out;
  }
  for (const char* words : {"seed", "\nbatch", "epochs"}) {
    EXPECT_EQ(table.out.find(words), std::string::npos) << words << "\n" << table.out;
  }
  const auto json = nlohmann::json::parse(octet("compare " + runs + "--json").out);
  EXPECT_EQ(json.at(1).at("--batch"), "16");
}

TEST_F(OctetCompare, SaysWhatIsNoRun) {
  std::filesystem::create_directories(path("empty"));
  expect_failure("compare '" + path("empty") + "'", 1,
                 "expected the --out of a run that has ended");
  expect_failure("compare " + run("list", "[1]"), 1, "expected an object");
  expect_failure("compare " + run("broken", "{"), 1, "metrics.json");
  expect_failure("compare", 2, "FOLDERS is required");
}

}  // namespace
}  // namespace octet::test::octet_compare_test
