#include <fmt/core.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/interop/cases.h>
#include <octet/tests/interop/model_windows.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/layers/quantize/random_sequences.h>
#include <octet/tests/runtime/bilinear_models.h>
#include <octet/tests/runtime/conv_models.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/matmul_models.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/moving_models.h>
#include <octet/tests/runtime/naive_graph.h>
#include <octet/tests/runtime/packed_models.h>
#include <octet/tests/runtime/transposed_models.h>
#include <octet/tests/runtime/window_models.h>

#include <array>

namespace octet::interop {
namespace {

constexpr std::uint32_t kNets = 200;
constexpr std::uint32_t kTrainedGraphs = 100;
constexpr std::uint32_t kChains = 100;
constexpr std::uint32_t kConvolutions = 100;
constexpr std::uint32_t kElementwise = 200;
constexpr std::uint32_t kReadOnly = 90;
constexpr std::uint32_t kMoving = 90;
constexpr std::uint32_t kTrainedConvolutions = 40;
constexpr std::uint32_t kTransposed = 60;
constexpr std::uint32_t kTrainedTransposed = 40;
constexpr std::uint32_t kTrainedSequences = 60;
constexpr std::uint32_t kFewBits = 120;
constexpr std::uint32_t kPackedNets = 100;
constexpr Index kNetSamples = 32;

/// Half of the samples like those that the net has seen, the other half any codes at all.
Samples net_input(CaseFolder& folder, const IntegerModel& model, const Tensor& batch,
                  const Random& random) {
  const std::span<const float> reals = batch.span();
  if (tensor_of(model, model.inputs[0]).dtype == DType::float32) {
    return folder.input(DType::float32, kNetSamples, reals);
  }
  auto codes = quantized(model, reals);
  for (std::size_t i = codes.size() / 2; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(random.below(i, 256)) - 128);
  }
  return folder.input(DType::int8, kNetSamples, std::span<const std::int8_t>(codes));
}

/// False for a net that XNNPACK could not run.
bool add_net(CaseFolder& folder, std::uint32_t seed) {
  test::RandomNet net(seed);
  QuantizeOptions options = net.options(Rounding::fp32);
  options.per_channel = seed % 2 == 0;
  Sequential model = quantize_model(net.model(), options);
  calibrate(model, net.batch(9));
  test::train_a_little(model, net, 3);
  const IoType io = seed % 4 < 2 ? IoType::int8 : IoType::float32;
  const IntegerModel lowered = lower(model, {.input = io, .output = io});
  // A layer whose results are all 0 gets a tiny scale, and a factor that XNNPACK refuses.
  if (is_warned_of(lowered)) return false;
  const Samples input = net_input(folder, lowered, net.batch(kNetSamples), Random(seed));
  ordered_json& entry = folder.add(fmt::format("net-{:03}", seed), lowered, input);
  folder.add_onnx(entry, lowered, input, CaseFolder::run(lowered, input));
  if (options.per_channel) {
    folder.add(fmt::format("net-{:03}-conv_2d", seed), per_channel_as_conv_2d(lowered), input);
  }
  return true;
}

bool stores_few_bits(const IntegerModel& model) {
  return std::ranges::any_of(model.tensors,
                             [](const ModelTensor& t) { return t.stored_bits != 8; });
}

/// A graph with forks, ADD and CONCATENATION: every layer's codes. False where XNNPACK could not
/// run it.
bool add_graph(CaseFolder& folder, const std::string& name, const IntegerModel& model,
               std::uint64_t seed) {
  if (is_warned_of(model)) return false;
  test::Draw draw(seed);
  const auto size = static_cast<std::size_t>(tensor_of(model, model.inputs[0]).size());
  const auto codes = test::random_codes(size * kNetSamples, draw);
  const Samples input = folder.input(DType::int8, kNetSamples, std::span<const std::int8_t>(codes));
  ordered_json& entry = folder.add(name, with_all_layers(model), input);
  // The TensorFlow Lite of tfjs-tflite knows no fused activation of TRANSPOSE_CONV and no weights
  // of 4 bits, and its XNNPACK takes one scale for all units only.
  entry["newer"] =
      stores_few_bits(model) || std::ranges::any_of(model.operators, [](const Operator& op) {
        return is_transposed(op) || is_mean(op);
      });
  // ONNX Runtime gets all samples at once.
  const bool takes_batches = !tensor_of(model, model.inputs[0]).shape_signature.empty();
  if (takes_batches && !rounds_twice(model) && !stores_few_bits(model)) {
    folder.add_onnx(entry, model, input, CaseFolder::run(model, input));
  }
  return true;
}

bool add_drawn_graph(CaseFolder& folder, std::uint32_t seed) {
  const IntegerModel graph =
      test::draw_graph(seed, /*several_inputs=*/false, /*per_channel=*/seed % 2 == 0);
  return add_graph(folder, fmt::format("graph-{:03}", seed), graph, seed);
}

/// Adds a case of a graph of layers, quantized and trained.
bool add_trained_graph(CaseFolder& folder, std::uint32_t seed) {
  test::RandomGraph graph(seed);
  const QuantizeOptions options = graph.options(Rounding::fp32);
  Model model = quantize_model(graph.model(), options);
  calibrate(model, graph.batch(17));
  test::train_a_little(model, graph, 2);
  const IntegerModel lowered = lower(model);
  if (is_warned_of(lowered)) return false;
  const Samples input = net_input(folder, lowered, graph.batch(kNetSamples), Random(seed));
  const std::string name = fmt::format("trained-graph-{:03}", seed);
  ordered_json& entry = folder.add(name, with_all_layers(lowered), input);
  folder.add_onnx(entry, lowered, input, CaseFolder::run(lowered, input));
  if (options.per_channel) {
    folder.add(name + "-conv_2d", with_all_layers(per_channel_as_conv_2d(lowered)), input);
  }
  return true;
}

/// A network over sequences, quantized and trained: every layer's codes. False where runtimes could
/// not run it.
bool add_trained_sequence(CaseFolder& folder, std::uint32_t seed) {
  test::RandomSequence net(seed);
  // Weights of few bits are drawn elsewhere.
  Model model = quantize_model(net.model());
  calibrate(model, net.batch(17));
  test::train_a_little(model, 2, [&] { return net.batch(9); });
  return add_graph(folder, fmt::format("trained-sequence-{:03}", seed), lower(model), seed);
}

/// LEAKY_RELU of slopes that XNNPACK's steps of 1/256 tell apart, and the codes of a model whose
/// end stays in float: its floats are summed in another order, so that they are not compared.
void add_leaky_and_mixed(CaseFolder& folder) {
  for (const float alpha : {0.3F, 0.01F, 1.5F, 0.0F}) {
    Sequential net("leaky", Input({12}), Dense(24), LeakyReLU(alpha), Dense(9, Activation::relu),
                   LeakyReLU(alpha, "last"), in_float(Dense(4, Activation::softmax)));
    net.build(/*seed=*/static_cast<std::uint64_t>(alpha * 100.0F));
    const Tensor samples = test::random_tensor({kNetSamples, 12}, 7, -2.0F, 2.0F);
    IntegerModel model = lower(quantize_post_training(net, samples));
    model.outputs.clear();
    for (const Operator& op : model.operators) {
      if (tensor_of(model, op.outputs[0]).dtype == DType::int8) {
        model.outputs.push_back(op.outputs[0]);
      }
    }
    const Samples input = net_input(folder, model, samples, Random(5));
    folder.add(fmt::format("leaky-{}", alpha), model, input);
  }
}

/// A CONV_2D of any window. False where runtimes could not run it.
bool add_convolution(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const test::Conv c = test::draw_conv(draw);
  const IntegerModel model = test::model_of(c);
  return add_graph(folder, fmt::format("convolution-{:03}", seed), model, seed);
}

/// A network of convolutions, quantized and trained: every layer's codes. False where runtimes
/// could not run it.
bool add_trained_network(CaseFolder& folder, std::string_view kind, const Sequential& net,
                         std::uint32_t seed) {
  Sequential model = quantize_model(net);
  calibrate(model, test::images_for(model, 20, seed));
  test::train_a_little(model, seed);
  return add_graph(folder, fmt::format("trained-{}-{:03}", kind, seed), lower(model), seed);
}

bool add_trained_convolutions(CaseFolder& folder, std::uint32_t seed) {
  const bool images = seed % 2 == 0;
  return add_trained_network(
      folder, "convolutions",
      images ? test::random_images_net(seed) : test::random_sequences_net(seed), seed);
}

bool add_trained_transposed(CaseFolder& folder, std::uint32_t seed) {
  return add_trained_network(folder, "transposed", test::random_transposed_net(seed), seed);
}

/// A TRANSPOSE_CONV of any window. False where runtimes could not run it.
bool add_transposed(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const IntegerModel model = test::transposed_model(test::draw_transposed(draw));
  return add_graph(folder, fmt::format("transposed-{:03}", seed), model, seed);
}

/// MUL, ADD, SUB, MAXIMUM or MINIMUM with a constant, shapes that broadcast among them, PRELU,
/// HARD_SWISH, ELU, GELU, RSQRT, RESIZE_NEAREST_NEIGHBOR or RESIZE_BILINEAR. False where runtimes
/// could not run it.
bool add_elementwise(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const std::string name = fmt::format("elementwise-{:03}", seed);
  switch (seed % 8) {
    case 0:
      return add_graph(folder, name, test::draw_constant_pair(draw, /*batched=*/true), seed);
    case 4: {
      test::Pair pair = test::draw_extreme(draw, /*batched=*/true);
      std::size_t size = 1;
      for (const std::int32_t extent : pair.second) size *= static_cast<std::size_t>(extent);
      pair.constant = test::random_codes(size, draw);
      return add_graph(folder, name, test::model_of(pair, /*batched=*/true), seed);
    }
    case 5:
      return add_graph(folder, name, test::draw_smooth(draw, std::nullopt), seed);
    case 6: {
      const GeluAttributes form{.approximate = draw.between(0, 1) == 1};
      return add_graph(folder, name, test::draw_smooth(draw, form), seed);
    }
    case 7:
      return add_graph(folder, name, test::draw_rsqrt(draw), seed);
    case 1:
      return add_graph(folder, name, test::draw_hard_swish(draw), seed);
    case 2:
      return add_graph(folder, name, test::model_of(test::draw_prelu(draw, true), true), seed);
    default: {
      const bool bilinear = draw.between(0, 1) == 1;
      const test::Resize resize = bilinear ? test::draw_bilinear(draw) : test::draw_resize(draw);
      return add_graph(folder, name, test::model_of(resize), seed);
    }
  }
}

/// MEAN, PADV2 or SQUEEZE, which no layer becomes. False where runtimes could not run it.
bool add_read_only(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const std::string name = fmt::format("read-only-{:03}", seed);
  switch (seed % 3) {
    case 0:
      return add_graph(folder, name, test::model_of(test::draw_mean(draw)), seed);
    case 1:
      return add_graph(folder, name, test::draw_pad(draw, OpCode::padv2), seed);
    default:
      return add_graph(folder, name, test::squeeze_model({2, 1, draw.between(1, 9), 1}, {1, -1}),
                       seed);
  }
}

/// STRIDED_SLICE, TRANSPOSE, SPLIT, or BATCH_MATMUL with a constant. False where runtimes could not
/// run it.
bool add_moving(CaseFolder& folder, std::uint32_t seed) {
  test::Draw draw(seed);
  const std::string name = fmt::format("moving-{:03}", seed);
  switch (seed % 4) {
    case 0:
      return add_graph(folder, name, test::batched_slice_model(test::draw_slicing(draw, 4)), seed);
    case 1:
      return add_graph(folder, name,
                       test::batched_transpose_model(test::draw_transposition(draw, 4)), seed);
    case 2:
      return add_graph(folder, name, test::batched_split_model(test::draw_splitting(draw, 4)),
                       seed);
    default:
      return add_graph(folder, name, test::draw_batched_matmul(draw), seed);
  }
}

/// One operator with weights of 4 or 2 bits.
test::FewBits few_bits_of(std::uint32_t seed) {
  test::Draw draw(seed);
  constexpr std::array kCodes = {OpCode::fully_connected, OpCode::conv_2d,
                                 OpCode::depthwise_conv_2d};
  const OpCode code = kCodes[seed % 3];
  const bool per_channel = draw.between(0, 1) == 0;
  return {.code = code,
          .bits = code == OpCode::fully_connected && seed % 2 == 0 ? 2 : 4,
          .depth = draw.between(1, 40),
          .per_channel = per_channel};
}

/// Adds a case of an operator with weights of few bits, on scales that are powers of two.
bool add_few_bits(CaseFolder& folder, std::uint32_t seed) {
  const test::FewBits of = few_bits_of(seed);
  return add_graph(folder, fmt::format("few-bits-{:03}", seed),
                   test::stored_in(test::few_bits_model(of, seed), of.bits), seed);
}

bool stores(const IntegerModel& model, int bits) {
  return std::ranges::any_of(
      model.tensors, [bits](const ModelTensor& tensor) { return tensor.stored_bits == bits; });
}

/// A net of few bits, quantized, trained and packed.
IntegerModel packed_net(std::uint32_t seed) {
  test::RandomNet net(seed);
  QuantizeOptions options = net.options(Rounding::fp32);
  options.per_channel = seed % 2 == 0;
  options.weight_bits = 2 + static_cast<int>(seed / 2 % 3);
  options.full_weight_grid = seed % 3 == 0;
  options.activation_bits = 2 + static_cast<int>(seed % 7);
  Sequential model = quantize_model(net.model(), options);
  calibrate(model, net.batch(9));
  test::train_a_little(model, net, 3);
  return lower(model, {.pack_weights = true});
}

/// False where nothing of it is packed.
bool add_packed_net(CaseFolder& folder, std::uint32_t seed) {
  const IntegerModel lowered = packed_net(seed);
  return stores_few_bits(lowered) &&
         add_graph(folder, fmt::format("packed-net-{:03}", seed), lowered, seed);
}

}  // namespace

void add_few_bits_cases(CaseFolder& folder, std::uint32_t nets) {
  for (const int bits : {2, 4}) {
    std::uint32_t count = 0;
    for (std::uint32_t seed = 0; count < nets; ++seed) {
      if (few_bits_of(seed).bits == bits) count += add_few_bits(folder, seed) ? 1 : 0;
    }
    count = 0;
    for (std::uint32_t seed = 0; count < nets; ++seed) {
      const IntegerModel model = packed_net(seed);
      if (!stores(model, bits)) continue;
      const std::string name = fmt::format("packed-net-of-{}-{:03}", bits, seed);
      count += add_graph(folder, name, model, seed) ? 1 : 0;
    }
  }
}

void add_random_cases(CaseFolder& folder) {
  const auto add_some = [&](std::uint32_t count, bool (*add)(CaseFolder&, std::uint32_t)) {
    for (std::uint32_t seed = 0; count > 0; ++seed) count -= add(folder, seed) ? 1 : 0;
  };
  add_some(kNets, add_net);
  add_some(kNets, add_drawn_graph);
  add_graph(folder, "graph-far-scales", test::make_far_scales(), 1);
  add_leaky_and_mixed(folder);
  add_graph(folder, "graph-axes", test::make_axes(), 1);
  for (std::uint32_t seed = 0; seed < kChains; ++seed) {
    add_graph(folder, fmt::format("rescaling-{:03}", seed), test::draw_rescaling_chain(seed), seed);
  }
  add_some(kTrainedGraphs, add_trained_graph);
  add_some(kConvolutions, add_convolution);
  add_some(kElementwise, add_elementwise);
  add_some(kReadOnly, add_read_only);
  add_some(kMoving, add_moving);
  add_some(kTrainedConvolutions, add_trained_convolutions);
  add_some(kTransposed, add_transposed);
  add_some(kTrainedTransposed, add_trained_transposed);
  add_some(test::random_networks(kTrainedSequences), add_trained_sequence);
  add_some(kFewBits, add_few_bits);
  add_some(kPackedNets, add_packed_net);
}

}  // namespace octet::interop
