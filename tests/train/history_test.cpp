#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/history.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace octet::test::history_test {
namespace {

/// Numbers that need every digit.
History odd_history() {
  const Random random(8);
  History history;
  for (std::uint64_t i = 0; i < 40; ++i) {
    EpochRecord record;
    record.phase = i % 2 == 0 ? "float" : "qat";
    record.epoch = static_cast<int>(i) + 1;
    record.train_loss = static_cast<double>(random.normal(i)) / 3.0;
    record.train_accuracy = static_cast<double>(random.bits(i)) / 7.0e9;
    if (i % 3 != 0) record.test_accuracy = static_cast<double>(random.bits(i + 50)) / 11.0e9;
    if (i % 3 == 2) record.integer_accuracy = 1.0 / static_cast<double>(i + 3);
    if (i % 3 == 2) record.differing_predictions = i * 1000000007U;
    record.seconds = static_cast<double>(random.uniform(i)) / 9.0;
    record.images_per_second = 1e9 / static_cast<double>(i + 7);
    if (i % 5 == 1) record.metrics.push_back({"top 3", 1.0 / static_cast<double>(i + 7)});
    if (i % 5 >= 1) record.metrics.push_back({"margin", -static_cast<double>(i) / 3.0});
    record.learning_rate = 0.1F / static_cast<float>(i + 1);
    history.push_back(record);
  }
  history[3].train_loss = 0.0;
  history[4].train_loss = 1e-300;
  history[5].train_loss = std::numeric_limits<double>::max();
  return history;
}

void expect_equal(const EpochRecord& a, const EpochRecord& b) {
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.train_loss, b.train_loss);
  EXPECT_EQ(a.train_accuracy, b.train_accuracy);
  EXPECT_EQ(a.test_accuracy, b.test_accuracy);
  EXPECT_EQ(a.integer_accuracy, b.integer_accuracy);
  EXPECT_EQ(a.differing_predictions, b.differing_predictions);
  EXPECT_EQ(a.metrics, b.metrics);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.images_per_second, b.images_per_second);
  EXPECT_EQ(a.learning_rate, b.learning_rate);
}

TEST(History, JsonRoundTripIsExact) {
  const History history = odd_history();
  const History back = parse_history(history_json(history));
  ASSERT_EQ(back.size(), history.size());
  for (std::size_t i = 0; i < history.size(); ++i) expect_equal(back[i], history[i]);
  EXPECT_TRUE(parse_history(history_json({})).empty());
}

TEST(History, CsvHoldsEveryDigit) {
  const History history = odd_history();
  std::istringstream lines(history_csv(history));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "phase,epoch,learning_rate,train_loss,train_accuracy,test_accuracy,integer_accuracy,"
            "differing_predictions,top 3,margin,seconds,images_per_second");
  for (const EpochRecord& record : history) {
    ASSERT_TRUE(std::getline(lines, line));
    std::istringstream cells(line);
    std::vector<std::string> cell(12);
    for (std::string& text : cell) std::getline(cells, text, ',');
    EXPECT_EQ(cell[0], record.phase);
    EXPECT_EQ(std::stoi(cell[1]), record.epoch);
    EXPECT_EQ(std::stof(cell[2]), record.learning_rate);
    EXPECT_EQ(std::strtod(cell[3].c_str(), nullptr), record.train_loss);
    EXPECT_EQ(std::stod(cell[4]), *record.train_accuracy);
    EXPECT_EQ(cell[5].empty(), !record.test_accuracy.has_value());
    if (record.test_accuracy) {
      EXPECT_EQ(std::stod(cell[5]), *record.test_accuracy);
    }
    if (record.integer_accuracy) {
      EXPECT_EQ(std::stod(cell[6]), *record.integer_accuracy);
    }
    if (record.differing_predictions) {
      EXPECT_EQ(std::stoull(cell[7]), *record.differing_predictions);
    }
    // Epochs without a metric leave its cell empty.
    const auto expect_metric = [&](const std::string& name, const std::string& text) {
      const auto found = std::ranges::find(record.metrics, name, &MetricValue::name);
      EXPECT_EQ(text.empty(), found == record.metrics.end()) << name;
      if (!text.empty()) {
        EXPECT_EQ(std::stod(text), found->value) << name;
      }
    };
    expect_metric("top 3", cell[8]);
    expect_metric("margin", cell[9]);
    EXPECT_NEAR(std::stod(cell[10]), record.seconds, 1e-6);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(History, CsvWithoutTimesLeavesThemOut) {
  History a = odd_history();
  History b = a;
  b[0].seconds += 1.0;
  b[1].images_per_second += 1.0;
  EXPECT_NE(history_csv(a), history_csv(b));
  EXPECT_EQ(history_csv(a, false), history_csv(b, false));
  b[2].train_loss += 1e-15;
  EXPECT_NE(history_csv(a, false), history_csv(b, false));
  EXPECT_EQ(history_csv({}, false).find("seconds"), std::string::npos);
}

TEST(History, WithoutMetricsIsAsItEverWas) {
  EpochRecord record;
  record.phase = "float";
  record.epoch = 1;
  record.train_loss = 0.5;
  record.train_accuracy = 0.25;
  EXPECT_EQ(
      history_csv({record}),
      "phase,epoch,learning_rate,train_loss,train_accuracy,test_accuracy,integer_accuracy,"
      "differing_predictions,seconds,images_per_second\nfloat,1,0,0.5,0.25,,,,0.000000,0.0\n");
  EXPECT_EQ(history_json({record}).find("metrics"), std::string::npos);
  record.metrics = {{"margin", 2.0}};
  EXPECT_EQ(history_csv({record}, false),
            "phase,epoch,learning_rate,train_loss,train_accuracy,test_accuracy,integer_accuracy,"
            "differing_predictions,margin\nfloat,1,0,0.5,0.25,,,,2\n");
}

TEST(History, MetricsThatNoTrainerRecordsAreAFormatError) {
  EpochRecord record;
  record.metrics = {{"margin", 2.0}};
  const std::string good = history_json({record});
  const std::string written = "[[\"margin\",2.0]]";
  ASSERT_NE(good.find(written), std::string::npos);
  const auto refused = [&](const std::string& metrics, const char* part) {
    std::string text = good;
    text.replace(text.find(written), written.size(), metrics);
    expect_mentions(message_of<FormatError>([&] { parse_history(text); }), part);
  };
  for (const char* metrics :
       {"7", "{}", "[7]", "[[]]", "[[\"a\"]]", "[[\"a\",\"b\"]]", "[[1,2]]"}) {
    refused(metrics, "history: expected");
  }
  refused("[[\"a\",1],[\"a\",2]]", "history: metric \"a\": another metric has that name");
  refused("[[\"a,b\",1]]", "history: metric \"a,b\": expected printable ASCII");
}

TEST(History, OtherTextIsAFormatError) {
  const std::string good = history_json({odd_history()[1]});
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("null"), std::string("7"), std::string("[7]"),
        std::string("[{}]"), std::string("[{\"phase\":\"float\"}]"),
        good.substr(0, good.size() - 1), good + "]"}) {
    expect_mentions(message_of<FormatError>([&] { parse_history(text); }), "history: expected");
  }
  std::string wrong_type = good;
  wrong_type.replace(wrong_type.find("\"epoch\":2"), 9, "\"epoch\":\"2\"");
  EXPECT_THROW(parse_history(wrong_type), FormatError);
}

}  // namespace
}  // namespace octet::test::history_test
