#include <octet/core/kernels/correlate_internal.h>
#include <octet/core/kernels/depthwise.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

/// Numbers of a vector on the widest path: on the others too, as the order of sums must not depend
/// on the path.
constexpr Index kLanes = 16;

/// Rows of `channels` numbers, each `repeats` times.
template <class T>
std::vector<T> repeated(const T* rows, Index count, Index channels, Index repeats) {
  std::vector<T> result;
  if (rows == nullptr) return result;
  result.reserve(static_cast<std::size_t>(count * channels * repeats));
  for (Index row = 0; row < count; ++row, rows += channels) {
    for (Index i = 0; i < repeats; ++i) result.insert(result.end(), rows, rows + channels);
  }
  return result;
}

/// Pairs each weight with that of the next tap in x, 0 behind the last: low and high half of an
/// int32.
std::vector<std::int32_t> paired(const std::int32_t* weights, Index lines, Index taps_x,
                                 Index channels) {
  const Index line = taps_x * channels;
  std::vector<std::int32_t> pairs(static_cast<std::size_t>(lines * line));
  std::int32_t* to = pairs.data();
  for (Index y = 0; y < lines; ++y, weights += line, to += line) {
    const Index last = line - channels;
    for (Index i = 0; i < last; ++i) {
      to[i] = (weights[i] & 0xFFFF) + weights[i + channels] * 0x10000;
    }
    for (Index i = last; i < line; ++i) to[i] = weights[i] & 0xFFFF;
  }
  return pairs;
}

/// Taps in x that are one multiplication.
template <class T>
constexpr Index kTapsAtOnce = std::is_same_v<T, float> ? 1 : 2;

/// How many outputs side by side one vector holds, where these and what they read lie side by side.
Index outputs_per_vector(Index channels, Index input_step, Index output_step) {
  return input_step == 1 && output_step == 1 ? std::max<Index>(1, kLanes / channels) : 1;
}

/// The lines [first, last) of an image that the results [begin, end) read.
std::array<Index, 2> lines_of_taps(const CorrelationAxis& y, Index begin, Index end) {
  if (y.taps.empty() || begin == end) return {0, 0};
  const Index first = std::clamp<Index>(begin * y.step + y.taps.front().at, 0, y.input);
  const Index last = (end - 1) * y.step + y.taps.back().at + 1;
  return {first, std::clamp<Index>(last, first, y.input)};
}

void run_part(const DepthwiseLines<float>& part) { kernels().passes.depthwise(part); }
void run_part(const DepthwiseLines<std::int32_t>& part) { kernels().passes.depthwise_codes(part); }

/// Calls body(begin, end, taps) for the lines [first, last) that read the same taps in y.
template <class Body>
void for_each_run(const CorrelationAxis& y, Index first, Index last, Body&& body) {
  while (first < last) {
    const std::pair<Index, Index> taps = detail::taps_inside(y, first);
    Index end = first + 1;
    while (end < last && detail::taps_inside(y, end) == taps) ++end;
    body(first, end, taps);
    first = end;
  }
}

}  // namespace

std::vector<DepthwiseSegment> depthwise_segments(const CorrelationAxis& y, const CorrelationAxis& x,
                                                 Index taps_x, Index channels, Index repeats,
                                                 Index taps_at_once) {
  const Index line = x.input * channels;
  const Index row = channels * repeats;
  std::vector<DepthwiseSegment> segments;
  std::pair<Index, Index> before;
  for (Index n = 0; n < x.count; ++n) {
    const std::pair<Index, Index> inside = detail::taps_inside(x, n);
    if (n > 0 && inside == before) {
      ++segments.back().end;
      continue;
    }
    before = inside;
    DepthwiseSegment& segment = segments.emplace_back(
        DepthwiseSegment{n, n + 1, {}, divided_up(inside.second - inside.first, taps_at_once)});
    for (const CorrelationAxis::Tap& ky : y.taps) {
      for (Index i = inside.first; i < inside.second; i += taps_at_once) {
        const CorrelationAxis::Tap& kx = x.taps[static_cast<std::size_t>(i)];
        segment.taps.push_back({ky.at * line + kx.at * channels, (ky.k * taps_x + kx.k) * row});
      }
    }
  }
  return segments;
}

template <class T>
DepthwiseCorrelation<T>::DepthwiseCorrelation(CorrelationAxis y, CorrelationAxis x, Index taps_x,
                                              Index channels, const T* weights, const T* start)
    : y_(std::move(y)),
      x_(std::move(x)),
      channels_(channels),
      repeats_(outputs_per_vector(channels, x_.step, x_.out_step)),
      start_(repeated(start, 1, channels, repeats_)),
      segments_(depthwise_segments(y_, x_, taps_x, channels, repeats_, kTapsAtOnce<T>)) {
  // All taps of a phase's kernel are kept: those that it does not read are few.
  Index lines = 0;
  for (const CorrelationAxis::Tap& ky : y_.taps) lines = std::max(lines, ky.k + 1);
  if constexpr (std::is_same_v<T, float>) {
    weights_ = repeated(weights, lines * taps_x, channels, repeats_);
  } else {
    const std::vector<T> pairs = paired(weights, lines, taps_x, channels);
    weights_ = repeated(pairs.data(), lines * taps_x, channels, repeats_);
  }
}

template <class T>
std::size_t DepthwiseCorrelation<T>::bytes_of(Index taps, Index channels) {
  const Index row = channels * outputs_per_vector(channels, 1, 1);
  return static_cast<std::size_t>((taps + 1) * row) * sizeof(T);
}

template <class T>
std::array<Index, 2> DepthwiseCorrelation<T>::lines_read(Index begin, Index end) const {
  return lines_of_taps(y_, begin, end);
}

template <class T>
void DepthwiseCorrelation<T>::run(const T* x, Index begin, Index end, T* y, Index y_line) const {
  const Index x_line = y_.step * x_.input * channels_;
  for_each_run(y_, begin, end, [&](Index top, Index bottom, const std::pair<Index, Index>& taps) {
    for (const DepthwiseSegment& segment : segments_) {
      DepthwiseLines<T> part{.x = x + top * x_line + segment.begin * x_.step * channels_,
                             .x_line = x_line,
                             .x_step = x_.step * channels_ * repeats_,
                             .weights = weights_.data(),
                             .start = start_.empty() ? nullptr : start_.data(),
                             .y = y + (top - begin) * y_line +
                                  (x_.out_first + segment.begin * x_.out_step) * channels_,
                             .y_line = y_line,
                             .y_step = x_.out_step * channels_ * repeats_,
                             .lines = bottom - top,
                             .outputs = (segment.end - segment.begin) / repeats_,
                             .channels = channels_ * repeats_,
                             .taps = segment.taps.data() + taps.first * segment.taps_per_line,
                             .count = (taps.second - taps.first) * segment.taps_per_line};
      if (part.outputs > 0) run_part(part);
      part.x += part.outputs * part.x_step;
      part.y += part.outputs * part.y_step;
      part.channels = (segment.end - segment.begin) % repeats_ * channels_;
      part.outputs = 1;
      if (part.channels > 0) run_part(part);
    }
  });
}

template class DepthwiseCorrelation<float>;
template class DepthwiseCorrelation<std::int32_t>;

// ---- The gradient of a kernel

namespace {

/// Outputs of one image: of lines [top, bottom) those in [left, right).
struct Rectangle {
  Index image;
  Index top, bottom;
  Index left, right;
};

class ProductSums {
 public:
  ProductSums(const Window& window, Index channels, LinesOfImage x, LinesOfImage g)
      : y_(CorrelationAxis::forward(window.y)),
        x_(CorrelationAxis::forward(window.x)),
        channels_(channels),
        repeats_(outputs_per_vector(channels, x_.step, 1)),
        segments_(depthwise_segments(y_, x_, window.x.kernel, channels, repeats_, 1)),
        images_(x),
        gradients_(g),
        sums_(static_cast<std::size_t>(window.taps() * channels * repeats_)) {}

  void add(const Rectangle& r) {
    const auto [first, last] = lines_of_taps(y_, r.top, r.bottom);
    const float* const image = images_(r.image, first, last);
    const Index in_line = x_.input * channels_;
    // Before the gradients, which may have to be computed.
    prefetch_floats(image + first * in_line, (last - first) * in_line);
    const float* const gradients = gradients_(r.image, r.top, r.bottom);
    for_each_run(y_, r.top, r.bottom,
                 [&](Index top, Index bottom, const std::pair<Index, Index>& taps) {
                   for (const DepthwiseSegment& segment : segments_) {
                     const Index left = std::max(r.left, segment.begin);
                     const Index right = std::min(r.right, segment.end);
                     if (left >= right) continue;
                     add(image, gradients, {r.image, top, bottom, left, right}, segment, taps.first,
                         taps.second);
                   }
                 });
  }

  /// Adds up what outputs side by side have summed.
  void write(float* to) const {
    const Index row = channels_ * repeats_;
    for (std::size_t at = 0; at < sums_.size(); at += static_cast<std::size_t>(row)) {
      const float* from = sums_.data() + at;
      to = std::copy_n(from, channels_, to);
      for (Index i = 1; i < repeats_; ++i) {
        for (Index c = 0; c < channels_; ++c) to[c - channels_] += from[i * channels_ + c];
      }
    }
  }

 private:
  void add(const float* image, const float* gradients, const Rectangle& r,
           const DepthwiseSegment& segment, Index first, Index last) {
    const Index in_line = x_.input * channels_;
    const Index out_line = x_.count * channels_;
    DepthwiseProducts<float> p{
        .x = image + r.top * y_.step * in_line + r.left * x_.step * channels_,
        .x_line = y_.step * in_line,
        .x_step = x_.step * channels_ * repeats_,
        .g = gradients + r.top * out_line + r.left * channels_,
        .g_line = out_line,
        .g_step = channels_ * repeats_,
        .lines = r.bottom - r.top,
        .outputs = (r.right - r.left) / repeats_,
        .channels = channels_ * repeats_,
        .taps = segment.taps.data() + first * segment.taps_per_line,
        .count = (last - first) * segment.taps_per_line,
        .sums = sums_.data()};
    if (p.outputs > 0) kernels().passes.depthwise_products(p);
    p.x += p.outputs * p.x_step;
    p.g += p.outputs * p.g_step;
    p.channels = (r.right - r.left) % repeats_ * channels_;
    p.outputs = 1;
    if (p.channels > 0) kernels().passes.depthwise_products(p);
  }

  CorrelationAxis y_;
  CorrelationAxis x_;
  Index channels_;
  Index repeats_;
  std::vector<DepthwiseSegment> segments_;
  LinesOfImage images_;
  LinesOfImage gradients_;
  std::vector<float> sums_;
};

}  // namespace

void prefetch_floats(const float* from, Index count) {
  constexpr Index kLine = 16;
  for (Index i = 0; i < count; i += kLine) __builtin_prefetch(from + i, 0, 2);
}

void depthwise_products_f32(const Window& window, Index channels, LinesOfImage x, LinesOfImage g,
                            Index begin, Index end, float* sums) {
  ProductSums products(window, channels, x, g);
  const Index width = window.x.output;
  const Index line = window.y.stride * window.x.input * channels;
  const Index block = std::max<Index>(1, kDepthwiseBlock / line);
  while (begin < end) {
    const Index image = begin / window.outputs();
    const Index top = begin % window.outputs() / width;
    const Index left = begin % width;
    const bool whole = left == 0 && end - begin >= width;
    const Index lines = whole ? std::min({window.y.output - top, (end - begin) / width, block}) : 1;
    const Index right = whole ? width : std::min(width, left + end - begin);
    products.add({image, top, top + lines, left, right});
    begin += lines * (right - left);
  }
  products.write(sums);
}

}  // namespace octet
