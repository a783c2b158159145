// Every command of `octet`, and files that are none: a FIFO nobody writes to waits for ever.

#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/layers/sequential.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/data/idx_files.h>
#include <sys/stat.h>

namespace octet::test::octet_files_test {
namespace {

namespace fs = std::filesystem;

class OctetFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    write_tflite(make_mlp(1, {63, 4}, false, false), path("m.tflite"));
    Sequential net("net", Input({9, 7}), Flatten(), Dense(4));
    net.build(1);
    net.save(path("net"));
    write_file_atomic(path("in"), std::vector<std::uint8_t>(63));
    write_set(path("set"), 20, 10);
    fs::create_directories(path("broken"));
    for (const auto& entry : fs::directory_iterator(path("set"))) {
      make_pipe(path("broken/") + entry.path().filename().string());
    }
    fs::create_directories(path("run"));
    make_pipe(path("run/metrics.json"));
    for (const char* end : {"tflite", "onnx", "ckpt", "c", "h"}) make_pipe(path("pipe.") + end);
  }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

 private:
  static void make_pipe(const std::string& file) { ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0); }

  ScratchDirectory scratch_;
};

TEST_F(OctetFiles, NoCommandWaitsForAFifo) {
  const std::string model = path("m.tflite");
  const std::string pipe = path("pipe.tflite");
  for (const Arguments& arguments : {
           Arguments{"inspect", pipe},
           {"inspect", path("pipe.onnx")},
           {"run", pipe, "--input", path("in"), "--output", path("out")},
           {"run", model, "--input", pipe, "--output", path("out")},
           {"run", model, "--input", path("in"), "--output", pipe},
           {"eval", pipe, "--data", path("set")},
           {"eval", model, "--data", path("broken")},
           {"export", pipe, "--c", path("out")},
           {"export", model, "--c", path("pipe")},
           {"export", model, "--onnx", path("pipe.onnx")},
           {"import", pipe, "--out", path("out")},
           {"import", path("pipe.onnx"), "--out", path("out")},
           {"import", path("pipe.ckpt"), "--out", path("out")},
           {"search", path("pipe.ckpt"), "--data", path("set"), "--flash", "1000"},
           {"search", path("net"), "--data", path("broken"), "--flash", "1000"},
           {"quantize", path("pipe.onnx"), "--data", path("set"), "--out", path("q")},
           {"quantize", path("net"), "--data", path("broken"), "--out", path("q")},
           {"report", path("run"), "--data", path("set"), "--output", path("page.html")},
           {"verify", pipe, model},
           {"verify", model, path("pipe.ckpt")},
           {"verify", model, path("pipe.c")},
           {"verify", model, model, "--data", path("broken")},
       }) {
    const ProcessResult result =
        run_process(Arguments{"/usr/bin/timeout", "60", OCTET_TOOL} + arguments);
    EXPECT_EQ(result.exit_code, 1) << arguments[0] << " " << arguments[1] << ": " << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(lines_in(result.err), 1) << result.err;
    expect_mentions(result.err, "no regular file");
  }
}

}  // namespace
}  // namespace octet::test::octet_files_test
