#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/detection_post_process.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

namespace octet::detail {
namespace {

constexpr std::size_t kCoordinates = 4;

/// The corners of a box.
struct Box {
  float ymin;
  float xmin;
  float ymax;
  float xmax;
};
static_assert(sizeof(Box) == kCoordinates * sizeof(float));

/// The middle and the size of a box.
struct CenteredBox {
  float y;
  float x;
  float h;
  float w;
};

/// A box that may be a detection of a class.
struct Candidate {
  float score;
  std::int32_t box;
  std::int32_t class_id;
};

/// Whether `a` is the better one; of equal scores the lower class is, then the lower box.
bool is_before(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.class_id != b.class_id ? a.class_id < b.class_id : a.box < b.box;
}

float center(float encoding, float scale, float size, float anchor) {
  return static_cast<float>(double{encoding} / double{scale} * double{size} + double{anchor});
}

float half_size(float encoding, float scale, float size) {
  return static_cast<float>(0.5 * std::exp(double{encoding} / double{scale}) * double{size});
}

float intersection_over_union(const Box& a, const Box& b) {
  const float area_a = (a.ymax - a.ymin) * (a.xmax - a.xmin);
  const float area_b = (b.ymax - b.ymin) * (b.xmax - b.xmin);
  if (area_a <= 0.0F || area_b <= 0.0F) return 0.0F;
  const float height = std::min(a.ymax, b.ymax) - std::max(a.ymin, b.ymin);
  const float width = std::min(a.xmax, b.xmax) - std::max(a.xmin, b.xmin);
  const float intersection = std::max(height, 0.0F) * std::max(width, 0.0F);
  return intersection / (area_a + area_b - intersection);
}

/// What one sample is made of, and where its detections go.
struct Detections {
  Box* boxes;
  float* classes;
  float* scores;

  void put(std::size_t i, const Box& box, std::int32_t class_id, float score) const {
    boxes[i] = box;
    classes[i] = static_cast<float>(class_id);
    scores[i] = score;
  }
};

class DetectionPostProcess final : public Kernel {
 public:
  explicit DetectionPostProcess(const KernelSource& source)
      : attributes_(source.op.as<DetectionAttributes>()),
        anchors_(values_of<float>(source.input(kAnchors))),
        count_(extent(source.input(kBoxEncodings), 1)),
        coded_(extent(source.input(kBoxEncodings), 2)),
        scored_(extent(source.input(kClassScores), 2)),
        classes_(static_cast<std::size_t>(attributes_.num_classes)),
        most_(std::min(static_cast<std::size_t>(attributes_.max_detections), count_ * classes_)),
        rows_(extent(source.output(1), 1)) {}

  std::size_t bytes() const override { return anchors_.size() * sizeof(float); }
  std::size_t thread_bytes(Index /*samples*/) const override {
    return count_ * sizeof(Box) + (candidates() + classes_) * sizeof(Candidate);
  }

  void run(const KernelArguments& a) const override {
    parallel_for(static_cast<std::size_t>(a.samples), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) run_sample(a, i);
    });
  }

 private:
  static std::size_t extent(const ModelTensor& tensor, std::size_t axis) {
    return static_cast<std::size_t>(tensor.shape[axis]);
  }

  /// Every box, and what the classes before have found.
  std::size_t candidates() const { return count_ + most_; }

  void run_sample(const KernelArguments& a, std::size_t sample) const {
    const auto read = [&](std::size_t i) {
      return reinterpret_cast<const float*>(a.inputs[i].data + sample * a.inputs[i].stride);
    };
    const ScratchBuffer<Box, DetectionPostProcess> boxes(count_);
    decode(read(kBoxEncodings), boxes.data());
    // Classes before the first of num_classes are those of the background.
    const float* const scores = read(kClassScores) + (scored_ - classes_);
    const Detections to = {a.to<Box>(0) + sample * rows_, a.to<float>(1) + sample * rows_,
                           a.to<float>(2) + sample * rows_};
    for (std::size_t i = 0; i < rows_; ++i) to.put(i, {}, 0, 0.0F);
    const std::size_t found = attributes_.use_regular_nms ? by_class(boxes.data(), scores, to)
                                                          : by_best_class(boxes.data(), scores, to);
    a.to<float>(3)[sample] = static_cast<float>(found);
  }

  void decode(const float* encodings, Box* boxes) const {
    const DetectionAttributes& by = attributes_;
    for (std::size_t i = 0; i < count_; ++i) {
      const float* e = encodings + i * coded_;
      const float* from = anchors_.data() + i * kCoordinates;
      const CenteredBox anchor = {from[0], from[1], from[2], from[3]};
      const float y = center(e[0], by.y_scale, anchor.h, anchor.y);
      const float x = center(e[1], by.x_scale, anchor.w, anchor.x);
      const float half_h = half_size(e[2], by.h_scale, anchor.h);
      const float half_w = half_size(e[3], by.w_scale, anchor.w);
      boxes[i] = {y - half_h, x - half_w, y + half_h, x + half_w};
    }
  }

  /// Sorts candidates and moves those to the front that no better one of them covers, `most` at
  /// most. Returns their number.
  std::size_t suppress(const Box* boxes, std::span<Candidate> candidates, std::size_t most) const {
    std::ranges::sort(candidates, is_before);
    std::size_t kept = 0;
    for (const Candidate& next : candidates) {
      if (kept == most) break;
      const auto covers = [&](const Candidate& better) {
        return intersection_over_union(boxes[better.box], boxes[next.box]) >
               attributes_.nms_iou_threshold;
      };
      if (std::ranges::none_of(candidates.first(kept), covers)) candidates[kept++] = next;
    }
    return kept;
  }

  /// Suppresses boxes by their best class, and puts out the best classes of each that is left.
  std::size_t by_best_class(const Box* boxes, const float* scores, const Detections& to) const {
    const ScratchBuffer<Candidate, DetectionPostProcess> memory(candidates());
    std::size_t count = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const float* const of_box = scores + i * scored_;
      const float best = *std::max_element(of_box, of_box + classes_);
      if (best < attributes_.nms_score_threshold || std::isnan(best)) continue;
      memory.data()[count++] = {best, static_cast<std::int32_t>(i), 0};
    }
    const std::size_t found = suppress(boxes, {memory.data(), count}, most_);
    for (std::size_t i = 0; i < found; ++i) put_classes(boxes, scores, memory.data()[i].box, i, to);
    return found;
  }

  void put_classes(const Box* boxes, const float* scores, std::int32_t box, std::size_t row,
                   const Detections& to) const {
    const float* const of_box = scores + static_cast<std::size_t>(box) * scored_;
    const ScratchBuffer<Candidate, Detections> memory(classes_);
    const std::span<Candidate> classes(memory.data(), classes_);
    for (std::size_t c = 0; c < classes_; ++c) {
      const float score = of_box[c];
      classes[c] = {std::isnan(score) ? -std::numeric_limits<float>::infinity() : score, box,
                    static_cast<std::int32_t>(c)};
    }
    const auto per_box = static_cast<std::size_t>(attributes_.max_classes_per_detection);
    const std::size_t count = std::min(per_box, classes_);
    std::ranges::partial_sort(classes, classes.begin() + static_cast<std::ptrdiff_t>(count),
                              is_before);
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t c = classes[k].class_id;
      to.put(row * per_box + k, boxes[box], c, of_box[c]);
    }
  }

  /// Suppresses the boxes of each class by itself, and puts out the best of all classes.
  std::size_t by_class(const Box* boxes, const float* scores, const Detections& to) const {
    const ScratchBuffer<Candidate, DetectionPostProcess> memory(candidates());
    Candidate* const kept = memory.data();
    std::size_t found = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < count_; ++i) {
        const float score = scores[i * scored_ + c];
        if (!(score >= attributes_.nms_score_threshold)) continue;
        kept[found + count++] = {score, static_cast<std::int32_t>(i), static_cast<std::int32_t>(c)};
      }
      count = suppress(boxes, {kept + found, count},
                       static_cast<std::size_t>(attributes_.detections_per_class));
      std::sort(kept, kept + found + count, is_before);
      found = std::min(found + count, most_);
    }
    for (std::size_t i = 0; i < found; ++i) {
      to.put(i, boxes[kept[i].box], kept[i].class_id, kept[i].score);
    }
    return found;
  }

  DetectionAttributes attributes_;
  std::vector<float> anchors_;
  /// Boxes, values of each encoding, and scores of each box, the background's among them.
  std::size_t count_;
  std::size_t coded_;
  std::size_t scored_;
  std::size_t classes_;
  std::size_t most_;
  /// Boxes that are put out.
  std::size_t rows_;
};

void check_attributes(const OperatorView& view) {
  const auto& a = view.op.as<DetectionAttributes>();
  const auto require_positive = [&](std::string_view name, std::int32_t value) {
    if (value < 1) view.fail(fmt::format("expected a {} of 1 or more, found {}", name, value));
  };
  require_positive("max_detections", a.max_detections);
  require_positive("max_classes_per_detection", a.max_classes_per_detection);
  require_positive("detections_per_class", a.detections_per_class);
  require_positive("num_classes", a.num_classes);
  if (std::isnan(a.nms_score_threshold)) view.fail("expected a number as nms_score_threshold");
  if (!(a.nms_iou_threshold > 0.0F && a.nms_iou_threshold <= 1.0F)) {
    view.fail(fmt::format("expected an nms_iou_threshold above 0, at most 1, found {}",
                          a.nms_iou_threshold));
  }
  for (const float scale : {a.y_scale, a.x_scale, a.h_scale, a.w_scale}) {
    if (!std::isfinite(scale) || scale <= 0.0F) {
      view.fail(fmt::format("expected scales of encodings above 0, found {}", scale));
    }
  }
}

/// Sizes that are no negative numbers make boxes whose corners are in order, which TensorFlow
/// Lite requires of every sample.
void check_anchors(const OperatorView& view, std::int64_t count) {
  const ModelTensor& anchors = view.input(kAnchors);
  if (!anchors.is_constant()) {
    view.fail(fmt::format("expected constant anchors, found '{}'", anchors.name));
  }
  view.require_shape(anchors, {count, kCoordinates});
  const std::vector<float> values = values_of<float>(anchors);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_size = i % kCoordinates >= 2;
    if (std::isfinite(values[i]) && (!is_size || values[i] >= 0.0F)) continue;
    view.fail(fmt::format("expected finite anchors (y, x, h, w) without negative sizes, found {}",
                          values[i]));
  }
}

void check_detection(const OperatorView& view) {
  if (view.op.outputs.size() != kDetectionOutputs) {
    view.fail(
        fmt::format("expected {} outputs, found {}", kDetectionOutputs, view.op.outputs.size()));
  }
  for (std::size_t i = 0; i < kDetectionInputs; ++i) {
    if (view.input(i).dtype != DType::float32) view.fail_types();
  }
  check_attributes(view);
  const auto& boxes = view.input(kBoxEncodings).shape;
  const auto& scores = view.input(kClassScores).shape;
  const auto& a = view.op.as<DetectionAttributes>();
  const bool fits = boxes.size() == 3 && scores.size() == 3 && boxes[0] == 1 && scores[0] == 1 &&
                    boxes[1] == scores[1] && boxes[1] > 0 &&
                    boxes[2] >= static_cast<std::int32_t>(kCoordinates) &&
                    (scores[2] == a.num_classes || scores[2] - 1 == a.num_classes);
  if (!fits) {
    view.fail(fmt::format(
        "expected encodings [1, boxes, 4 or more] and scores [1, boxes, {} or one more for the "
        "background], found [{}] and [{}]",
        a.num_classes, fmt::join(boxes, ", "), fmt::join(scores, ", ")));
  }
  check_anchors(view, boxes[1]);
  for (std::size_t i = 0; i < kDetectionOutputs; ++i) {
    if (view.output(i).dtype != DType::float32) view.fail_types();
    view.require_output_shape(detection_shape(a, i), i);
  }
}

std::unique_ptr<Kernel> make_detection(const KernelSource& source) {
  return std::make_unique<DetectionPostProcess>(source);
}

std::size_t anchor_bytes(const Operands& operands) { return operands.input(kAnchors).data.size(); }

}  // namespace

std::vector<std::int32_t> detection_shape(const DetectionAttributes& attributes, std::size_t i) {
  const std::int64_t rows =
      std::int64_t{attributes.max_detections} * attributes.max_classes_per_detection;
  if (rows < 1 || rows > std::numeric_limits<std::int32_t>::max()) {
    throw FormatError(
        fmt::format("TFLite_Detection_PostProcess: expected max_detections times "
                    "max_classes_per_detection from 1 to 2^31 - 1, found {}",
                    rows));
  }
  const auto n = static_cast<std::int32_t>(rows);
  if (i == 0) return {1, n, kCoordinates};
  return i + 1 == kDetectionOutputs ? std::vector<std::int32_t>{1}
                                    : std::vector<std::int32_t>{1, n};
}

OperatorDefinition definitions::detection_post_process() {
  return checked({.name = "TFLite_Detection_PostProcess",
                  .custom_code = "TFLite_Detection_PostProcess",
                  .releases = {10500},
                  .least_inputs = kDetectionInputs,
                  .most_inputs = kDetectionInputs,
                  .most_outputs = kDetectionOutputs,
                  .output_grid = OutputGrid::measured,
                  .check = check_detection,
                  .make_kernel = make_detection,
                  .kernel_bytes = anchor_bytes});
}

}  // namespace octet::detail
