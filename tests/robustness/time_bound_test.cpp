// Small files that ask for much time: what they take stays in proportion to their size.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/layers/architecture.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/sanitizers.h>

#include <ctime>
#include <functional>

namespace octet::test::time_bound_test {
namespace {

#ifdef OCTET_TEST_SANITIZED
constexpr int kLayers = 1999;
#else
constexpr int kLayers = 9999;
#endif

/// Processor seconds of all threads.
double cpu_seconds(const std::function<void()>& body) {
  const std::clock_t begin = std::clock();
  body();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// A chain of RELU, all of whose tensors have one name.
IntegerModel chain(DType dtype) {
  RawModelBuilder b;
  const auto value = [&] {
    return b.activation("y", {1, 3}, dtype, dtype == DType::int8 ? quant(0.1F, 0) : QuantParams{});
  };
  std::int32_t x = value();
  b.model.inputs = {x};
  for (int i = 0; i < kLayers; ++i) {
    const std::int32_t y = value();
    b.op(OpCode::relu, {x}, y);
    x = y;
  }
  b.model.outputs = {x};
  return b.model;
}

/// A chain of `op`, whose nodes have one name, on weights whose name tells the layer's.
std::vector<std::uint8_t> onnx_chain(const std::string& op, const std::string& weights) {
  std::vector<Message> nodes;
  std::string last = "x";
  for (int i = 0; i < kLayers; ++i) {
    const std::string next = i + 1 == kLayers ? "y" : fmt::format("v{}", i);
    Message node;
    node.text(1, last);
    if (!weights.empty()) node.text(1, weights);
    nodes.push_back(node.text(2, next).text(3, "n").text(4, op));
    last = next;
  }
  std::vector<Message> tensors;
  if (!weights.empty()) tensors.push_back(floats(weights, {1, 1}));
  return onnx_file({-1, 1}, nodes, tensors);
}

std::string nameless_layers() {
  std::string layers = R"({"type":"InputLayer","inputs":[],"name":"","shape":[3]})";
  for (int i = 0; i < kLayers; ++i) layers += R"(,{"type":"ReLU","inputs":[""],"name":""})";
  return R"({"format":2,"name":"m","outputs":[""],"layers":[)" + layers + "]}";
}

TEST(TimeBound, NamesThatAreAllEqual) {
  const IntegerModel model = chain(DType::int8);
  const IntegerModel reals = chain(DType::float32);
  const auto file = to_tflite(model);
  const auto relus = onnx_chain("Relu", "");
  const auto products = onnx_chain("MatMul", "w.weight");
  const std::string json = nameless_layers();
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"from_tflite", [&] { from_tflite(file); }},
      {"import_float_model", [&] { import_float_model(reals); }},
      {"import_onnx", [&] { import_onnx(relus); }},
      {"import_onnx, weights", [&] { import_onnx(products); }},
      {"model_from_json", [&] { model_from_json(json); }},
      {"to_tflite", [&] { to_tflite(model); }},
      {"to_onnx", [&] { to_onnx(model); }},
      {"to_c_source", [&] { to_c_source(model, "net"); }}};
  for (const auto& [name, call] : calls) {
    const double seconds = cpu_seconds(call);
    // Less than one is usual; names that are looked for one by one take 20 and more.
    EXPECT_LT(seconds, 10.0) << name;
    RecordProperty(name, fmt::format("{:.2f} s", seconds));
  }
}

}  // namespace
}  // namespace octet::test::time_bound_test
