#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/tests/runtime/models.h>

#include <string>

namespace octet::test::onnx_refusal_test {
namespace {

TEST(OnnxWriter, RefusesWhatOnnxDoesNotKnow) {
  const IntegerModel model =
      make_unary(OpCode::quantize, {"x", DType::float32, {1, 4}, {}, {}, {}},
                 {"wide", DType::int16, {1, 4}, {}, quant(0.1F, 0, DType::int16), {}});
  try {
    to_onnx(model);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("wide"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("int16"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace octet::test::onnx_refusal_test
