#include <gtest/gtest.h>
#include <octet/bench/report/tables.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/train/data/idx_files.h>

#include <fstream>

namespace octet::bench {
namespace {

using nlohmann::json;

json epoch(const char* who, const char* mode, int threads, int round, double seconds) {
  return {{"what", "train"}, {"who", who},         {"mode", mode},   {"isa", "auto"},
          {"batch", 128},    {"threads", threads}, {"round", round}, {"s_per_epoch", seconds}};
}

TEST(Spread, IsTheMiddleAndTheEnds) {
  EXPECT_FALSE(spread({}));
  const auto odd = spread({{1, 5.0}, {2, 1.0}, {3, 3.0}});
  EXPECT_EQ(odd->median, 3.0);
  EXPECT_EQ(odd->least, 1.0);
  EXPECT_EQ(odd->largest, 5.0);
  EXPECT_EQ(spread({{1, 4.0}, {2, 1.0}})->median, 2.5);
}

TEST(Ratios, ComparesEqualRoundsAlone) {
  EXPECT_EQ(ratios({{1, 6.0}, {2, 8.0}, {3, 1.0}}, {{1, 2.0}, {2, 4.0}, {4, 1.0}}),
            (Rounds{{1, 3.0}, {2, 2.0}}));
}

TEST(Least, TakesTheSmallerOfEachRound) {
  EXPECT_EQ(least({{1, 6.0}, {2, 8.0}}, {{2, 4.0}, {3, 5.0}}),
            (Rounds{{1, 6.0}, {2, 4.0}, {3, 5.0}}));
  EXPECT_EQ(least({{1, 3.0}}, {{1, 4.0}}), (Rounds{{1, 3.0}}));
}

TEST(Results, MatchesEveryMemberAsked) {
  const Results results({{{"a", 1}, {"b", "x"}, {"f", 2.0}},
                         {{"a", 1}, {"f", 9.0}},
                         {{"a", 2}, {"b", "x"}, {"f", 3.0}},
                         {{"a", 1}, {"b", "x"}, {"round", 7}, {"f", 4.0}},
                         {{"a", 1}, {"b", "x"}, {"round", 8}}});
  EXPECT_EQ(results.rounds({{"a", 1}, {"b", "x"}}, "f"), (Rounds{{0, 2.0}, {7, 4.0}}));
  EXPECT_EQ(results.median({{"b", "x"}, {"a", 1}}, "f"), 3.0);
  EXPECT_EQ(results.largest(json::object(), "f"), 9.0);
  EXPECT_FALSE(results.median({{"a", 3}}, "f"));
  EXPECT_FALSE(results.largest({{"a", 3}}, "f"));
}

TEST(Results, SaysWhichLineIsBroken) {
  const test::ScratchDirectory folder;
  const auto file = folder.path() / "results.jsonl";
  std::ofstream(file) << "{\"a\": 1}\nnothing\n";
  test::expect_throws<std::runtime_error>([&] { Results::read(file); },
                                          {"line 2 is no JSON object"});
  EXPECT_THROW(Results::read(folder.path() / "none"), std::runtime_error);
}

/// The row of a Markdown table that starts with `label`.
std::string row(const std::string& table, const std::string& label) {
  const std::size_t begin = table.find("| " + label + " |");
  return begin == std::string::npos ? "" : table.substr(begin, table.find('\n', begin) - begin);
}

TEST(RatioTable, PairsRoundsAndTakesTheQuickerPeer) {
  const Results results({epoch("octet", "float", 1, 1, 0.5), epoch("octet", "float", 1, 2, 1.0),
                         epoch("octet", "qat", 1, 1, 0.4), epoch("octet", "qat", 1, 2, 0.6),
                         epoch("octet", "qat", 2, 1, 0.25), epoch("octet", "qat", 2, 2, 0.3),
                         epoch("torch", "qat", 1, 1, 2.0), epoch("torch", "qat", 1, 2, 2.4),
                         epoch("libtorch", "qat", 1, 1, 1.6), epoch("libtorch", "qat", 1, 2, 3.0)});
  const std::string table = ratio_table(results, false);
  // Each round by itself: 0.8 and 0.6, 4 and 4, 1.6 and 2.
  EXPECT_EQ(row(table, "quantized / float, 1 thread"),
            "| quantized / float, 1 thread | - | 0.70 | - |");
  EXPECT_EQ(row(table, "peer / ours, quantized, 1 thread"),
            "| peer / ours, quantized, 1 thread | - | 4.00 | - |");
  EXPECT_EQ(row(table, "1 thread / 2 threads, quantized"),
            "| 1 thread / 2 threads, quantized | - | 1.80 | - |");
  EXPECT_EQ(row(table, "float / floor, 1 thread"), "| float / floor, 1 thread | - | - | - |");
  // 0.2 of 0.7.
  EXPECT_NE(table.find("differs by up to 29 %"), std::string::npos) << table;
  EXPECT_NE(ratio_table(results, true).find("| 0.70 (at most 0.8) |"), std::string::npos);
}

TEST(Report, IsWholeWithoutAnyResult) {
  const std::string text = report(Results({}), false);
  EXPECT_NE(text.find("## Inference"), std::string::npos);
  EXPECT_NE(text.find("| Octet, quantized | - | - | - | - |"), std::string::npos);
  EXPECT_THROW(plot(Results({})), std::runtime_error);
}

TEST(Report, ShowsGrowthPointByPoint) {
  std::vector<json> lines;
  for (const char* mode : {"float", "qat"}) {
    const double base = mode[0] == 'f' ? 1.0 : 2.0;
    for (const int at : {64, 2048}) {
      lines.push_back({{"what", "growth"},
                       {"axis", "batch"},
                       {"at", at},
                       {"mode", mode},
                       {"weights", 235000.0},
                       {"us_per_image", base + at},
                       {"peak_mb", 10.0 * base}});
    }
  }
  const std::string text = report(Results(lines), false);
  EXPECT_EQ(row(text, "64"), "| 64 | 235 | 65.00 | 66.00 | 10.0 | 20.0 |");
  EXPECT_EQ(text.find("| 64 |"), text.rfind("| 64 |"));
  EXPECT_EQ(row(text, "2048"), "| 2048 | 235 | 2049.00 | 2050.00 | 10.0 | 20.0 |");
}

TEST(Report, ShowsPhasesInTheirOrder) {
  std::vector<json> lines;
  for (const int round : {1, 2}) {
    lines.push_back({{"what", "profile"},
                     {"mode", "qat"},
                     {"round", round},
                     {"us_per_step", 100.0},
                     {"explained", 0.9},
                     {"phase 00 zebra", 60.0},
                     {"phase 01 ant", 25.0 + 10.0 * round}});
  }
  const std::string text = report(Results(lines), false);
  EXPECT_NE(text.find("| zebra | 60.0 | 60.0 % |\n| ant | 40.0 | 40.0 % |\n"
                      "| all | 100.0 | 90.0 % |"),
            std::string::npos)
      << text;
}

TEST(Plot, PlacesPointsByImagesASecond) {
  // 240 and 120 thousand images a second on an axis up to 250.
  const std::string svg =
      plot(Results({epoch("octet", "qat", 1, 1, 0.25), epoch("torch", "qat", 1, 1, 0.5)}));
  for (const char* dot :
       {"<circle class=\"dot s0\" cx=\"184.0\" cy=\"67.6\" r=\"3\"><title>Octet, quantized: 240<",
        "<circle class=\"dot s1\" cx=\"184.0\" cy=\"206.8\" r=\"3\"><title>PyTorch, quantized: "
        "120<"}) {
    EXPECT_NE(svg.find(dot), std::string::npos) << dot << " of\n" << svg;
  }
  EXPECT_EQ(svg.find("libtorch, "), std::string::npos);
  EXPECT_NE(svg.find("1 thread<"), std::string::npos);
  EXPECT_EQ(svg.find("2 threads<"), std::string::npos) << "a panel without a line";
}

}  // namespace
}  // namespace octet::bench
