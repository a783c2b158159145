#include <octet/core/error.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/run/resume_command.h>
#include <octet/train/run/stop_signals.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace octet::test::stop_signals_test {
namespace {

volatile std::sig_atomic_t handled = 0;

extern "C" void count_signal(int /*signal*/) { handled = handled + 1; }

/// Puts a handler back at the end of a test.
class Handler {
 public:
  Handler(int signal, void (*handler)(int)) : signal_(signal), before_(::signal(signal, handler)) {}
  ~Handler() { ::signal(signal_, before_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

TEST(StopSignals, NoteTheFirstOfEachKindAndRestoreTheHandlersOfBefore) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    const Handler before(signal, count_signal);
    handled = 0;
    {
      const StopSignals signals;
      EXPECT_FALSE(signals.requested());
      EXPECT_EQ(signals.signal(), 0);
      ::raise(signal);
      EXPECT_TRUE(signals.requested());
      EXPECT_EQ(signals.signal(), signal);
      EXPECT_EQ(handled, 0);
    }
    ::raise(signal);
    EXPECT_EQ(handled, 1);
  }
}

TEST(StopSignals, ASecondHangupIsNotedAndNoMore) {
  const StopSignals signals;
  ::raise(SIGINT);
  ::raise(SIGHUP);
  ::raise(SIGHUP);
  EXPECT_EQ(signals.signal(), SIGINT);
}

TEST(StopSignalsDeathTest, ASecondSignalEndsTheProcess) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto twice = [](int first, int second) {
    const StopSignals signals;
    ::raise(first);
    ::raise(second);
    ::_exit(0);
  };
  EXPECT_EXIT(twice(SIGINT, SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGHUP, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignals, WhatTheCallerIgnoresStaysIgnored) {
  const Handler ignored(SIGHUP, SIG_IGN);
  const StopSignals signals;
  ::raise(SIGHUP);
  EXPECT_FALSE(signals.requested());
}

TEST(StopSignals, AFilePastTheLimitAndAReaderThatHasGoneAreErrorsOfTheWrite) {
  for (const int signal : {SIGXFSZ, SIGPIPE}) {
    SCOPED_TRACE(signal);
    const Handler before(signal, count_signal);
    handled = 0;
    {
      const StopSignals signals;
      ::raise(signal);
      EXPECT_EQ(handled, 0);
      EXPECT_FALSE(signals.requested());
    }
    ::raise(signal);
    EXPECT_EQ(handled, 1);
  }
}

TEST(StopSignals, ThereIsOneObjectAtATimeAndEachForgetsTheOneBefore) {
  {
    const StopSignals signals;
    ::raise(SIGTERM);
    EXPECT_THROW(StopSignals second, InvalidArgument);
    EXPECT_EQ(signals.signal(), SIGTERM);
  }
  const StopSignals signals;
  EXPECT_FALSE(signals.requested());
}

TEST(ResumeCommand, QuotesWhatAShellWouldTakeApart) {
  const char* const words[] = {"./train", "--out", "it's odd; $HOME", "", "a,b=1"};
  EXPECT_EQ(resume_command(5, words, "--resume"),
            "./train --out 'it'\\''s odd; $HOME' '' a,b=1 --resume");
  const char* const resumed[] = {"./train", "--resume", "--out", "x"};
  EXPECT_EQ(resume_command(4, resumed, "--resume"), "./train --resume --out x");
  const std::vector<std::string> odd = {"./a b", "it's", "", "--out=x", "'", "\\"};
  EXPECT_EQ(words_of_command(shell_command(odd)), odd);
}

}  // namespace
}  // namespace octet::test::stop_signals_test
