#include <gtest/gtest.h>
#include <octet/bench/report/networks.h>

#include <stdexcept>

namespace octet::bench {
namespace {

using nlohmann::json;

json step(const char* who, const char* mode, int round, double seconds) {
  return {{"what", "steps"}, {"network", "dscnn"}, {"batch", 32},   {"threads", 1},
          {"who", who},      {"mode", mode},       {"isa", "auto"}, {"round", round},
          {"min", 2.0},      {"cpu_min", seconds}};
}

json invoke(const char* who, double microseconds) {
  return {{"what", "invokes"}, {"network", "dscnn"}, {"batch", 1},
          {"who", who},        {"round", 1},         {"cpu_min", microseconds}};
}

Results steps() {
  json on_two = step("octet", "qat", 1, 9.0);
  on_two["threads"] = 2;
  on_two["min"] = 1.25;
  // While others ran: says nothing of threads.
  json busy = on_two;
  busy.update({{"round", 2}, {"min", 0.1}, {"others", 0.3}});
  json avx2 = step("octet", "qat", 1, 0.012);
  avx2["isa"] = "avx2";
  // Each round by itself: the peer is libtorch, then PyTorch.
  return Results({step("octet", "float", 1, 0.010), step("octet", "float", 2, 0.020),
                  step("octet", "qat", 1, 0.008), step("octet", "qat", 2, 0.012), on_two, busy,
                  avx2, step("torch", "qat", 1, 0.060), step("torch", "qat", 2, 0.060),
                  step("libtorch", "qat", 1, 0.040), step("libtorch", "qat", 2, 0.090),
                  step("floor", "float", 1, 0.004), step("floor", "float", 2, 0.010)});
}

TEST(NetworksReport, PairsRoundsAndTakesTheQuickerPeer) {
  const std::string text = networks_report(steps());
  // Quantized / float 0.8 and 0.6; peer 5 and 5; quantized / floor 2 and 1.2; float / floor 2.5, 2.
  EXPECT_NE(text.find("| dscnn | 32 | 0.70 | - | 5.00 | - | 1.60 | 2.25 | 1.60 |"),
            std::string::npos)
      << text;
  // Milliseconds, the middle of two rounds.
  EXPECT_NE(text.find("| dscnn | 32 | 7.00 | - | 60.00 | - | 65.00 | 15.00 | 10.00 |"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("Inference"), std::string::npos) << "a table without a line";
  EXPECT_EQ(text.find("Growth"), std::string::npos) << "a table without a line";
}

TEST(NetworksReport, LeavesOutThePeersThatDidNotRun) {
  std::vector<json> lines = {step("octet", "qat", 1, 0.008), invoke("octet", 20.0),
                             invoke("xnnpack", 50.0), invoke("onnxruntime", 40.0)};
  const std::string text = networks_report(Results(lines));
  EXPECT_NE(text.find("| dscnn | 1 | 20.0 | - | 50.0 | 40.0 | 0.50 |"), std::string::npos) << text;
}

TEST(NetworksReport, ShowsGrowthByImage) {
  std::vector<json> lines = {step("octet", "qat", 1, 0.008)};
  for (const char* mode : {"float", "qat"}) {
    const double base = mode[0] == 'f' ? 1.0 : 0.5;
    for (const int at : {128, 16}) {
      const json point = {{"axis", "channels"}, {"at", at}, {"mode", mode}, {"batch", 32}};
      lines.push_back(point);
      lines.back().update({{"what", "network_growth"}, {"weights", 1500.0}, {"cpu_min", base}});
      lines.push_back(point);
      lines.back().update({{"what", "network_memory"}, {"peak_mb", at * base}});
    }
  }
  const std::string text = networks_report(Results(lines));
  EXPECT_NE(text.find("| 128 | 1.5 | 31250.0 | 15625.0 | 128.0 | 64.0 |\n"
                      "| 16 | 1.5 | 31250.0 | 15625.0 | 16.0 | 8.0 |"),
            std::string::npos)
      << text;
}

TEST(NetworksReport, IsEmptyWithoutSteps) {
  EXPECT_EQ(networks_report(Results(std::vector<json>{{{"what", "train"}}})), "");
  EXPECT_THROW(networks_plot(Results(std::vector<json>{})), std::runtime_error);
}

TEST(NetworksPlot, DrawsRatiosOfTheLargestBatch) {
  std::vector<json> lines = {step("octet", "qat", 1, 0.010), step("torch", "qat", 1, 0.020)};
  for (const json& line : std::vector<json>(lines)) {
    lines.push_back(line);
    lines.back()["batch"] = 128;
    if (line.at("who") == "torch") lines.back()["cpu_min"] = 0.040;
  }
  const std::string svg = networks_plot(Results(lines));
  // Four times on an axis up to four: the whole width.
  EXPECT_NE(
      svg.find("x=\"128.8\" y=\"32.0\" width=\"491.2\" height=\"11.5\"><title>dscnn, batch 128, "
               "peer / ours, quantized: 4</title>"),
      std::string::npos)
      << svg;
  EXPECT_EQ(svg.find("batch 32"), std::string::npos);
  EXPECT_EQ(svg.find("peer / ours, float: "), std::string::npos) << "a bar that nobody measured";
}

}  // namespace
}  // namespace octet::bench
