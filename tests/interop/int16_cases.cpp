#include <fmt/core.h>
#include <octet/tests/interop/cases.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/runtime/int16_models.h>
#include <octet/tests/runtime/packed_models.h>

#include <cmath>

namespace octet::interop {
namespace {

constexpr std::uint32_t kDense = 60;
constexpr std::uint32_t kInt16Convolutions = 80;
constexpr std::uint32_t kTies = 60;
constexpr std::uint32_t kTrained = 40;
constexpr Index kSamples = 16;

/// The model with scales that are the nearest powers of two, so that sums often lie half way
/// between two codes.
IntegerModel with_ties(IntegerModel model) {
  for (ModelTensor& tensor : model.tensors) {
    for (float& scale : tensor.quantization.scales) {
      scale = std::exp2(std::round(std::log2(scale)));
    }
  }
  return model;
}

/// Any codes: of reals half way between two codes, runtimes make others than the interpreter.
Samples int16_input(CaseFolder& folder, const IntegerModel& model, std::uint32_t seed) {
  test::Draw draw(seed);
  const ModelTensor& input = tensor_of(model, model.inputs[0]);
  const auto codes = test::random_int16(static_cast<std::size_t>(input.size() * kSamples), draw);
  return folder.input(DType::int16, kSamples, std::span<const std::int16_t>(codes));
}

ordered_json& add(CaseFolder& folder, const std::string& name, const IntegerModel& model,
                  std::uint32_t seed) {
  return folder.add(name, model, int16_input(folder, model, seed), Rounding::q15);
}

/// Chains of FULLY_CONNECTED, which LiteRT.js rescales by another rule.
void add_dense(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const IntegerModel drawn = test::make_mlp(
      seed, {draw.between(1, 90), draw.between(1, 40), draw.between(1, 12)}, seed % 4 < 2, true);
  const IntegerModel model =
      test::int16_inner(test::int16_mlp(seed % 2 == 0 ? drawn : with_ties(drawn)));
  add(folder, fmt::format("int16-dense-{:03}", seed), model, seed)["not_litert"] = true;
}

/// CONV_2D or DEPTHWISE_CONV_2D of any window.
void add_int16_convolution(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const bool depthwise = seed % 2 == 0;
  test::Conv c = depthwise ? test::draw_depthwise(draw) : test::draw_conv(draw);
  const IntegerModel drawn = depthwise ? test::depthwise_model(c) : test::model_of(c);
  add(folder, fmt::format("int16-convolution-{:03}", seed),
      test::as_int16(seed % 4 < 2 ? drawn : with_ties(drawn)), seed);
}

/// One operator whose scales are powers of two.
void add_int16_ties(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const OpCode code = seed % 3 == 0   ? OpCode::fully_connected
                      : seed % 3 == 1 ? OpCode::conv_2d
                                      : OpCode::depthwise_conv_2d;
  const IntegerModel model = test::few_bits_model(
      {.code = code, .bits = 8, .depth = draw.between(1, 40), .per_channel = seed % 2 == 0}, seed);
  ordered_json& entry =
      add(folder, fmt::format("int16-ties-{:03}", seed), test::as_int16(model), seed);
  entry["not_litert"] = code == OpCode::fully_connected;
}

/// Convolutions of images alone.
Sequential convolutions_net(std::uint32_t seed) {
  test::Draw draw(seed);
  const Index channels = draw.between(1, 5);
  Sequential model("m", Input({draw.between(2, 9), draw.between(2, 9), channels}, "in"));
  DepthwiseConv2D depthwise = test::draw_depthwise_layer(draw);
  const Index between = channels * depthwise.options().depth_multiplier;
  model.add(std::move(depthwise));
  model.add(test::draw_conv_layer(draw, between));
  model.build(seed);
  return model;
}

/// Networks that were trained: those that end in a Dense layer, and convolutions alone.
void add_trained(CaseFolder& folder, std::uint32_t seed) {
  const bool ends_in_dense = seed % 2 == 0;
  Sequential model = quantize_model(
      ends_in_dense ? test::random_images_net(seed) : convolutions_net(seed),
      {.rounding = Rounding::q15, .activation_bits = 16, .per_channel = seed % 4 < 2});
  calibrate(model, test::images_for(model, 20, seed));
  test::train_a_little(model, seed);
  add(folder, fmt::format("int16-trained-{:03}", seed), lower(model), seed)["not_litert"] =
      ends_in_dense;
}

}  // namespace

void add_int16_cases(CaseFolder& folder) {
  for (std::uint32_t seed = 0; seed < kDense; ++seed) add_dense(folder, seed);
  for (std::uint32_t seed = 0; seed < kInt16Convolutions; ++seed)
    add_int16_convolution(folder, seed);
  for (std::uint32_t seed = 0; seed < kTies; ++seed) add_int16_ties(folder, seed);
  for (std::uint32_t seed = 0; seed < kTrained; ++seed) add_trained(folder, seed);
}

}  // namespace octet::interop
