// What mnist_qat makes of its command line.

#include <fmt/format.h>
#include <octet/tests/cli/parsed_options.h>

namespace octet::test::mnist_qat_usage_test {
namespace {

TEST(MnistQatUsage, HelpAndVersion) {
  const ProcessResult version = mnist_qat({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out.substr(0, 6), "octet ");
  EXPECT_EQ(lines_in(version.out), 1);
  const ProcessResult help = mnist_qat({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  const std::string options =
      "--data --out --epochs --qat-epochs --batch --lr --qat-lr --qat-schedule --hidden --seed "
      "--threads --per-channel --tfmot-ranges --rounding --checkpoint-dir --resume --log-level "
      "--no-progress --json --simulation --profile --help --version 256,128 --network lenet5 "
      "--target cmsis-nn --packed --scales --weight-bits --layer-bits --activation-bits --flash "
      "--max-drop "
      "--batch-statistics --count-oscillations --freeze-oscillations";
  for (const std::string& option : words_of(options)) expect_mentions(help.out, option);
}

TEST(MnistQatUsage, WrongOptionsAndValuesAreOneLineAndExitCode2) {
  const std::vector<std::pair<std::string, std::string>> wrong_values = {
      {"--data", "''"},
      {"--out", "''"},
      {"--checkpoint-dir", "''"},
      {"--epochs", "-1 1.5 many 99999999999"},
      {"--qat-epochs", "-1 x"},
      {"--batch", "0 -3 1e99"},
      {"--lr", "0 -1 nan inf 1e-60 1e60 0.1x"},
      {"--qat-lr", "0 x"},
      {"--hidden", "'' 0 -5 12,,7 12, ,12 12,a '12 7' 99999999999"},
      {"--seed", "-1 1.5 '' 18446744073709551616"},
      {"--threads", "0 -2 x"},
      {"--rounding", "up ''"},
      {"--target", "tflite"},
      {"--network", "lenet ''"},
      {"--log-level", "loud"},
      {"--weight-bits", "1 9"},
      {"--layer-bits", "dense dense= dense=1 dense=9 =4 dense=4,dense=5"},
      {"--activation-bits", "1 9 17"},
      {"--scales", "pact"},
      {"--dropout", "1"},
      {"--shift", "-1"}};
  std::vector<Arguments> wrong = {{"--frob"},         {"stray"},          {"--data"},
                                  {"--out"},          {"--packed"},       {"--json=3"},
                                  {"--resume=maybe"}, {"--per-channel=0"}};
  wrong.push_back({"--epochs", "1", "--epochs", "2"});
  wrong.push_back({"--network", "lenet5", "--batch-norm"});
  for (const auto& [option, values] : wrong_values) {
    for (const std::string& value : words_of(values)) wrong.push_back({option, value});
  }
  for (const Arguments& arguments : wrong) {
    SCOPED_TRACE(arguments.front() + " " + arguments.back());
    const ProcessResult result = parse(arguments);
    // CLI11 names a flag without its dashes.
    const std::string& option = arguments.front();
    expect_failure(result, 2,
                   option.substr(option.rfind('-') + 1, option.find('=') - option.rfind('-') - 1));
    EXPECT_EQ(result.out, "");
  }
}

TEST(MnistQatUsage, WhatIsWrongEndsTheProgram) {
  const ProcessResult result = mnist_qat({"--epochs", "many"});
  expect_failure(result, 2, "--epochs");
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, parse({"--epochs", "many"}).err);
}

TEST(MnistQatUsage, ANetworkChoosesTheRate) {
  EXPECT_EQ(options_of({}).lr, 1e-3F);
  EXPECT_EQ(options_of({"--network", "lenet5"}).lr, 2e-3F);
  EXPECT_EQ(options_of({"--network", "dscnn"}).lr, 1e-3F);
  EXPECT_EQ(options_of({"--lr", "0.5", "--network", "lenet5"}).lr, 0.5F);
  EXPECT_EQ(options_of({}).qat_lr, 1e-4F);
  EXPECT_EQ(options_of({"--network", "resnet8"}).qat_lr, 2e-3F);
  EXPECT_EQ(options_of({"--qat-lr", "0.5", "--network", "resnet8"}).qat_lr, 0.5F);
  // From scratch, quantized steps are those of training in float.
  EXPECT_EQ(options_of({"--network", "resnet8", "--epochs", "0"}).qat_lr, 4e-3F);
  EXPECT_FALSE(options_of({}).rate_falls);
  EXPECT_TRUE(options_of({"--schedule", "cosine"}).rate_falls);
  EXPECT_TRUE(options_of({"--network", "resnet8"}).rate_falls);
  EXPECT_FALSE(options_of({"--network", "resnet8", "--schedule", "constant"}).rate_falls);
  EXPECT_FALSE(options_of({"--network", "resnet8", "--lr", "1e-4"}).rate_falls);
  expect_failure(parse({"--schedule", "cosine", "--lr", "1e-5"}), 2,
                 "--schedule: cosine falls from --lr to --qat-lr, found 1e-05 and 0.0001");
}

TEST(MnistQatUsage, FewBitsChooseLearnedScalesAndTheirRate) {
  struct Row {
    Arguments arguments;
    bool learned;
    float rate;
  };
  for (const Row& row : std::vector<Row>{
           {{"--weight-bits", "8"}, false, 1e-4F},
           {{"--weight-bits", "5"}, false, 1e-4F},
           {{"--weight-bits", "4"}, true, 1e-3F},
           {{"--weight-bits", "2"}, true, 1e-3F},
           {{"--layer-bits", "dense=8,dense_1=4"}, true, 1e-3F},
           {{"--layer-bits", "dense=5"}, false, 1e-4F},
           {{"--activation-bits", "4"}, true, 1e-3F},
           {{"--activation-bits", "16"}, false, 1e-4F},
           {{"--weight-bits", "4", "--activation-bits", "16"}, true, 1e-3F},
           {{"--weight-bits", "4", "--scales", "measured"}, false, 1e-3F},
           {{"--weight-bits", "4", "--qat-lr", "0.25"}, true, 0.25F},
           {{"--weight-bits", "4", "--lr", "5e-4", "--schedule", "cosine"}, true, 5e-4F},
           {{"--weight-bits", "4", "--lr", "0.5", "--epochs", "0"}, true, 0.5F},
           {{"--weight-bits", "4", "--network", "lenet5"}, true, 1e-3F},
           {{"--weight-bits", "4", "--network", "resnet8"}, true, 2e-3F}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(row.arguments, " ")));
    const application::Options options = options_of(row.arguments);
    EXPECT_EQ(options.quantize.weight_scales == Scales::lsq, row.learned);
    EXPECT_EQ(options.qat_lr, row.rate);
  }
}

TEST(MnistQatUsage, ATargetChoosesTheContract) {
  const auto rounding_for = [](const Arguments& arguments) {
    return options_of(arguments).quantize.rounding;
  };
  EXPECT_EQ(rounding_for({}), Rounding::fp32);
  EXPECT_EQ(rounding_for({"--target", "litert"}), Rounding::fp32);
  EXPECT_EQ(rounding_for({"--target", "onnxruntime"}), Rounding::fp32);
  EXPECT_EQ(rounding_for({"--target", "tflm"}), Rounding::double_rounding);
  EXPECT_EQ(rounding_for({"--target", "cmsis-nn", "--rounding", "double"}),
            Rounding::double_rounding);
}

TEST(MnistQatUsage, CodesOfInt16HaveAContractOfTheirOwn) {
  const Arguments wide = {"--activation-bits", "16"};
  EXPECT_EQ(options_of(wide).quantize.rounding, Rounding::q15);
  for (const char* target : {"tflm", "cmsis-nn"}) {
    EXPECT_EQ(options_of(wide + Arguments{"--target", target}).quantize.rounding, Rounding::q15);
  }
  for (const Arguments& options :
       {Arguments{"--rounding", "fp32"}, Arguments{"--packed", "--target", "tflm"},
        Arguments{"--flash", "65536"}, Arguments{"--max-drop", "1"},
        Arguments{"--target", "litert"}, Arguments{"--target", "onnxruntime"}}) {
    expect_failure(parse(wide + options), 2, "found --activation-bits 16");
    expect_failure(parse(wide + options), 2, options.front() + ": ");
  }
}

TEST(MnistQatUsage, OptionsThatContradictEachOtherAreNamed) {
  expect_failure(parse({"--target", "tflm", "--rounding", "fp32"}), 2,
                 "--target and --rounding: target tflm computes in rounding mode double, found "
                 "fp32; give the target alone");
  expect_failure(parse({"--rounding", "single", "--target", "litert"}), 2, "found single");
  expect_failure(parse({"--network", "lenet5", "--hidden", "12"}), 2,
                 "--hidden: describes --network mlp, found --network lenet5");
  EXPECT_EQ(parse({"--network", "mlp", "--hidden", "12"}).exit_code, -1);
  expect_failure(parse({"--shards", "9", "--batch", "8"}), 2,
                 "--shards: are parts of a batch of --batch 8, found 9");
  expect_failure(parse({"--target", "tflite"}), 2,
                 "expected one of litert, tflm, cmsis-nn, onnxruntime, found tflite");
}

TEST(MnistQatUsage, EveryOptionIsTaken) {
  const std::string all =
      "--data set --out run --epochs 0 --batch 1048576 --lr 0.5 --qat-lr 1e-30 --qat-epochs "
      "100000 --qat-schedule constant --hidden 1,65536 --seed 18446744073709551615 --threads "
      "1024 --shards 1048576 --rounding single --simulation fake_quant --resume --log-level off "
      "--checkpoint-dir c --profile --json --network mlp --schedule constant --control "
      "--weight-bits 2 --activation-bits 7 --scales lsq --no-progress --per-channel "
      "--tfmot-ranges --full-grid --batch-norm --dropout 0.1 --input-dropout 0.2 --shift 1 "
      "--batch-statistics --count-oscillations --freeze-oscillations 0.05";
  EXPECT_EQ(parse(words_of(all)).exit_code, -1);
  EXPECT_EQ(parse({}).exit_code, -1);
}

}  // namespace
}  // namespace octet::test::mnist_qat_usage_test
