// TFLite_Detection_PostProcess in every export, and as other tools write it.

#include <flatbuffers/flexbuffers.h>
#include <octet/core/error.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/tflite_file.h>
#include <octet/tests/runtime/operator_cases.h>
#include <octet/tests/train/data/idx_files.h>

#include <functional>

namespace octet::test::detection_test {
namespace {

constexpr const char* kName = "TFLite_Detection_PostProcess";

TEST(Detection, TfliteFilesComeBackAsTheyWere) {
  Draw draw(5);
  for (int round = 0; round < 40; ++round) {
    const Detector d = draw_detector(draw);
    const auto bytes = to_tflite(detection_model(d));
    const IntegerModel file = from_tflite(bytes);
    EXPECT_EQ(to_tflite(file), bytes);
    ASSERT_EQ(file.operators.size(), 1);
    EXPECT_EQ(file.operators[0].as<DetectionAttributes>(), d.attributes);
    EXPECT_EQ(file.operators[0].code, OpCode::detection_post_process);
  }
}

/// Options as TensorFlow's converter writes them: without those that have a default, and with some
/// that say nothing new.
using Options = flexbuffers::Builder;
std::vector<std::uint8_t> options_of(const std::function<void(Options&)>& more = {},
                                     double iou = 0.5, const std::string& iou_text = "") {
  Options b;
  b.Map([&] {
    b.Int("max_detections", 2);
    b.Int("max_classes_per_detection", 1);
    b.Bool("_output_quantized", true);
    b.Double("nms_score_threshold", 0.25);
    if (iou != 0) b.Double("nms_iou_threshold", iou);
    if (!iou_text.empty()) b.String("nms_iou_threshold", iou_text);
    b.Int("num_classes", 1);
    for (const char* scale : {"y_scale", "x_scale", "h_scale", "w_scale"}) b.Double(scale, 1.0);
    if (more) more(b);
  });
  b.Finish();
  return b.GetBuffer();
}

/// Three boxes by codes of scale 0.5, two of which are one, and results without a shape.
std::vector<std::uint8_t> file_of(const std::vector<std::uint8_t>& options,
                                  const std::string& name = kName, bool behind_relu = true) {
  constexpr std::int32_t kRelu = 19;
  TfliteFile file;
  const auto encodings = file.add(TfliteFile::uint8, {1, 3, 4});
  auto scores = file.add(TfliteFile::uint8, {1, 3, 2});
  if (behind_relu) {
    file.op(kRelu, {scores}, {file.add(TfliteFile::uint8, {1, 3, 2})});
    ++scores;
  }
  const std::vector<std::uint8_t> codes{130, 130, 130, 130, 130, 130, 130, 130, 134, 130, 130, 130};
  const auto anchors = file.add_constant(TfliteFile::uint8, {3, 4}, codes);
  std::vector<std::int32_t> results;
  for (int i = 0; i < 4; ++i) results.push_back(file.add(TfliteFile::float32, {}));
  file.custom_op(name, {encodings, scores, anchors}, results, options);
  return file.bytes({encodings, 1}, results);
}

TEST(Detection, CodesOfUint8AreReadAsTheFloatsThatTheyStandFor) {
  for (const bool behind_relu : {false, true}) {
    SCOPED_TRACE(behind_relu);
    const auto bytes = file_of(options_of(), kName, behind_relu);
    const IntegerModel model = from_tflite(bytes);
    Interpreter interpreter(model);
    const std::vector<std::uint8_t> encodings(12, 128);
    // Behind a background: 1, 2 and 0.5.
    const std::vector<std::uint8_t> scores{255, 130, 255, 132, 255, 129};
    std::ranges::copy(encodings, interpreter.input<std::uint8_t>(0).begin());
    std::ranges::copy(scores, interpreter.input<std::uint8_t>(1).begin());
    interpreter.invoke();
    const auto result = [&](std::size_t i) {
      const auto values = std::as_const(interpreter).output<float>(i);
      return std::vector<float>(values.begin(), values.end());
    };
    // The second box covers the first; both have the corners 0.5 and 1.5.
    EXPECT_EQ(result(0), (std::vector<float>{0.5F, 0.5F, 1.5F, 1.5F, 2.5F, 0.5F, 3.5F, 1.5F}));
    EXPECT_EQ(result(1), (std::vector<float>{0, 0}));
    EXPECT_EQ(result(2), (std::vector<float>{2, 0.5F}));
    EXPECT_EQ(result(3), (std::vector<float>{2}));
    // What was read is written, and read again.
    EXPECT_EQ(to_tflite(from_tflite(to_tflite(model))), to_tflite(model));
  }
}

TEST(Detection, OptionsMayStandInTheFile) {
  const auto read = [](const std::function<void(Options&)>& more) {
    const IntegerModel model = from_tflite(file_of(options_of(more)));
    return model.operators.back().as<DetectionAttributes>();
  };
  EXPECT_EQ(read({}).detections_per_class, 100);
  EXPECT_FALSE(read({}).use_regular_nms);
  const DetectionAttributes both = read([](Options& b) {
    b.Int("detections_per_class", 7);
    b.Bool("use_regular_nms", true);
  });
  EXPECT_EQ(both.detections_per_class, 7);
  EXPECT_TRUE(both.use_regular_nms);
}

TEST(Detection, OptionsThatCannotBeReadAreNamed) {
  const auto refused = [](const std::vector<std::uint8_t>& options, const std::string& says) {
    expect_throws<FormatError>([&] { from_tflite(file_of(options)); },
                               {"(TFLite_Detection_PostProcess): ", says});
  };
  refused({}, "its options are missing");
  refused({1, 2, 3}, "expected its options as a map of FlexBuffers");
  Options list;
  list.Vector([&] { list.Int(1); });
  list.Finish();
  refused(list.GetBuffer(), "expected its options as a map of FlexBuffers");
  refused(options_of({}, 0), "its option nms_iou_threshold is missing");
  const auto per_class = "expected an integer of 32 bits as option detections_per_class";
  const auto more = [&](const auto& add, const std::string& says) {
    refused(options_of(add), says);
  };
  more([](Options& b) { b.String("detections_per_class", "many"); }, per_class);
  more([](Options& b) { b.Int("detections_per_class", (std::int64_t{1} << 32U) + 10); }, per_class);
  more([](Options& b) { b.Int("detections_per_class", -(std::int64_t{1} << 40U)); }, per_class);
  more([](Options& b) { b.UInt("detections_per_class", UINT64_MAX); }, per_class);
  more([](Options& b) { b.Double("detections_per_class", 2.5); }, per_class);
  more([](Options& b) { b.Double("use_regular_nms", 1); },
       "expected true or false as option use_regular_nms");
  refused(options_of({}, 0, "half"), "expected a number as option nms_iou_threshold");
  refused(options_of({}, 1.5), "expected an nms_iou_threshold above 0, at most 1, found 1.5");
  auto damaged = options_of();
  damaged.resize(damaged.size() - 1);
  refused(damaged, "expected its options as a map of FlexBuffers");
}

TEST(Detection, OtherCustomOperatorsAreRefusedByName) {
  expect_throws<FormatError>([] { from_tflite(file_of(options_of(), "Mfcc")); },
                             {"operator 1: custom operator 'Mfcc' is not supported"});
}

TEST(Detection, ANumberOfOctetsOwnIsNoNumberOfAFile) {
  TfliteFile file;
  const auto x = file.add(TfliteFile::float32, {1, 3, 4});
  const auto y = file.add(TfliteFile::float32, {1});
  file.op(static_cast<std::int32_t>(OpCode::detection_post_process), {x, x, x}, {y, y, y, y});
  expect_throws<FormatError>([&] { from_tflite(file.bytes({x}, {y})); },
                             {"operator 0: ", "is not supported"});
}

TEST(Detection, ExportsWithoutItSaySo) {
  const IntegerModel model = detection_model({});
  expect_throws<InvalidArgument>([&] { to_onnx(model); }, {kName, "end the model in front of it"});
  expect_throws<InvalidArgument>([&] { to_c_source(model, "detector"); }, {"float32"});
  expect_throws<FormatError>([&] { import_float_model(model); },
                             {kName, "nothing trains through it; end the model in front of it"});
}

/// What files of detectors have in front: the refusal names the values that a model can end with.
TEST(Detection, ImportProposesToEndTheModelInFront) {
  IntegerModel model = detection_model({});
  const auto scored = static_cast<std::int32_t>(model.tensors.size());
  model.tensors.push_back({"scored", DType::float32, {1, 5, 3}, {}, {{}, {}, 0, 0, 0}, {}});
  Operator relu{.code = OpCode::relu, .inputs = {1}, .outputs = {scored}};
  relu.attributes = default_attributes(relu.code);
  model.operators.insert(model.operators.begin(), relu);
  model.operators[1].inputs[1] = scored;
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "detector.tflite";
  write_tflite(model, path);
  expect_throws<FormatError>([&] { import_tflite(path); }, {kName, "--to", "scored"});
}

}  // namespace
}  // namespace octet::test::detection_test
