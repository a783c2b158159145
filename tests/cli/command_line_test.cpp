// What the programs make of numbers, words that they do not know, and questions for help.

#include <octet/command_line/message.h>
#include <octet/tests/cli/mnist_qat.h>

namespace octet::test::command_line_test {
namespace {

/// A program that is given what every other option needs.
struct Program {
  std::string name;
  Arguments call;
};

const Program kMnistQat{"mnist_qat", {OCTET_MNIST_QAT}};
const Program kEval{"octet eval", {OCTET_TOOL, "eval", "m", "--data", "d"}};
const Program kRun{"octet run", {OCTET_TOOL, "run", "m", "--input", "i", "--out", "o"}};
const Program kSearch{"octet search", {OCTET_TOOL, "search", "m", "--data", "d"}};
const Program kReport{"octet report", {OCTET_TOOL, "report", "f", "--data", "d", "--out", "o"}};
const Program kQuantize{"octet quantize",
                        {OCTET_TOOL, "quantize", "m", "--data", "d", "--out", "o"}};
const Program kVerify{"octet verify", {OCTET_TOOL, "verify", "m", "m"}};

/// Fails unless the program refuses its command line in one line that holds `part`.
void expect_refused(const Arguments& call, std::string_view part) {
  const ProcessResult result = run_process(call, plain_environment());
  expect_one_error(result, 2, part);
  EXPECT_EQ(result.out, "");
}

TEST(CommandLine, NumbersThatAreNoneOrOutOfRangeAreRefusedWithTheRange) {
  const std::string seeds = "a whole number from 0 to 2^64 - 1";
  const std::string images = "a whole number from 1 to 1000000000";
  const std::string threads = "a whole number from 1 to 1024";
  const std::string bytes = "a whole number from 1 to 2^63 - 1";
  const std::string percent = "a number from 0 to 100";
  const std::string epochs = "a whole number from 0 to 100000";
  const std::string batch = "a whole number from 1 to 1048576";
  const std::string rate = "a number from 1e-37 to 1e+37";
  const std::string dropped = "a number from 0 to 0.9";
  struct Row {
    const Program& program;
    std::string option;
    std::string range;
  };
  const std::vector<Row> rows = {
      {kEval, "--threads", threads},
      {kEval, "--limit", images},
      {kRun, "--samples", images},
      {kRun, "--threads", threads},
      {kSearch, "--flash", bytes},
      {kSearch, "--max-drop", percent},
      {kSearch, "--samples", images},
      {kSearch, "--threads", threads},
      {kReport, "--threads", threads},
      {kQuantize, "--calibrate", images},
      {kQuantize, "--epochs", epochs},
      {kQuantize, "--lr", rate},
      {kQuantize, "--batch", batch},
      {kQuantize, "--percentile", "a number from 1e-09 to 100"},
      {kQuantize, "--seed", seeds},
      {kQuantize, "--weight-bits", "a whole number from 2 to 8"},
      {kQuantize, "--mean", "a number from -1000000 to 1000000, or several with commas between"},
      {kQuantize, "--std", "a number from 1e-06 to 1000000, or several with commas between"},
      {kQuantize, "--threads", threads},
      {kVerify, "--random", "a whole number from 1 to 1000000"},
      {kMnistQat, "--epochs", epochs},
      {kMnistQat, "--qat-epochs", epochs},
      {kMnistQat, "--batch", batch},
      {kMnistQat, "--shards", batch},
      {kMnistQat, "--seed", seeds},
      {kMnistQat, "--shift", "a whole number from 0 to 1024"},
      {kMnistQat, "--threads", threads},
      {kMnistQat, "--weight-bits", "a whole number from 2 to 8"},
      {kMnistQat, "--hidden", "a whole number from 1 to 65536, or several with commas between"},
      {kMnistQat, "--lr", rate},
      {kMnistQat, "--qat-lr", rate},
      {kMnistQat, "--dropout", dropped},
      {kMnistQat, "--input-dropout", dropped},
      {kMnistQat, "--freeze-oscillations", "a number from 0 to 0.99"},
      {kMnistQat, "--flash", bytes},
      {kMnistQat, "--max-drop", percent}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.program.name + " " + row.option);
    // The one past 2^129 would wrap around to 1.
    for (const std::string text :
         {"nan", "inf", "-18446744073709551615", "680564733841876926926749214863536422913", "1e39",
          "1e999", "0x1", "1,", "1x", ""}) {
      expect_refused(row.program.call + Arguments{row.option, text},
                     row.option + ": expected " + row.range + ", found \"" + text + "\"");
    }
  }
  for (const Program& program : {kQuantize, kMnistQat}) {
    expect_refused(program.call + Arguments{"--seed", "18446744073709551616"}, seeds);
  }
}

TEST(CommandLine, BoundsAreTaken) {
  struct Row {
    const Program& program;
    Arguments options;
  };
  const std::vector<Row> rows = {
      {kSearch, {"--flash", "9223372036854775807"}},
      {kSearch, {"--max-drop", "0"}},
      {kQuantize, {"--seed", "18446744073709551615", "--lr", "1e-9", "--epochs", "0"}},
      {kQuantize, {"--mean", "-0.5,0,1e6", "--std", "1e-6", "--lr", "1"}},
      {kRun, {"--samples", "1000000000", "--threads", "1024"}}};
  for (const auto& [program, options] : rows) {
    // There is no such model: its command line was right.
    const ProcessResult result = run_process(program.call + options, plain_environment());
    EXPECT_EQ(result.exit_code, 1) << program.name;
    expect_mentions(result.err, "cannot read 'm'");
  }
}

TEST(CommandLine, UnknownWordsAreShownAsTypedWithWhatTheyAreCloseTo) {
  struct Row {
    Arguments call;
    std::string message;
  };
  const std::vector<Row> rows = {
      {{OCTET_MNIST_QAT, "--epoch", "3", "--dta", "x"},
       "not expected: --epoch 3 --dta x; did you mean --epochs? ("},
      {{OCTET_MNIST_QAT, "--batchnorm"}, "not expected: --batchnorm; did you mean --batch-norm? ("},
      {{OCTET_MNIST_QAT, "--qat-ecophs=3"}, "--qat-ecophs=3; did you mean --qat-epochs? ("},
      {{OCTET_MNIST_QAT, "stray", "a b"}, "not expected: stray 'a b' ("},
      {{OCTET_MNIST_QAT, "--frobnicate"}, "not expected: --frobnicate ("},
      {{OCTET_TOOL, "quantise", "x", "--data", "y"},
       "there is no command 'quantise'; did you mean quantize? (see octet --help)"},
      {{OCTET_TOOL, "help", "evla"},
       "there is no command 'evla'; did you mean eval? (see octet --help)"},
      // Before the option that is missing because it is mistyped.
      {{OCTET_TOOL, "quantize", "x", "--dta", "y", "--out", "z"},
       "not expected: --dta y; did you mean --data? (see octet quantize --help)"},
      {{OCTET_TOOL, "export", "x", "--onxn", "y"}, "--onxn y; did you mean --onnx? (see octet exp"},
      {{OCTET_TOOL, "inspect", "x", "eval", "y"},
       "not expected: eval y (see octet inspect --help)"},
      {{OCTET_TOOL, "search", "x", "--data", "y"}, "[--flash,--max-drop] is required ("}};
  for (const auto& [call, message] : rows) expect_refused(call, message);
}

TEST(CommandLine, MessagesArePrintedInOneLine) {
  EXPECT_EQ(command_line::one_line("not these:\n  a\n  b\x1b"), "not these:   a   b?");
  EXPECT_LE(command_line::one_line(std::string(9000, '\n')).size(), 2003U);
}

TEST(CommandLine, HelpSaysWhatIsTrueOfTheCommand) {
  const auto help = [](const Arguments& program) {
    // Without the line feeds and the indentation that a description is wrapped with.
    std::string words;
    for (const char c : run_process(program + Arguments{"--help"}, plain_environment()).out) {
      const bool space = c == ' ' || c == '\n';
      if (!space || !words.ends_with(' ')) words += space ? ' ' : c;
    }
    return words;
  };
  const std::string quantize = help({OCTET_TOOL, "quantize"});
  expect_mentions(quantize, "default: 1000 examples");
  expect_mentions(quantize, "--lr is 1e-3 unless told");
  EXPECT_EQ(quantize.find("the weights of --network"), std::string::npos);
  for (const Arguments& program : {Arguments{OCTET_MNIST_QAT}, {OCTET_TOOL, "train"}}) {
    const std::string train = help(program);
    expect_mentions(train, "default: 10 batches");
    expect_mentions(train, "the QAT epochs take the rate of --lr");
    expect_mentions(train, "the weights of --network");
  }
}

TEST(CommandLine, HelpIsGivenForEveryCommand) {
  const auto octet = [](const Arguments& words) {
    return run_process(Arguments{OCTET_TOOL} + words, plain_environment());
  };
  EXPECT_EQ(octet({"help"}).out, octet({"--help"}).out);
  for (const char* command : {"inspect", "run", "eval", "export", "import", "search", "report",
                              "verify", "train", "quantize", "help"}) {
    const ProcessResult help = octet({"help", command});
    EXPECT_EQ(help.exit_code, 0) << help.err;
    EXPECT_EQ(help.out, octet({command, "--help"}).out) << command;
    expect_mentions(help.out, std::string("Usage: octet ") + command);
  }
}

TEST(CommandLine, OutIsCalledSoEverywhere) {
  for (const char* command : {"run", "import", "report", "train", "quantize"}) {
    const ProcessResult help = run_process({OCTET_TOOL, command, "--help"}, plain_environment());
    expect_mentions(help.out, "--out,--output");
  }
  expect_mentions(run_process({OCTET_MNIST_QAT, "--help"}, plain_environment()).out,
                  "--out,--output");
}

TEST(CommandLine, OptionsOfTrainingAreGrouped) {
  for (const Arguments& program : {Arguments{OCTET_MNIST_QAT}, {OCTET_TOOL, "train"}}) {
    const std::string help = run_process(program + Arguments{"--help"}, plain_environment()).out;
    std::size_t at = 0;
    for (const char* part : {"Files:", "--out", "Network:", "--hidden", "Training:", "--lr",
                             "Quantization:", "--scales", "Runtime and size:", "--target",
                             "Machine and screen:", "--threads"}) {
      const std::size_t next = help.find(part, at);
      ASSERT_NE(next, std::string::npos) << part << "\n" << help;
      at = next;
    }
  }
}

}  // namespace
}  // namespace octet::test::command_line_test
