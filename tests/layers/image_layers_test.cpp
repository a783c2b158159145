#include <octet/core/description.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/architecture.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/layers.h>
#include <octet/tests/layers/layer_testing.h>

// Pooling, padding and upsampling of images [height, width, channels].

namespace octet::test::image_layers_test {
namespace {

/// The images 0, 1, 2, ... of a shape.
Tensor counted(const Shape& shape) { return Tensor::arange(shape.size()).reshape(shape); }

template <class L>
void expect_result(L layer, const Tensor& x, const Shape& shape, const std::vector<float>& values) {
  const auto made = built(std::move(layer), x.shape().without_batch());
  EXPECT_EQ(made->output_shape(), shape.without_batch());
  expect_tensor(made->forward(x, {}), shape, values);
  EXPECT_EQ(made->forward(Tensor::zeros(x.shape().without_batch().with_batch(0)), {}).shape(),
            shape.without_batch().with_batch(0));
}

TEST(MaxPool2D, TakesTheLargestValueOfEachWindow) {
  const Tensor x = counted({1, 3, 4, 1});
  expect_result(MaxPool2D(), x, {1, 1, 2, 1}, {5, 7});
  expect_result(MaxPool2D({.size = {1, 2}}), x, {1, 3, 2, 1}, {1, 3, 5, 7, 9, 11});
  expect_result(MaxPool2D({.padding = Padding::same}), x, {1, 2, 2, 1}, {5, 7, 9, 11});
  expect_result(MaxPool2D({.size = {3, 3}, .stride = {1, 1}}), -x, {1, 1, 2, 1}, {-0.0F, -1});
}

TEST(AveragePool2D, TakesTheMeanOfThePixelsInsideTheImage) {
  const Tensor x = counted({1, 3, 4, 1});
  expect_result(AveragePool2D(), x, {1, 1, 2, 1}, {2.5F, 4.5F});
  expect_result(AveragePool2D({.padding = Padding::same}), x, {1, 2, 2, 1},
                {2.5F, 4.5F, 8.5F, 10.5F});
  expect_result(AveragePool2D({.size = {3, 2}, .stride = {1, 2}}), counted({2, 3, 2, 2}),
                {2, 1, 1, 2}, {5, 6, 17, 18});
}

TEST(GlobalPool2D, MakesOneValueOfEachChannel) {
  const Tensor x = counted({2, 3, 2, 2});
  expect_result(GlobalAveragePool2D(), x, {2, 2}, {5, 6, 17, 18});
  expect_result(GlobalMaxPool2D(), x, {2, 2}, {10, 11, 22, 23});
  expect_result(GlobalMaxPool2D(), -x, {2, 2}, {-0.0F, -1, -12, -13});
}

TEST(ZeroPadding2D, PutsZerosAroundImages) {
  const Tensor x = counted({1, 1, 2, 1}) + 1.0F;
  expect_result(ZeroPadding2D({.top = 1, .left = 2}), x, {1, 2, 4, 1}, {0, 0, 0, 0, 0, 0, 1, 2});
  expect_result(ZeroPadding2D({.bottom = 1, .right = 1}), x, {1, 2, 3, 1}, {1, 2, 0, 0, 0, 0});
}

TEST(UpSampling2D, RepeatsPixels) {
  const Tensor x = counted({1, 1, 2, 2});
  expect_result(UpSampling2D(), x, {1, 2, 4, 2}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
  expect_result(UpSampling2D({1, 3}), x, {1, 1, 6, 2}, {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3});
}

/// Numbers of Keras and PyTorch.
TEST(Resizing, InterpolatesBetweenPixels) {
  const Tensor x = Tensor::from({1, 1, 2, 1}, {0, 4});
  const std::vector<float> half_pixel = {0, 1, 3, 4};
  expect_result(Resizing({1, 4}), x, {1, 1, 4, 1}, half_pixel);
  expect_result(UpSampling2D({1, 2}, Interpolation::bilinear), x, {1, 1, 4, 1}, half_pixel);
  expect_result(Resizing({1, 5}, ResizeCoordinates::align_corners), x, {1, 1, 5, 1},
                {0, 1, 2, 3, 4});
  expect_result(Resizing({2, 4}, ResizeCoordinates::asymmetric), x, {1, 2, 4, 1},
                {0, 2, 4, 4, 0, 2, 4, 4});
}

std::vector<std::unique_ptr<Layer>> image_layers() {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<MaxPool2D>(
      Pool2DOptions{.size = {3, 2}, .stride = {2, 1}, .padding = Padding::same}));
  layers.push_back(
      std::make_unique<AveragePool2D>(Pool2DOptions{.size = {2, 3}, .stride = {1, 2}}));
  layers.push_back(std::make_unique<GlobalMaxPool2D>());
  layers.push_back(std::make_unique<GlobalAveragePool2D>());
  layers.push_back(
      std::make_unique<ZeroPadding2D>(Padding2D{.top = 1, .bottom = 2, .left = 3, .right = 4}));
  layers.push_back(std::make_unique<UpSampling2D>(std::array<Index, 2>{3, 2}));
  layers.push_back(
      std::make_unique<UpSampling2D>(std::array<Index, 2>{2, 3}, Interpolation::bilinear));
  layers.push_back(
      std::make_unique<Resizing>(std::array<Index, 2>{7, 3}, ResizeCoordinates::align_corners));
  return layers;
}

TEST(ImageLayers, Gradients) {
  for (const auto& layer : image_layers()) {
    SCOPED_TRACE(layer->type());
    layer->build({4, 5, 2}, Random());
    // Apart, so that a step changes no maximum.
    Tensor x = counted({2, 4, 5, 2});
    for (Index i = 0; i < x.size(); ++i)
      x.mutable_data()[i] = static_cast<float>(i * 37 % 80) * 0.1F;
    expect_gradient(
        [&](const std::vector<Tensor>& in) { return layer->forward(in[0], training()); }, {x});
  }
}

TEST(ImageLayers, AreMadeAgainFromTheirDescription) {
  for (const auto& layer : image_layers()) {
    SCOPED_TRACE(layer->type());
    layer->set_name("a");
    const Description description = describe_layer(*layer);
    const std::unique_ptr<Layer> made = make_layer(description);
    EXPECT_EQ(made->type(), layer->type());
    EXPECT_EQ(describe_layer(*made).to_json(), description.to_json());
    for (Layer* any : {layer.get(), made.get()}) any->build({4, 5, 2}, Random());
    EXPECT_EQ(made->output_shape(), layer->output_shape());
    const Tensor x = random_tensor({2, 4, 5, 2}, 1);
    EXPECT_EQ(values_of(made->forward(x, {})), values_of(layer->forward(x, {})));
    EXPECT_EQ(values_of(layer->clone()->forward(x, {})), values_of(layer->forward(x, {})));
  }
}

TEST(ImageLayers, RefuseWhatAreNoImages) {
  for (const auto& layer : image_layers()) {
    layer->set_name("a");
    const std::string owner = std::string(layer->type()) + " \"a\": expected images ";
    for (const Shape& shape : {Shape{4}, Shape{4, 4}, Shape{1, 4, 4, 1}, Shape{}}) {
      expect_throws<InvalidArgument>(
          [&] { layer->build(shape, Random()); },
          {owner + "[height, width, channels]", shape.to_string(), "Reshape"});
    }
    expect_throws<InvalidArgument>(
        [&] {
          layer->build({4, 5}, Random());
        },
        {"Reshape({1, 4, 5}), with windows such as {1, 2}", "Reshape({4, 5, 1})",
         "Input({4, 5, 1}), which takes the same data"});
    for (const Shape& shape : {Shape{0, 4, 1}, Shape{4, 0, 1}, Shape{4, 4, 0}}) {
      expect_throws<InvalidArgument>([&] { layer->build(shape, Random()); },
                                     {std::string(layer->type()) + " \"a\": "});
    }
    layer->build({4, 5, 2}, Random());
    expect_throws<InvalidArgument>(
        [&] {
          layer->forward(Tensor::zeros({1, 4, 5, 3}), {});
        },
        {std::string(layer->type()) + " \"a\": expected input 0 of shape [batch, 4, 5, 2]"});
  }
}

TEST(ImageLayers, PoolOverStepsAsTheirHintSays) {
  Sequential model("m", Input({64, 3}), Conv1D(16, 5, Activation::relu, {.padding = Padding::same}),
                   Reshape({1, 64, 16}), MaxPool2D({.size = {1, 2}}));
  model.build(0);
  EXPECT_EQ(model.output_shape(), (Shape{1, 32, 16}));
}

TEST(ImageLayers, TakeOneNumberForBothAxes) {
  EXPECT_EQ(MaxPool2D(3, "p").options().size, (std::array<Index, 2>{3, 3}));
  EXPECT_EQ(MaxPool2D(3).options().stride, (std::array<Index, 2>{3, 3}));
  EXPECT_EQ(AveragePool2D(Index{4}).options().size, (std::array<Index, 2>{4, 4}));
  EXPECT_EQ(UpSampling2D(3, "u").factors(), (std::array<Index, 2>{3, 3}));
  // Braces are options.
  EXPECT_EQ(MaxPool2D({}, "p").options().size, (std::array<Index, 2>{2, 2}));
}

TEST(ImageLayers, RefuseWhatDoesNotFitTheImage) {
  const auto refuses = [](auto layer, const std::string& what) {
    expect_error([&] { built(std::move(layer), {4, 4, 1}); }, what);
  };
  refuses(MaxPool2D({.size = {5, 1}}, "a"), "layer \"a\" of type MaxPool2D: max_pool2d");
  refuses(AveragePool2D({.size = {1, 5}}, "a"), "layer \"a\" of type AveragePool2D: ");
  refuses(MaxPool2D({.size = {0, 1}}, "a"), "expected a kernel size between 1");
  refuses(MaxPool2D({.size = {2, 2}, .stride = {2, -1}}, "a"), "expected a stride between 1");
  refuses(ZeroPadding2D({.left = -1}, "a"),
          "layer \"a\" of type ZeroPadding2D: pad2d: expected a padding on the");
  refuses(UpSampling2D({0, 1}, "a"),
          "layer \"a\" of type UpSampling2D: upsample2d: expected a factor");
  refuses(UpSampling2D({0, 1}, Interpolation::bilinear, "a"), "expected factors above 0");
  refuses(Resizing({3, 0}, ResizeCoordinates::half_pixel, "a"),
          "layer \"a\" of type Resizing: resize_bilinear: expected a height and a width");
  // With padding same a window may be larger than the image.
  expect_result(MaxPool2D({.size = {9, 9}, .padding = Padding::same}), counted({1, 2, 2, 1}),
                {1, 1, 1, 1}, {3});
}

TEST(ImageLayers, RefuseABrokenDescription) {
  const auto pool = [] {
    Description d;
    d.set("type", "MaxPool2D").set("name", "a").set("size", Shape{2, 2});
    return d.set("stride", Shape{2, 2}).set("padding", "same");
  };
  const auto refuses = [](const Description& d, const std::string& what) {
    expect_throws<FormatError>([&] { make_layer(d); }, {what});
  };
  EXPECT_EQ(make_layer(pool())->type(), "MaxPool2D");
  refuses(pool().set("size", Shape{2}), "two numbers, height and width, in \"size\", found 1");
  refuses(pool().set("stride", Shape{2, 2, 2}), "in \"stride\", found 3");
  refuses(pool().set("padding", "full"), "found \"full\"");
}

TEST(ImageLayers, AModelOfThemIsSavedAndLoaded) {
  const Sequential model = [] {
    Sequential made("m", Input({8, 8, 1}), ZeroPadding2D({.top = 1, .right = 2}), UpSampling2D(),
                    MaxPool2D({.size = {3, 3}, .stride = {2, 2}}), AveragePool2D(),
                    GlobalAveragePool2D());
    made.build();
    return made;
  }();
  const Sequential loaded(model_from_json(architecture_json(model)));
  EXPECT_EQ(architecture_json(loaded), architecture_json(model));
}

}  // namespace
}  // namespace octet::test::image_layers_test
