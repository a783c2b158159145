// C source with packed weights: the interpreter's bytes, at every width, and what it stores.

#include <octet/core/quant/packed_codes.h>
#include <octet/layers/lower.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/naive.h>
#include <octet/tests/runtime/packed_models.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string>

namespace octet::test::c_source_packed_test {
namespace {

using CSourcePacked = CompiledC;

constexpr auto kPacked = CWeights::packed;

/// How many random nets there are of each width, and at least so many operators on scales that are
/// powers of two.
std::uint32_t nets_of_each_width() { return random_networks(10); }

/// A random net: Dense layers, convolutions of images or of sequences, transposed ones.
template <class Net>
IntegerModel quantized_net(const Sequential& net, const QuantizeOptions& options, const Tensor& x,
                           Net train) {
  Sequential model = quantize_model(net, options);
  calibrate(model, x);
  train(model);
  return lower(model);
}

IntegerModel random_net(std::uint32_t seed, const QuantizeOptions& options) {
  namespace nets = octet::test;
  if (seed % 2 == 0) {
    nets::RandomNet net(seed);
    return quantized_net(net.model(), options, net.batch(9),
                         [&](Model& model) { nets::train_a_little(model, net, 3); });
  }
  const Sequential net = seed % 3 == 0   ? nets::random_transposed_net(seed)
                         : seed % 3 == 1 ? nets::random_images_net(seed)
                                         : nets::random_sequences_net(seed);
  return quantized_net(net, options, nets::images_for(net, 20, seed),
                       [&](Model& model) { nets::train_a_little(model, seed); });
}

TEST_F(CSourcePacked, RandomNetsOfEveryWidthEqualTheInterpreter) {
  std::vector<CCase> cases;
  std::array<bool, 9> seen{};
  for (std::uint32_t seed = 0; seed < 6 * nets_of_each_width(); ++seed) {
    const QuantizeOptions options{.rounding = kContracts[seed / 6 % 3],
                                  .weight_bits = 2 + static_cast<int>(seed / 2 % 6),
                                  .per_channel = seed / 4 % 2 == 0};
    const IntegerModel model = random_net(seed, options);
    cases.push_back({model, options.rounding, random_codes(model, 50, seed), kPacked});
    const std::string text = to_c_source(model, "n", {.weights = kPacked}).source;
    for (std::size_t bits = 2; bits < 8; ++bits) {
      seen[bits] |= text.find("n_code" + std::to_string(bits)) != std::string::npos;
    }
  }
  EXPECT_EQ(std::ranges::count(seen, true), 6) << "widths 2 to 7";
  const CDriver driver(std::move(cases));
  EXPECT_GT(driver.output_bytes(), 10000U);
  const Words compilers = c_compilers();
  EXPECT_EQ(driver.differing(compilers.front(), joined(kStrict, {"-std=c99", "-O0"})), 0U);
  EXPECT_EQ(driver.differing(compilers.back(), {"-std=c99", "-O3", "-ffast-math"}), 0U);
}

/// The model with the lowest bits of its weights as their codes.
IntegerModel narrowed(IntegerModel model, int bits) {
  for (const Operator& op : model.operators) {
    if (definition(op.code).least_weight_bits == 8) continue;
    ModelTensor& weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
    const int half = 1 << (bits - 1);
    for (std::uint8_t& byte : weights.data) {
      byte = static_cast<std::uint8_t>(((byte & (2 * half - 1)) ^ half) - half);
    }
  }
  return model;
}

/// Several rows, scales per channel, weights with a zero point, and one operator of each kind whose
/// rows are of 1 to 44 codes.
std::vector<CCase> single_operators() {
  std::vector<CCase> cases;
  for (int bits = 2; bits < 8; ++bits) {
    const Rounding rounding = kContracts.at(static_cast<std::size_t>(bits) % 3);
    const IntegerModel model = narrowed(everything(), bits);
    cases.push_back({model, rounding, random_codes(model, 50, 1), kPacked});
    for (const OpCode code :
         {OpCode::fully_connected, OpCode::conv_2d, OpCode::depthwise_conv_2d}) {
      const std::uint32_t count = std::max(4U, (nets_of_each_width() + 2) / 3);
      for (std::uint32_t i = 0; i < count; ++i) {
        constexpr std::array<std::int32_t, 4> kDepths = {1, 3, 8, 11};
        const std::int32_t depth = kDepths[i % 4] + static_cast<std::int32_t>(i / 4);
        const IntegerModel one = few_bits_model({code, bits, depth, depth % 2 == 0},
                                                static_cast<std::uint64_t>(depth) + i / 4);
        cases.push_back({one, rounding, random_codes(one, 20, 2), kPacked});
      }
    }
  }
  return cases;
}

TEST_F(CSourcePacked, OperatorsOfEveryWidthEqualTheInterpreter) {
  const CDriver driver(single_operators());
  const Words compilers = c_compilers();
  EXPECT_EQ(driver.differing(compilers.back(), joined(kStrict, {"-std=c99", "-O0"})), 0U);
  const Words quickest = {"-std=gnu11", "-O3", "-ffast-math", "-march=native"};
  EXPECT_EQ(driver.differing(compilers.front(), quickest), 0U);
  EXPECT_EQ(driver.differing(compilers.front(), joined(kTrapUndefined, {"-std=c99", "-O1"})), 0U);
  EXPECT_EQ(driver.differing(compilers.back(), joined(kStrict, {"-x", "c++", "-std=c++17"})), 0U);
}

TEST_F(CSourcePacked, ReadsNothingBehindItsRows) {
  project_.write("empty.c", "int main(void) { return 0; }\n");
  for (const std::string& compiler : c_compilers()) {
    const Words flags = {"-std=c99", "-O1", "-fsanitize=address"};
    // Not every compiler has its library.
    if (project_.compile(compiler, flags, "empty", {"empty.c"}).exit_code != 0) continue;
    EXPECT_EQ(CDriver(single_operators()).differing(compiler, flags), 0U);
    return;
  }
}

/// The numbers of an array of the source, [rows][columns] of which are in `shape`.
std::vector<std::uint8_t> array_in(const std::string& source, const std::string& name,
                                   std::string& shape) {
  const std::size_t begin = source.find("static const uint8_t " + name + "[");
  EXPECT_NE(begin, std::string::npos) << name;
  const std::size_t equals = source.find(" = {", begin);
  shape = source.substr(source.find('[', begin), equals - source.find('[', begin));
  const std::string text = source.substr(equals, source.find(';', begin) - equals);
  std::vector<std::uint8_t> numbers;
  const std::regex number("[0-9]+");
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i) {
    numbers.push_back(static_cast<std::uint8_t>(std::stoi(i->str())));
  }
  return numbers;
}

std::span<const std::int8_t> weights_of(const IntegerModel& model) {
  const auto& data = model.tensors[1].data;
  return {reinterpret_cast<const std::int8_t*>(data.data()), data.size()};
}

TEST(CSourcePackedText, StoresRowsOfFewBits) {
  const auto stored = [](const FewBits& of, std::string& shape) {
    const CSource source = to_c_source(few_bits_model(of, 3), "net", {.weights = kPacked});
    return array_in(source.source, "net_layer1_weights", shape);
  };
  const auto codes = [](const FewBits& of) { return few_bits_model(of, 3); };
  std::string shape;
  for (int bits = 2; bits < 8; ++bits) {
    const FewBits dense{OpCode::fully_connected, bits, 11, true};
    EXPECT_EQ(stored(dense, shape), pack_rows(weights_of(codes(dense)), 11, bits));
    EXPECT_EQ(shape, "[5][" + std::to_string(packed_bytes(11, bits)) + "]");
    const FewBits conv{OpCode::conv_2d, bits, 3, true};
    EXPECT_EQ(stored(conv, shape), pack_rows(weights_of(codes(conv)), 12, bits));
    // One tap of all channels.
    const FewBits depthwise{OpCode::depthwise_conv_2d, bits, 9, true};
    EXPECT_EQ(stored(depthwise, shape), pack_rows(weights_of(codes(depthwise)), 9, bits));
    EXPECT_EQ(shape, "[4][" + std::to_string(packed_bytes(9, bits)) + "]");
  }
  // Where rows end at bytes, the stream of a .tflite file.
  for (const int bits : {2, 4}) {
    for (const OpCode code :
         {OpCode::fully_connected, OpCode::conv_2d, OpCode::depthwise_conv_2d}) {
      const FewBits of{code, bits, 8, true};
      EXPECT_EQ(stored(of, shape), pack_codes(weights_of(codes(of)), bits));
    }
  }
}

TEST(CSourcePackedText, SaysWhatItStores) {
  const IntegerModel model = narrowed(make_mlp(7, {6, 5, 3}, false, false), 3);
  const CSource plain = to_c_source(model, "net");
  const CSource packed = to_c_source(model, "net", {.weights = kPacked});
  EXPECT_EQ(packed.flash_bytes, 5 * 3 + 3 * 2 + 4 * (5 + 3) + 1024);
  EXPECT_EQ(packed.ram_bytes, 5 + 3) << "decoded where they are read";
  EXPECT_EQ(plain.header.find("bits in"), std::string::npos);
  for (const std::string line :
       {"weights   21 bytes, 45 at 8 bits",
        "layer 1   FULLY_CONNECTED \"dense_0\", 6 -> 5, relu, weights of 3 bits in 15 bytes\n",
        "layer 2   FULLY_CONNECTED \"dense_1\", 5 -> 3, weights of 3 bits in 6 bytes\n"}) {
    expect_mentions(packed.header, line);
  }
  // A filter at a time.
  const IntegerModel conv = few_bits_model({OpCode::conv_2d, 5, 6, true}, 1);
  const CSource conv_source = to_c_source(conv, "net", {.weights = kPacked});
  EXPECT_EQ(conv_source.ram_bytes, 2 * 2 * 6);
  expect_mentions(conv_source.source, "static int8_t net_unpacked[24];");
}

TEST(CSourcePackedText, LeavesWhatPackingDoesNotShorten) {
  const IntegerModel eight = make_mlp(7, {6, 5, 3}, true, false);
  const IntegerModel short_rows = few_bits_model({OpCode::fully_connected, 2, 1, true}, 1);
  for (const IntegerModel& model : {eight, short_rows}) {
    const CSource packed = to_c_source(model, "net", {.weights = kPacked});
    EXPECT_EQ(packed.flash_bytes, to_c_source(model, "net").flash_bytes);
    EXPECT_EQ(packed.source.find("net_code"), std::string::npos);
    expect_mentions(packed.source, "net_outputs(");
    expect_mentions(packed.header, "weights of 8 bits");
  }
}

TEST_F(CSourcePacked, StatesFlashAndRam) {
  if (find_program("size").empty()) GTEST_SKIP() << "size is not here";
  for (const int bits : {2, 3, 4, 7}) {
    const CSource source =
        to_c_source(narrowed(example_model(), bits), "net", {.weights = kPacked});
    project_.write(source);
    for (const std::string& compiler : c_compilers()) {
      project_.build(compiler, {"-std=c99", "-Os", "-c"}, "net.o", {"net.c"});
      const ProcessResult sizes = run_process({find_program("size"), project_.path("net.o")});
      std::stringstream lines(sizes.out.substr(sizes.out.find('\n')));
      std::int64_t text = 0;
      std::int64_t data = 0;
      std::int64_t bss = 0;
      lines >> text >> data >> bss;
      EXPECT_GE(text + data, source.flash_bytes);
      EXPECT_LE(text + data, source.flash_bytes + 3000);
      EXPECT_NEAR(static_cast<double>(bss), static_cast<double>(source.ram_bytes), 64.0);
    }
  }
}

}  // namespace
}  // namespace octet::test::c_source_packed_test
