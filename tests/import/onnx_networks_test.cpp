// Networks that PyTorch and onnx.helper wrote: what they compute, and that they can be quantized.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/import/onnx_fixtures.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/load_model.h>

namespace octet::test::onnx_networks_test {
namespace {

constexpr Index kExamples = 16;

class OnnxNetworks : public testing::TestWithParam<OnnxFixture> {};

TEST_P(OnnxNetworks, ComputeWhatPyTorchDoes) {
  const OnnxFixture& fixture = GetParam();
  const Model model = import_onnx(onnx_path(fixture.name));
  const Tensor expected =
      read_npy(onnx_folder() / (std::string(fixture.name) + ".npy")).to_tensor();
  const Tensor found = model.forward(onnx_inputs(fixture, kExamples));
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_LT(relative_difference(found, expected), 1e-5F);
}

TEST_P(OnnxNetworks, QuantizedComputeWhatTheirIntegersDo) {
  const OnnxFixture& fixture = GetParam();
  Model quantized = quantize_model(import_onnx(onnx_path(fixture.name)));
  const Tensor x = onnx_inputs(fixture, kExamples);
  calibrate(quantized, x);
  const Tensor trained = quantized.forward(x);
  Interpreter interpreter(lower(quantized, {.input = IoType::float32, .output = IoType::float32}),
                          {.batch = kExamples});
  std::ranges::copy(x.span(), interpreter.input<float>().begin());
  interpreter.invoke();
  EXPECT_THAT(interpreter.output<float>(), testing::ElementsAreArray(trained.span()));
}

TEST_P(OnnxNetworks, AreSavedAndLoaded) {
  const OnnxFixture& fixture = GetParam();
  const Model model = import_onnx(onnx_path(fixture.name));
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "imported.octet";
  model.save(path);
  const Tensor x = onnx_inputs(fixture, 2);
  EXPECT_THAT(load_model(path).forward(x).span(),
              testing::ElementsAreArray(model.forward(x).span()));
}

INSTANTIATE_TEST_SUITE_P(Files, OnnxNetworks, testing::ValuesIn(onnx_fixtures()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace octet::test::onnx_networks_test
