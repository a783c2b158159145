// `octet train --network` on an .npz file of x and y, as its users run it.

#include <fmt/format.h>
#include <octet/core/file.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/cli/npz_files.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/import/zip_files.h>
#include <octet_test_paths.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <utility>

namespace octet::test::octet_train_arrays_test {
namespace {

using nlohmann::json;

constexpr Index kTrain = 160;
constexpr Index kTest = 1300;

// x and y, as a folder of .npy files has them, are for networks by name.
TEST(OctetTrainArrays, XAndYTrainANetworkAsNpyFilesDo) {
  const ScratchDirectory scratch;
  const auto path = [&](const std::string& name) { return (scratch.path() / name).string(); };
  const auto write = [&](const std::string& name, const NamedFiles& files) {
    write_file_atomic(path(name), zip_bytes(files, false));
  };
  const auto octet = [](const Arguments& arguments) {
    return run_process(Arguments{OCTET_TOOL} + arguments, plain_environment());
  };
  const auto part = [](const std::string& end, Index count, std::uint64_t seed) {
    const Tensor x = random_tensor({count, 6}, seed);
    Labels labels;
    for (Index i = 0; i < count; ++i) {
      labels.push_back(x.span()[static_cast<std::size_t>(6 * i)] > 0.0F ? 1 : 0);
    }
    return NamedFiles{named("x" + end, x), named("y" + end, labels)};
  };
  const auto join = [](NamedFiles a, const NamedFiles& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const NamedFiles parts = join(part("_train", kTrain, 1), part("_test", kTest, 2));
  write("parts.npz", parts);
  write("one.npz", part("", kTrain, 1));
  write("other.npz", part("", kTest, 2));
  std::filesystem::create_directories(path("folder"));
  for (const auto& [name, bytes] : parts) write_file_atomic(path("folder/" + name), bytes);
  const auto train = [&](const std::string& out, const Arguments& more) {
    return octet(Arguments{"train", "--hidden", "8", "--epochs", "3", "--qat-epochs", "1",
                           "--batch", "16", "--json", "--normalize", "--out", path(out)} +
                 more);
  };
  const json of_folder = printed_json(train("folder_out", {"--data", path("folder")}));
  for (const auto& [out, data] :
       {std::pair{"parts_out", Arguments{"--data", path("parts.npz")}},
        {"two_out", Arguments{"--data", path("one.npz"), "--test-data", path("other.npz")}}}) {
    const json found = printed_json(train(out, data));
    EXPECT_EQ(found.at("integer_accuracy"), of_folder.at("integer_accuracy")) << out;
    EXPECT_EQ(found.at("examples"), of_folder.at("examples"));
    // Whichever command reads which, the numbers are these.
    const std::string model = path(std::string(out) + "/model_int8.tflite");
    for (const char* test : {"parts.npz", "other.npz", "folder"}) {
      EXPECT_EQ(printed_json(octet({"eval", model, "--data", path(test), "--json"})).at("accuracy"),
                of_folder.at("integer_accuracy"))
          << out << " on " << test;
    }
  }
  const ProcessResult split = train("split_out", {"--data", path("one.npz"), "--split", "0.75"});
  expect_mentions(split.err, ", 120 training and 40 test examples of [6], 2 classes");
  // Commands score the kept examples alone.
  const Arguments eval_split{"eval", path("split_out/model_int8.tflite"), "--data", path("one.npz"),
                             "--json"};
  const json kept = printed_json(octet(eval_split));
  EXPECT_EQ(kept.at("samples"), 40);
  EXPECT_EQ(kept.at("accuracy"), json::parse(split.out).at("integer_accuracy"));
  EXPECT_EQ(kept.at("is_trained_split"), true);
  const std::string model = path("split_out/model_int8.tflite");
  const Arguments other{"eval", model, "--data", path("other.npz")};
  expect_mentions(octet(other).out, "test examples: all, since these are not the data");
  EXPECT_EQ(octet(other + Arguments{"--split", "0.5"}).out.find("test examples: all"),
            std::string::npos);
  expect_mentions(octet(eval_split + Arguments{"--split", "0.5"}).err,
                  "--split: expected 0.75 with --split-seed 0, by which");
  write("more.npz", join(part("", 4, 1), part("_b", 4, 1)));
  write("others.npz", {named("x", Tensor::ones({4, 6})), named("kind", Labels{0, 1, 0, 1})});
  write("lone.npz", {named("x", Tensor::ones({4, 6}))});
  write("wide.npz", {named("x", Tensor::ones({4, 7})), named("y", Labels{0, 1, 0, 1})});
  for (const auto& [arguments, code, words] :
       {std::tuple{Arguments{"--data", path("lone.npz")}, 1, "expected an array \"y\", found none"},
        {Arguments{"--data", path("others.npz")}, 1, "expected an array \"y\", found kind"},
        {Arguments{"--data", path("more.npz")}, 1, "found x_b, y_b too"},
        {Arguments{"--data", path("one.npz"), "--test-data", path("wide.npz")}, 1,
         "expected test examples [6] as those for training, found [7]"},
        {Arguments{"--data", path("parts.npz"), "--split", "0.5"}, 2,
         "--split: expected data without a test part, found x_test in"},
        {Arguments{"--data", path("one.npz"), "--test-data", path("folder")}, 2,
         "--test-data: expected an .npz file, as the training data is, found"},
        {Arguments{"--data", path("one.npz"), "--window", "3"}, 2,
         "--window: goes with other data than the arrays of an .npz file"}}) {
    const ProcessResult result = train("refused", arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    expect_mentions(result.err, words);
  }
  EXPECT_FALSE(std::filesystem::exists(path("refused")));
}

}  // namespace
}  // namespace octet::test::octet_train_arrays_test
