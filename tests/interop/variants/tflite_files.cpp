#include <octet/deploy/tflite/writer.h>
#include <octet/tests/interop/variants/variants.h>
#include <octet/tests/runtime/models.h>

namespace octet::test::variants {
namespace {

using Extents = std::vector<std::int32_t>;

/// Writes one operator that reads the input "x" and constants.
class Files {
 public:
  struct Operand {
    Extents shape;
    /// Drawn where there are none.
    std::vector<std::int32_t> integers{};
  };

  void add(const std::string& name, OpCode code, const Extents& x,
           const std::vector<Operand>& constants, const Extents& y,
           const OperatorAttributes& attributes, const std::string& refused = "") {
    RawModelBuilder b;
    const std::int32_t input = b.activation("x", x, DType::float32);
    Extents read = {input};
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const auto& [shape, given] = constants[i];
      const std::string constant = "c" + std::to_string(i);
      std::size_t count = 1;
      for (const std::int32_t extent : shape) count *= static_cast<std::size_t>(extent);
      read.push_back(given.empty()
                         ? b.constant(constant, shape, DType::float32, drawn(count, 3 + i))
                         : b.constant(constant, shape, DType::int32, given));
    }
    const std::int32_t result = b.activation("y", y, DType::float32);
    b.op(code, read, result, attributes);
    b.model.inputs = {input};
    b.model.outputs = {result};
    all_.push_back({name, to_tflite(b.model), refused});
  }
  Variants take() { return std::move(all_); }

 private:
  Variants all_;
};

constexpr auto kSame = Padding::same;
constexpr auto kValid = Padding::valid;

void add_windows(Files& files) {
  const auto conv = [&](const char* name, const Extents& kernel, const Extents& y,
                        const Conv2DAttributes& attributes) {
    files.add(name, OpCode::conv_2d, {1, 9, 7, 4}, {{kernel}, {{kernel[0]}}}, y, attributes);
  };
  conv("conv_valid", {5, 3, 3, 4}, {1, 7, 5, 5}, {.padding = kValid});
  conv("conv_same_strided", {5, 3, 3, 4}, {1, 5, 4, 5},
       {.padding = kSame, .stride_h = 2, .stride_w = 2});
  conv("conv_dilated", {5, 3, 3, 4}, {1, 5, 5, 5}, {.padding = kValid, .dilation_h = 2});
  conv("conv_relu", {5, 1, 1, 4}, {1, 9, 7, 5},
       {.padding = kSame, .activation = FusedActivation::relu});
  conv("conv_relu6", {5, 3, 3, 4}, {1, 9, 7, 5},
       {.padding = kSame, .activation = FusedActivation::relu6});
  files.add("conv_relu_n1_to_1", OpCode::conv_2d, {1, 9, 7, 4}, {{{5, 3, 3, 4}}, {{5}}},
            {1, 9, 7, 5},
            Conv2DAttributes{.padding = kSame, .activation = FusedActivation::relu_n1_to_1},
            "neither RELU nor RELU6");
  conv("conv_groups", {6, 3, 3, 2}, {1, 7, 5, 6}, {.padding = kValid});
  const auto depthwise = [&](const char* name, std::int32_t units, const Extents& y,
                             const DepthwiseConv2DAttributes& attributes) {
    files.add(name, OpCode::depthwise_conv_2d, {1, 9, 7, 4}, {{{1, 3, 3, units}}, {{units}}}, y,
              attributes);
  };
  depthwise("depthwise_same", 4, {1, 9, 7, 4}, {.padding = kSame, .depth_multiplier = 1});
  depthwise("depthwise_multiplier", 8, {1, 7, 5, 8}, {.padding = kValid, .depth_multiplier = 2});
  depthwise("depthwise_strided", 4, {1, 5, 4, 4},
            {.padding = kSame, .stride_h = 2, .stride_w = 2, .depth_multiplier = 1});
  const auto pool = [&](const char* name, OpCode code, const Extents& y,
                        const PoolAttributes& attributes) {
    files.add(name, code, {1, 9, 7, 4}, {}, y, attributes);
  };
  const PoolAttributes by_two = {
      .padding = kValid, .stride_h = 2, .stride_w = 2, .filter_h = 2, .filter_w = 2};
  PoolAttributes same = by_two;
  same.padding = kSame;
  pool("max_pool_valid", OpCode::max_pool_2d, {1, 4, 3, 4}, by_two);
  pool("max_pool_same", OpCode::max_pool_2d, {1, 5, 4, 4}, same);
  pool("average_pool_valid", OpCode::average_pool_2d, {1, 4, 3, 4}, by_two);
  pool("average_pool_same", OpCode::average_pool_2d, {1, 5, 4, 4}, same);
}

void add_merges(Files& files) {
  const auto with = [&](const char* name, OpCode code, const Extents& constant,
                        FusedActivation clamp = FusedActivation::none) {
    files.add(name, code, {1, 4, 3, 5}, {{constant}}, {1, 4, 3, 5},
              BinaryAttributes{.activation = clamp});
  };
  with("add_scalar", OpCode::add, {1});
  with("add_channels", OpCode::add, {5});
  with("add_relu", OpCode::add, {5}, FusedActivation::relu);
  with("sub_channels", OpCode::sub, {5});
  with("mul_channels", OpCode::mul, {5});
  with("mul_relu6", OpCode::mul, {1}, FusedActivation::relu6);
  files.add("maximum_channels", OpCode::maximum, {1, 4, 3, 5}, {{{5}}}, {1, 4, 3, 5},
            NoAttributes{});
  files.add("minimum_scalar", OpCode::minimum, {1, 4, 3, 5}, {{{1}}}, {1, 4, 3, 5}, NoAttributes{});
  files.add("prelu_channels", OpCode::prelu, {1, 4, 3, 5}, {{{1, 1, 5}}}, {1, 4, 3, 5},
            NoAttributes{});
  const auto dense = [&](const char* name, const Extents& x, const Extents& y,
                         const FullyConnectedAttributes& attributes) {
    files.add(name, OpCode::fully_connected, x, {{{3, 6}}, {{3}}}, y, attributes);
  };
  dense("dense", {1, 6}, {1, 3}, {});
  dense("dense_relu", {1, 6}, {1, 3}, {.activation = FusedActivation::relu});
  dense("dense_of_rows", {1, 4, 6}, {1, 4, 3}, {.keep_num_dims = true});
}

void add_functions(Files& files) {
  const auto of = [&](const char* name, OpCode code, const OperatorAttributes& attributes) {
    files.add(name, code, {1, 4, 6}, {}, {1, 4, 6}, attributes);
  };
  of("relu", OpCode::relu, NoAttributes{});
  of("relu6", OpCode::relu6, NoAttributes{});
  of("leaky_relu", OpCode::leaky_relu, LeakyReluAttributes{.alpha = 0.3F});
  of("elu", OpCode::elu, NoAttributes{});
  of("gelu_exact", OpCode::gelu, GeluAttributes{.approximate = false});
  of("gelu_tanh", OpCode::gelu, GeluAttributes{.approximate = true});
  of("exp", OpCode::exp, NoAttributes{});
  of("hard_swish", OpCode::hard_swish, NoAttributes{});
  of("logistic", OpCode::logistic, NoAttributes{});
  of("tanh", OpCode::tanh, NoAttributes{});
  of("softmax", OpCode::softmax, SoftmaxAttributes{.beta = 1.0F});
  files.add("softmax_beta", OpCode::softmax, {1, 6}, {}, {1, 6}, SoftmaxAttributes{.beta = 0.5F},
            "beta is not 1");
}

void add_shapes(Files& files) {
  const auto mean = [&](const char* name, const Extents& x, const Extents& axes, const Extents& y,
                        bool keep, const char* refused = "") {
    files.add(name, OpCode::mean, x, {{{static_cast<std::int32_t>(axes.size())}, axes}}, y,
              MeanAttributes{.keep_dims = keep}, refused);
  };
  mean("mean_of_images", {1, 4, 3, 5}, {1, 2}, {1, 5}, false);
  mean("mean_keeps_axes", {1, 4, 3, 5}, {1, 2}, {1, 1, 1, 5}, true);
  mean("mean_negative_axes", {1, 4, 3, 5}, {-2, -3}, {1, 5}, false);
  const auto pad = [&](const char* name, const Extents& x, const Extents& pads, const Extents& y) {
    files.add(name, OpCode::pad, x, {{{static_cast<std::int32_t>(x.size()), 2}, pads}}, y,
              NoAttributes{});
  };
  pad("pad_images", {1, 4, 3, 5}, {0, 0, 1, 2, 0, 1, 0, 0}, {1, 7, 4, 5});
  pad("pad_channels", {1, 4, 3, 5}, {0, 0, 0, 0, 0, 0, 1, 2}, {1, 4, 3, 8});
  pad("pad_sequences", {1, 4, 6}, {0, 0, 2, 0, 0, 1}, {1, 6, 7});
  const auto resize = [&](const char* name, OpCode code, const Extents& y, bool corners,
                          bool centers, const char* refused = "") {
    files.add(name, code, {1, 4, 3, 5}, {{{2}, {y[1], y[2]}}}, y,
              ResizeAttributes{.align_corners = corners, .half_pixel_centers = centers}, refused);
  };
  resize("bilinear", OpCode::resize_bilinear, {1, 8, 7, 5}, false, false);
  resize("bilinear_corners", OpCode::resize_bilinear, {1, 8, 7, 5}, true, false);
  resize("bilinear_centers", OpCode::resize_bilinear, {1, 8, 7, 5}, false, true);
  resize("nearest", OpCode::resize_nearest_neighbor, {1, 8, 9, 5}, false, false);
  resize("nearest_centers", OpCode::resize_nearest_neighbor, {1, 8, 9, 5}, false, true);
  resize("nearest_fraction", OpCode::resize_nearest_neighbor, {1, 6, 9, 5}, false, false,
         "whole factors");
  files.add("transpose", OpCode::transpose, {1, 4, 3, 5}, {{{4}, {0, 3, 1, 2}}}, {1, 5, 4, 3},
            NoAttributes{});
  files.add("reshape", OpCode::reshape, {1, 4, 6}, {{{3}, {1, 3, 8}}}, {1, 3, 8},
            default_attributes(OpCode::reshape));
  const auto slice = [&](const char* name, const Extents& begin, const Extents& end,
                         const Extents& steps, const Extents& y,
                         const StridedSliceAttributes& masks, const char* refused = "") {
    files.add(name, OpCode::strided_slice, {1, 4, 6}, {{{3}, begin}, {{3}, end}, {{3}, steps}}, y,
              masks, refused);
  };
  slice("slice", {0, 1, 2}, {1, 3, 6}, {1, 1, 1}, {1, 2, 4}, {});
  slice("slice_masks", {0, 1, 2}, {1, 3, 3}, {1, 1, 1}, {1, 4, 1},
        {.begin_mask = 3, .end_mask = 3});
  slice("slice_drops", {0, 2, 0}, {1, 3, 6}, {1, 1, 1}, {1, 6}, {.shrink_axis_mask = 2});
  slice("slice_steps", {0, 0, 0}, {1, 4, 6}, {1, 1, 2}, {1, 4, 3}, {});
}

}  // namespace

Variants tflite_files() {
  Files files;
  add_windows(files);
  add_merges(files);
  add_functions(files);
  add_shapes(files);
  return files.take();
}

}  // namespace octet::test::variants
