#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/svdf_models.h>

#include <string>

namespace octet::test::onnx_refusal_test {
namespace {

TEST(OnnxWriter, RefusesWhatOnnxDoesNotKnow) {
  const IntegerModel model =
      make_unary(OpCode::quantize, {"x", DType::float32, {1, 4}, {}, {}, {}},
                 {"wide", DType::int16, {1, 4}, {}, quant(0.1F, 0, DType::int16), {}});
  expect_throws<InvalidArgument>([&] { to_onnx(model); }, {"wide", "int16"});
  for (const DType state : {DType::float32, DType::int8}) {
    expect_throws<InvalidArgument>([&] { to_onnx(svdf_model(state)); },
                                   {"operator 0 (SVDF) 'y'", "a layer SVDF"});
  }
  expect_throws<InvalidArgument>([&] { to_onnx(svdf_model(DType::int16)); }, {"'state' is int16"});
}

}  // namespace
}  // namespace octet::test::onnx_refusal_test
