#include <fcntl.h>
#include <octet/tests/train/training.h>
#include <octet/train/run/progress_bar.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace octet::test::progress_bar_test {
namespace {

/// What a ProgressBar of that style shows of a run.
std::string shown(bool quantized, ProgressBar::Style style, bool with_test, int epochs = 2,
                  std::vector<Metric> metrics = {}) {
  std::FILE* file = std::tmpfile();
  const Dataset data = clouds(20);
  Sequential model = quantized ? quantize_model(small_mlp()) : small_mlp();
  Trainer trainer(model, Adam(), {.metrics = std::move(metrics), .batch_size = 5});
  trainer.add_callback(std::make_shared<ProgressBar>(file, style));
  if (with_test) {
    trainer.fit(data, data, epochs);
  } else {
    trainer.fit(data, epochs);
  }
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(TimeLeft, IsThatOfAllEpochsAtTheSpeedSoFar) {
  TimeLeft time;
  EXPECT_EQ(time.take(0.1, 4.9, 100.0), std::nullopt) << "the first step was slower";
  EXPECT_EQ(time.take(0.1, 4.9, 101.0), std::nullopt) << "nothing was done since";
  EXPECT_DOUBLE_EQ(time.take(0.6, 4.4, 105.0).value(), 44.0);
  EXPECT_DOUBLE_EQ(time.take(2.1, 2.9, 140.0).value(), 58.0);
  EXPECT_DOUBLE_EQ(time.take(5.0, 0.0, 149.0).value(), 0.0);
  time.reset();
  EXPECT_EQ(time.take(3.0, 2.0, 500.0), std::nullopt);
  for (const auto& [seconds, text] : std::vector<std::pair<double, const char*>>{
           {0.2, "0 s"}, {99.4, "99 s"}, {99.6, "2 min"}, {5969, "99 min"}, {7500, "2 h 5 min"}}) {
    EXPECT_EQ(detail::duration_text(seconds), text);
  }
}

TEST(ProgressBar, LinesEndInTheTimeLeftOfAllEpochs) {
  std::FILE* file = std::tmpfile();
  ProgressBar bar(file, ProgressBar::Style::lines, /*later_epochs=*/50000000);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd());
  const auto step = [&](std::size_t batch) {
    bar.on_step_end(trainer,
                    {.phase = "float", .epoch = 2, .epochs = 2, .batch = batch, .batches = 2});
  };
  step(1);
  step(2);
  EpochRecord record;
  record.epoch = 2;
  bar.on_epoch_end(trainer, record);
  std::rewind(file);
  std::array<char, 256> line{};
  ASSERT_NE(std::fgets(line.data(), line.size(), file), nullptr);
  const std::string text(line.data());
  EXPECT_TRUE(text.ends_with(" left\n")) << text;
  std::fclose(file);
}

TEST(ProgressBar, PlainLinesOffATerminal) {
  for (const auto style : {ProgressBar::Style::automatic, ProgressBar::Style::lines}) {
    const std::string text = shown(false, style, true);
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_EQ(std::ranges::count(text, '\n'), 2);
    for (const char* part :
         {"float 1/2  loss ", "float 2/2  loss ", " accuracy ", " img/s", "  test accuracy "}) {
      expect_mentions(text, part);
    }
    EXPECT_EQ(text.find("integer"), std::string::npos);
    const std::string last = text.substr(text.find("float 2/2"));
    EXPECT_EQ(last.find(" left"), std::string::npos) << "nothing follows";
    expect_mentions(text.substr(0, text.size() - last.size()), " s left\n");
  }
  EXPECT_EQ(shown(false, ProgressBar::Style::lines, false).find("test"), std::string::npos);
}

TEST(ProgressBar, AQuantizedModelShowsBothAccuracies) {
  const std::string text = shown(true, ProgressBar::Style::lines, true, 1);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  expect_mentions(text, "qat   calibrated  test accuracy: simulated ");
  expect_mentions(text, "qat   1/1  loss ");
  expect_mentions(text, ", integer ");
  expect_mentions(text, ", 0 examples differ");
}

TEST(ProgressBar, ShowsMetricsBehindTheAccuracies) {
  const std::vector<Metric> metrics = {{"a", [](auto&&, auto) { return 0.123456; }},
                                       {"b", [](auto&&, auto) { return 2e-9; }}};
  const std::string part = "  a 0.1235  b 2e-09\n";
  const std::string text = shown(true, ProgressBar::Style::lines, true, 1, metrics);
  expect_mentions(text, " examples differ" + part);
  EXPECT_NE(text.find(part), text.rfind(part)) << "also of the calibrated model";
  expect_mentions(shown(false, ProgressBar::Style::lines, true, 1, metrics), " %" + part);
  EXPECT_EQ(shown(false, ProgressBar::Style::lines, false, 1, metrics).find("  a "),
            std::string::npos);
}

TEST(ProgressBar, ABarIsDrawnOverAndLeavesALine) {
  const std::string text = shown(false, ProgressBar::Style::bar, true, 1);
  expect_mentions(text, "\r\033[Kfloat 1/1 [");
  expect_mentions(text, "[########################]");
  expect_mentions(text, " s left");
  const std::string last = text.substr(text.rfind("\033[K") + 3);
  EXPECT_EQ(last.rfind("float 1/1  loss ", 0), 0U);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST(ProgressBar, ABarFitsIntoANarrowTerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) {
    GTEST_SKIP() << "no pseudo terminals here";
  }
  const winsize narrow{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &narrow), 0);
  std::FILE* screen = std::fopen(::ptsname(terminal), "w");
  ASSERT_NE(screen, nullptr);
  ProgressBar bar(screen);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd());
  bar.on_step_end(
      trainer,
      {.phase = "float", .epoch = 1, .epochs = 2, .batch = 4, .batches = 4, .seconds = 1.0});
  std::array<char, 512> shown{};
  const ::ssize_t size = ::read(terminal, shown.data(), shown.size());
  const std::string text(shown.data(), static_cast<std::size_t>(std::max<::ssize_t>(size, 0)));
  const std::string start = "\r\033[K";
  EXPECT_EQ(text.substr(0, start.size() + 11), start + "float 1/2 [");
  EXPECT_EQ(text.size(), start.size() + 39);
  std::fclose(screen);
  ::close(terminal);
}

TEST(ProgressBar, DoesNotInventTheNumberOfEpochs) {
  // A run stopped after the last step of its epoch has only the end of it left.
  const Dataset data = clouds(20);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(), {.batch_size = 20, .should_stop = [] { return true; }});
  trainer.fit(data, 3);
  std::FILE* file = std::tmpfile();
  trainer.add_callback(std::make_shared<ProgressBar>(file));
  trainer.fit(data, 1);
  std::rewind(file);
  std::array<char, 64> line{};
  ASSERT_NE(std::fgets(line.data(), line.size(), file), nullptr);
  EXPECT_EQ(std::string(line.data()).substr(0, 14), "float 1  loss ");
  std::fclose(file);
}

}  // namespace
}  // namespace octet::test::progress_bar_test
