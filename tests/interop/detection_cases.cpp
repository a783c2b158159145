#include <fmt/core.h>
#include <octet/tests/interop/cases.h>
#include <octet/tests/runtime/detection_models.h>

namespace octet::interop {
namespace {

constexpr std::uint32_t kDetectors = 60;
constexpr Index kDetectorSamples = 8;

/// A detector with anchors on a grid, two at each place, that finds more boxes than it puts out:
/// runtimes do not say what stands behind the last one.
test::Detector detector_of(std::uint32_t seed) {
  test::Draw draw(seed);
  test::Detector d{.boxes = 2 * draw.between(6, 20),
                   .background = seed % 3 != 0,
                   .attributes = {.max_detections = draw.between(1, 6),
                                  .detections_per_class = draw.between(1, 4),
                                  .use_regular_nms = seed % 2 == 0,
                                  .nms_iou_threshold = draw.uniform(0.1F, 0.9F),
                                  .num_classes = draw.between(2, 5)},
                   .anchors = {}};
  d.attributes.max_classes_per_detection =
      d.attributes.use_regular_nms ? 1 : draw.between(1, d.attributes.num_classes);
  for (std::int32_t i = 0; i < d.boxes; ++i) {
    const std::int32_t place = 16 * (i / 2);
    d.anchors.insert(d.anchors.end(), {place, place % 5, draw.between(1, 6), draw.between(1, 6)});
  }
  return d;
}

/// The detector with one input, whose rows are the encodings of a box and its scores.
IntegerModel of_one_input(const test::Detector& d) {
  IntegerModel model = test::detection_model(d);
  const QuantParams none{{}, {}, 0, 0, 0};
  const auto add = [&](ModelTensor tensor) {
    model.tensors.push_back(std::move(tensor));
    return static_cast<std::int32_t>(model.tensors.size() - 1);
  };
  const auto numbers = [&](const std::vector<std::int32_t>& values) {
    return add({"", DType::int32, {3}, {}, none, test::to_bytes(values)});
  };
  const std::int32_t values = d.coded + d.scored();
  const std::int32_t x = add({"x", DType::float32, {1, d.boxes, values}, {}, none, {}});
  std::vector<Operator> slices;
  for (std::int32_t i = 0; i < 2; ++i) {
    const std::int32_t begin = i == 0 ? 0 : d.coded;
    const std::int32_t end = i == 0 ? d.coded : values;
    slices.push_back(
        {.code = OpCode::strided_slice,
         .inputs = {x, numbers({0, 0, begin}), numbers({1, d.boxes, end}), numbers({1, 1, 1})},
         .outputs = {model.inputs[static_cast<std::size_t>(i)]},
         .attributes = StridedSliceAttributes{}});
  }
  model.operators.insert(model.operators.begin(), slices.begin(), slices.end());
  model.inputs = {x};
  return model;
}

}  // namespace

void add_detection_cases(CaseFolder& folder) {
  for (std::uint32_t seed = 0; seed < kDetectors; ++seed) {
    const IntegerModel model = of_one_input(detector_of(seed));
    test::Draw draw(seed + kDetectors);
    std::vector<float> x(static_cast<std::size_t>(
        kDetectorSamples * model.tensors[static_cast<std::size_t>(model.inputs[0])].size()));
    for (float& value : x) value = draw.uniform(0, 1);
    folder.add(fmt::format("detector-{:03}", seed), model,
               folder.input(DType::float32, kDetectorSamples, std::span<const float>(x)));
  }
}

}  // namespace octet::interop
