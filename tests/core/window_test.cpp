#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/kernels/patches.h>
#include <octet/core/window.h>

#include <numeric>
#include <vector>

namespace octet::test::window_test {
namespace {

TEST(SlideWindow, PadsAsTensorFlow) {
  struct Case {
    Index input, kernel, stride, dilation;
    Padding padding;
    Index before, output;
  };
  // Values of tf.nn.conv2d: an even extent with stride 2 is padded behind only.
  const Case cases[] = {
      {6, 3, 2, 1, Padding::same, 0, 3},   {5, 3, 2, 1, Padding::same, 1, 3},
      {5, 3, 1, 1, Padding::same, 1, 5},   {5, 2, 1, 1, Padding::same, 0, 5},
      {5, 3, 1, 2, Padding::same, 2, 5},   {1, 5, 1, 1, Padding::same, 2, 1},
      {6, 1, 3, 1, Padding::same, 0, 2},   {5, 3, 2, 1, Padding::valid, 0, 2},
      {6, 3, 2, 1, Padding::valid, 0, 2},  {7, 3, 1, 3, Padding::valid, 0, 1},
      {6, 3, 2, 1, Padding::causal, 2, 3}, {5, 3, 2, 2, Padding::causal, 4, 3},
      {5, 2, 3, 1, Padding::causal, 1, 2}, {1, 1, 2, 3, Padding::causal, 0, 1},
  };
  for (const Case& c : cases) {
    const WindowAxis axis = slide_window(c.input, c.kernel, c.stride, c.dilation, c.padding);
    EXPECT_EQ(axis.before, c.before) << c.input << " " << c.kernel << " " << c.stride;
    EXPECT_EQ(axis.output, c.output) << c.input << " " << c.kernel << " " << c.stride;
  }
}

TEST(SlideWindow, RefusesWhatNoImageHas) {
  EXPECT_THROW(slide_window(0, 1, 1, 1, Padding::same), InvalidArgument);
  EXPECT_THROW(slide_window(4, 0, 1, 1, Padding::same), InvalidArgument);
  EXPECT_THROW(slide_window(4, 1, 0, 1, Padding::same), InvalidArgument);
  EXPECT_THROW(slide_window(4, 1, 1, -1, Padding::same), InvalidArgument);
  EXPECT_THROW(slide_window(Index{1} << 31, 1, 1, 1, Padding::same), InvalidArgument);
  EXPECT_THROW(slide_window(4, 5, 1, 1, Padding::valid), InvalidArgument);
  EXPECT_THROW(slide_window(4, 3, 1, 2, Padding::valid), InvalidArgument);
  EXPECT_THROW(slide_window(2, 2, 1, (Index{1} << 31) - 1, Padding::causal), InvalidArgument);
  // Products of the largest extents fit.
  const Index most = (Index{1} << 31) - 1;
  EXPECT_EQ(slide_window(most, most, most, most, Padding::same).output, 1);
}

TEST(WindowAxis, TapsInsideAreThoseThatAPositionHas) {
  for (Index kernel = 1; kernel <= 5; ++kernel) {
    for (Index stride = 1; stride <= 4; ++stride) {
      for (Index dilation = 1; dilation <= 3; ++dilation) {
        for (Index i = 2; i <= 19; ++i) {
          const Index input = i / 2;
          const Padding padding = i % 2 == 0 ? Padding::same : Padding::causal;
          const WindowAxis axis = slide_window(input, kernel, stride, dilation, padding);
          for (Index o = 0; o < axis.output; ++o) {
            for (Index k = 0; k < kernel; ++k) {
              const Index at = axis.first(o) + k * dilation;
              EXPECT_EQ(k >= axis.begin(o) && k < axis.end(o), at >= 0 && at < input)
                  << input << " " << kernel << " " << stride << " " << dilation << " " << o;
            }
          }
        }
      }
    }
  }
}

TEST(GatherPatches, CopyWhatEachTapReads) {
  const Index channels = 3;
  for (const Padding padding : {Padding::valid, Padding::same, Padding::causal}) {
    for (Index dilation = 1; dilation <= 2; ++dilation) {
      for (Index stride = 1; stride <= 3; ++stride) {
        const Window w{slide_window(7, 3, stride, dilation, padding),
                       slide_window(6, 2, stride, dilation, padding)};
        std::vector<std::int32_t> image(static_cast<std::size_t>(w.inputs() * channels));
        std::iota(image.begin(), image.end(), 1);
        for (Index first = 0; first < channels; ++first) {
          const Index count = first == 0 ? channels : channels - first;
          const Index begin = w.outputs() / 3;
          std::vector<std::int32_t> patches(
              static_cast<std::size_t>((w.outputs() - begin) * w.taps() * count), -7);
          gather_patches(w, image.data(), channels, first, count, -1, begin, w.outputs(),
                         w.taps() * count, patches.data());
          const std::int32_t* found = patches.data();
          for (Index o = begin; o < w.outputs(); ++o) {
            for (Index tap = 0; tap < w.taps(); ++tap) {
              const Index y = w.y.first(o / w.x.output) + tap / w.x.kernel * dilation;
              const Index x = w.x.first(o % w.x.output) + tap % w.x.kernel * dilation;
              const bool inside = y >= 0 && y < w.y.input && x >= 0 && x < w.x.input;
              for (Index c = first; c < first + count; ++c) {
                const std::int32_t expected =
                    inside ? image[static_cast<std::size_t>((y * w.x.input + x) * channels + c)]
                           : -1;
                ASSERT_EQ(*found++, expected);
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::window_test
