#pragma once

#include <octet/tests/runtime/moving_models.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

// Models of one TFLite_Detection_PostProcess, and a second implementation from its definition.

namespace octet::test {

struct Detector {
  std::int32_t boxes = 5;
  std::int32_t coded = 4;
  bool background = true;
  DetectionAttributes attributes{.max_detections = 3, .num_classes = 2};
  /// (y, x, h, w) in eighths.
  std::vector<std::int32_t> anchors{4, 4, 2, 2, 4, 4, 2, 2, 12, 4, 2, 2, 4, 12, 2, 2, 8, 8, 0, 4};

  std::int32_t scored() const { return attributes.num_classes + (background ? 1 : 0); }
  std::int32_t rows() const {
    return attributes.max_detections * attributes.max_classes_per_detection;
  }
};

/// The encodings are tensor 0, the scores 1, the anchors 2, and the results 3 to 6.
inline IntegerModel detection_model(const Detector& d) {
  const QuantParams none{{}, {}, 0, 0, 0};
  std::vector<float> anchors;
  for (const std::int32_t eighths : d.anchors) anchors.push_back(static_cast<float>(eighths) / 8);
  RawModelBuilder b;
  const auto add = [&](const char* name, std::vector<std::int32_t> shape) {
    return b.add({name, DType::float32, std::move(shape), {}, none, {}});
  };
  b.model.inputs = {add("encodings", {1, d.boxes, d.coded}),
                    add("scores", {1, d.boxes, d.scored()})};
  const auto constant = b.constant("anchors", {d.boxes, 4}, DType::float32, anchors, none);
  b.model.outputs = {add("boxes", {1, d.rows(), 4}), add("classes", {1, d.rows()}),
                     add("best", {1, d.rows()}), add("count", {1})};
  b.op(OpCode::detection_post_process, {0, 1, constant}, 3, d.attributes).outputs = b.model.outputs;
  return b.model;
}

inline Detector draw_detector(Draw& draw) {
  Detector d{.boxes = draw.between(1, 24),
             .coded = draw.between(4, 6),
             .background = draw.between(0, 1) == 1,
             .anchors = {}};
  d.attributes = {.max_detections = draw.between(1, 12),
                  .max_classes_per_detection = draw.between(1, 3),
                  .detections_per_class = draw.between(1, 4),
                  .use_regular_nms = draw.between(0, 1) == 1,
                  .nms_score_threshold = static_cast<float>(draw.between(-1, 3)) / 8,
                  .nms_iou_threshold = draw.uniform(0.05F, 1.0F),
                  .num_classes = draw.between(1, 5),
                  .y_scale = draw.uniform(1, 10),
                  .x_scale = draw.uniform(1, 10),
                  .h_scale = draw.uniform(1, 10),
                  .w_scale = draw.uniform(1, 10)};
  for (std::int32_t i = 0; i < 4 * d.boxes; ++i) d.anchors.push_back(draw.between(0, 8));
  return d;
}

/// Encodings, and scores of which many are equal.
inline std::array<std::vector<float>, 2> draw_detections(const Detector& d, Draw& draw) {
  std::array<std::vector<float>, 2> x;
  for (std::int32_t i = 0; i < d.boxes * d.coded; ++i) x[0].push_back(draw.uniform(-4, 4));
  for (std::int32_t i = 0; i < d.boxes * d.scored(); ++i) {
    x[1].push_back(static_cast<float>(draw.between(-2, 8)) / 8);
  }
  return x;
}

// ---- The definition

/// (ymin, xmin, ymax, xmax).
using Corners = std::array<float, 4>;

inline Corners naive_box(const Detector& d, const float* e, const std::int32_t* anchor) {
  const DetectionAttributes& a = d.attributes;
  const std::array<double, 4> scales = {a.y_scale, a.x_scale, a.h_scale, a.w_scale};
  Corners box{};
  for (std::size_t i = 0; i < 2; ++i) {
    const double size = anchor[2 + i] / 8.0;
    const auto middle = static_cast<float>(e[i] / scales[i] * size + anchor[i] / 8.0);
    const auto half = static_cast<float>(0.5 * std::exp(e[2 + i] / scales[2 + i]) * size);
    box[i] = middle - half;
    box[2 + i] = middle + half;
  }
  return box;
}

inline float naive_overlap(const Corners& a, const Corners& b) {
  const auto area = [](const Corners& of) { return (of[2] - of[0]) * (of[3] - of[1]); };
  if (area(a) <= 0 || area(b) <= 0) return 0;
  float common = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    common *= std::max(std::min(a[2 + i], b[2 + i]) - std::max(a[i], b[i]), 0.0F);
  }
  return common / (area(a) + area(b) - common);
}

/// The negative score, the class and the box: the least is the best.
using Ranked = std::tuple<float, std::int32_t, std::int32_t>;

/// Takes the best of `all` again and again, and strikes out what it covers.
inline std::vector<Ranked> naive_suppress(const Detector& d, const std::vector<Corners>& boxes,
                                          std::vector<Ranked> all, std::int32_t most) {
  const auto box_of = [&](const Ranked& r) {
    return boxes[static_cast<std::size_t>(std::get<2>(r))];
  };
  std::vector<Ranked> kept;
  while (!all.empty() && std::ssize(kept) < most) {
    const Ranked best = *std::ranges::min_element(all);
    kept.push_back(best);
    std::erase_if(all, [&](const Ranked& other) {
      return other == best ||
             naive_overlap(box_of(best), box_of(other)) > d.attributes.nms_iou_threshold;
    });
  }
  return kept;
}

/// Boxes, classes, scores and their number.
inline std::array<std::vector<float>, 4> naive_detections(const Detector& d,
                                                          const std::vector<float>& encodings,
                                                          const std::vector<float>& scores) {
  const DetectionAttributes& a = d.attributes;
  std::vector<Corners> boxes;
  for (std::int32_t i = 0; i < d.boxes; ++i) {
    boxes.push_back(
        naive_box(d, encodings.data() + Index{i} * d.coded, d.anchors.data() + Index{4} * i));
  }
  std::vector<std::vector<Ranked>> by_box;
  std::vector<std::vector<Ranked>> by_class(static_cast<std::size_t>(a.num_classes));
  for (std::int32_t i = 0; i < d.boxes; ++i) {
    std::vector<Ranked> of_box;
    for (std::int32_t c = 0; c < a.num_classes; ++c) {
      const std::int32_t place = i * d.scored() + c + (d.background ? 1 : 0);
      const float score = scores[static_cast<std::size_t>(place)];
      of_box.emplace_back(-score, c, i);
      if (score >= a.nms_score_threshold) {
        by_class[static_cast<std::size_t>(c)].emplace_back(-score, c, i);
      }
    }
    std::ranges::sort(of_box);
    by_box.push_back(of_box);
  }
  // The places of the results, and the results.
  std::vector<std::pair<std::int32_t, Ranked>> found;
  std::int32_t count = 0;
  if (a.use_regular_nms) {
    std::vector<Ranked> all;
    for (const auto& of_class : by_class) {
      const auto kept = naive_suppress(d, boxes, of_class, a.detections_per_class);
      all.insert(all.end(), kept.begin(), kept.end());
    }
    std::ranges::sort(all);
    all.resize(std::min(all.size(), static_cast<std::size_t>(a.max_detections)));
    for (const Ranked& r : all) found.emplace_back(count++, r);
  } else {
    std::vector<Ranked> best;
    for (const auto& of_box : by_box) {
      const auto [score, c, box] = of_box[0];
      // The class has no say here.
      if (-score >= a.nms_score_threshold) best.emplace_back(score, 0, box);
    }
    for (const Ranked& r : naive_suppress(d, boxes, best, a.max_detections)) {
      const auto& of_box = by_box[static_cast<std::size_t>(std::get<2>(r))];
      for (std::int32_t k = 0; k < std::min(a.max_classes_per_detection, a.num_classes); ++k) {
        found.emplace_back(count * a.max_classes_per_detection + k,
                           of_box[static_cast<std::size_t>(k)]);
      }
      ++count;
    }
  }
  const auto rows = static_cast<std::size_t>(d.rows());
  std::array<std::vector<float>, 4> y{std::vector<float>(4 * rows),
                                      std::vector<float>(rows),
                                      std::vector<float>(rows),
                                      {static_cast<float>(count)}};
  for (const auto& [place, ranked] : found) {
    const auto [score, c, box] = ranked;
    const auto row = static_cast<std::size_t>(place);
    std::ranges::copy(boxes[static_cast<std::size_t>(box)],
                      y[0].begin() + static_cast<std::ptrdiff_t>(4 * row));
    y[1][row] = static_cast<float>(c);
    y[2][row] = -score;
  }
  return y;
}

}  // namespace octet::test
