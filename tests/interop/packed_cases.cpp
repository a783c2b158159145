#include <fmt/core.h>
#include <octet/tests/interop/cases.h>
#include <octet/tests/interop/model_windows.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/naive.h>
#include <octet/tests/runtime/packed_models.h>

#include <array>

namespace octet::interop {
namespace {

constexpr Index kPackedSamples = 32;
constexpr int kLeastBits = 2;
constexpr int kMostBits = 7;
constexpr auto kWidths = static_cast<std::uint32_t>(kMostBits - kLeastBits + 1);

int bits_of(std::uint32_t seed) { return kLeastBits + static_cast<int>(seed % kWidths); }

void add(CaseFolder& folder, const std::string& name, const IntegerModel& model,
         std::span<const std::int8_t> codes) {
  const Index count = std::ssize(codes) / tensor_of(model, model.inputs[0]).size();
  const Samples input = folder.input(DType::int8, count, codes);
  ordered_json& entry = folder.add(name, model, input);
  folder.add_packed_onnx(entry, model, input, CaseFolder::run(model, input));
}

std::vector<std::int8_t> random_codes(const IntegerModel& model, std::uint32_t seed) {
  test::Draw draw(seed);
  const Index size = tensor_of(model, model.inputs[0]).size();
  return test::random_codes(static_cast<std::size_t>(size * kPackedSamples), draw);
}

/// A random net of Dense layers or of convolutions, quantized and trained. False where runtimes
/// could not run it.
bool add_net_with_weight_bits(CaseFolder& folder, std::uint32_t seed) {
  const QuantizeOptions options{.weight_bits = bits_of(seed / 2),
                                .per_channel = seed / 12 % 2 == 0};
  Sequential model("net");
  if (seed % 2 == 0) {
    test::RandomNet net(seed);
    model = quantize_model(net.model(), options);
    calibrate(model, net.batch(9));
    test::train_a_little(model, net, 3);
  } else {
    model = quantize_model(test::random_images_net(seed), options);
    calibrate(model, test::images_for(model, 20, seed));
    test::train_a_little(model, seed);
  }
  const IntegerModel lowered = lower(model);
  if (is_warned_of(lowered)) return false;
  add(folder, fmt::format("packed-onnx-net-{:03}", seed), lowered, random_codes(lowered, seed));
  return true;
}

/// One operator, on scales that are powers of two: sums often lie half way between two codes.
void add_packed_ties(CaseFolder& folder, std::uint32_t seed) {
  constexpr std::array kCodes = {OpCode::fully_connected, OpCode::conv_2d,
                                 OpCode::depthwise_conv_2d};
  const OpCode code = kCodes[seed / 6 % 3];
  const bool per_channel = seed / 18 % 2 == 0;
  test::Draw draw(seed);
  IntegerModel model = test::few_bits_model({.code = code,
                                             .bits = bits_of(seed),
                                             .depth = draw.between(1, 40),
                                             .per_channel = per_channel},
                                            seed);
  for (const std::int32_t i : code_tensors(model)) {
    ModelTensor& tensor = model.tensors[static_cast<std::size_t>(i)];
    tensor.shape_signature = tensor.shape;
    tensor.shape_signature[0] = -1;
  }
  add(folder, fmt::format("packed-onnx-ties-{:03}", seed), model, random_codes(model, seed));
}

/// With `packed_files` also as .tflite files of packed weights.
void add_images_of_every_width(CaseFolder& folder, const DataSplit& data, bool packed_files) {
  const Dataset images = data.train.head(kTrainImages);
  Sequential net("classifier", Input(images.example_shape()), Flatten(),
                 Dense(256, Activation::relu), Dense(128, Activation::relu),
                 Dense(static_cast<Index>(images.classes()), Activation::softmax));
  net.build(/*seed=*/0);
  Trainer(net, Adam()).fit(images, 1);
  const Tensor test = data.test.features(0, data.test.size());
  for (int bits = kLeastBits; bits <= kMostBits; ++bits) {
    Sequential model = quantize_model(net, {.weight_bits = bits, .per_channel = bits % 2 == 0});
    Trainer(model, Adam(1e-4F)).fit(images.head(2000), 1);
    refresh_kernel_ranges(model);
    const IntegerModel lowered = lower(model);
    const std::vector<std::int8_t> codes = quantized(lowered, test.span());
    add(folder, fmt::format("packed-onnx-images-{}", bits), lowered, codes);
    if (!packed_files || bits > 4) continue;
    const Samples input =
        folder.input(DType::int8, test.dim(0), std::span<const std::int8_t>(codes));
    folder.add(fmt::format("packed-images-{}", bits),
               with_all_layers(lower(model, {.pack_weights = true})), input);
  }
}

}  // namespace

void add_packed_cases(CaseFolder& folder, const DataSplit& data, const PackedCount& count) {
  // Seeds take the widths in turn.
  std::uint32_t nets = 0;
  for (std::uint32_t seed = 0; nets < kWidths * count.nets; ++seed) {
    nets += add_net_with_weight_bits(folder, seed) ? 1 : 0;
  }
  for (std::uint32_t seed = 0; seed < kWidths * count.ties; ++seed) add_packed_ties(folder, seed);
  add_images_of_every_width(folder, data, count.packed_files);
}

}  // namespace octet::interop
