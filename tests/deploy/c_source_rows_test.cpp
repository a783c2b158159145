// C source whose first layers run by rows, against the interpreter.

#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/drawn_networks.h>

#include <algorithm>
#include <numeric>

namespace octet::test::c_source_rows_test {
namespace {

TEST(CSourceRowsScratch, IsThatOfAnImageOfAsManyRows) {
  detail::CPlan plan;
  plan.rounding = Rounding::double_rounding;
  const auto bytes = [&](std::int32_t height, std::int64_t rows) {
    Draw draw(3);
    RawModelBuilder b;
    const std::int32_t x = b.activation("x", {1, height, 9, 4}, DType::int8, quant(0.03F, 3));
    b.model.inputs = {x};
    b.model.outputs = {
        add_sums(b, x, {.code = OpCode::depthwise_conv_2d, .units = 1, .kernel = 3}, draw)};
    const detail::KernelSource source(b.model, b.model.operators[0], plan.rounding);
    return detail::c_operator(source.op.code).scratch_bytes(plan, source, rows);
  };
  for (const std::int64_t rows : {1, 2, 5}) {
    EXPECT_EQ(bytes(20, rows), bytes(static_cast<std::int32_t>(rows) + 2, 0)) << rows;
  }
  EXPECT_EQ(bytes(4, 5), bytes(4, 0));
}

/// Images of one sample through convolutions, pools, tables and sums with an image before them.
class ChainDraw {
 public:
  explicit ChainDraw(std::uint64_t seed) : draw_(seed) {}

  IntegerModel run() {
    std::int32_t x = b_.activation("x", {1, draw_.between(11, 23), draw_.between(4, 9), 3},
                                   DType::int8, quant(0.03F, draw_.between(-128, 127)));
    b_.model.inputs = {x};
    const int count = draw_.between(3, 7);
    for (int i = 0; i < count; ++i) x = step(x, draw_.between(0, 9));
    const auto size = static_cast<std::int32_t>(tensor(x).size());
    const std::vector<std::int32_t> target{1, size};
    const std::int32_t flat = b_.activation("flat", {1, size}, DType::int8, tensor(x).quantization);
    b_.op(OpCode::reshape, {x, b_.constant("shape", {2}, DType::int32, target)}, flat,
          ReshapeAttributes{.new_shape = target});
    // Outputs are images, or what is made of all of one.
    b_.model.outputs = {draw_.between(0, 3) == 0 ? flat : sums(flat, {.units = 5})};
    return b_.model;
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return b_.model.tensors[static_cast<std::size_t>(i)];
  }

  std::int32_t sums(std::int32_t x, const SumsSpec& spec) {
    return add_drawn_sums(b_, x, spec, draw_);
  }

  std::int32_t with(OpCode code, std::vector<std::int32_t> inputs, ModelTensor y,
                    OperatorAttributes attributes) {
    y.name = "y" + std::to_string(b_.model.operators.size());
    const std::int32_t output = b_.add(std::move(y));
    b_.op(code, std::move(inputs), output, std::move(attributes));
    return output;
  }

  bool fits(std::int32_t x, std::int32_t span) const {
    return std::min(tensor(x).shape[1], tensor(x).shape[2]) >= span;
  }

  std::int32_t conv(std::int32_t x, OpCode code) {
    const bool depthwise = code == OpCode::depthwise_conv_2d;
    SumsSpec spec{.code = code,
                  .units = depthwise ? draw_.between(1, 4) / 4 + 1 : 2 * draw_.between(1, 6),
                  .kernel = draw_.between(1, 4),
                  .padding = Padding::same,
                  .activation = static_cast<FusedActivation>(draw_.between(0, 3))};
    spec.stride = draw_.between(1, 5) / 4 + 1;
    spec.dilation = spec.stride == 1 ? draw_.between(1, 2) : 1;
    if (fits(x, (spec.kernel - 1) * spec.dilation + 1) && draw_.between(0, 1) == 0) {
      spec.padding = Padding::valid;
    }
    if (!depthwise && tensor(x).shape[3] % 2 == 0 && draw_.between(0, 5) == 0) spec.groups = 2;
    return sums(x, spec);
  }

  std::int32_t pool(std::int32_t x) {
    PoolAttributes attributes{.padding = Padding::same,
                              .stride_h = draw_.between(1, 2),
                              .stride_w = draw_.between(1, 2),
                              .filter_h = draw_.between(1, 3),
                              .filter_w = draw_.between(1, 3)};
    if (fits(x, 3) && draw_.between(0, 1) == 0) attributes.padding = Padding::valid;
    ModelTensor y = tensor(x);
    y.shape[1] = static_cast<std::int32_t>(
        slide_window(y.shape[1], attributes.filter_h, attributes.stride_h, 1, attributes.padding)
            .output);
    y.shape[2] = static_cast<std::int32_t>(
        slide_window(y.shape[2], attributes.filter_w, attributes.stride_w, 1, attributes.padding)
            .output);
    return with(draw_.between(0, 1) == 0 ? OpCode::average_pool_2d : OpCode::max_pool_2d, {x}, y,
                attributes);
  }

  /// To uint8 and back.
  std::int32_t through_uint8(std::int32_t x) {
    ModelTensor y = tensor(x);
    y.dtype = DType::uint8;
    y.quantization = quant(0.03F, draw_.between(0, 255), DType::uint8);
    x = with(OpCode::quantize, {x}, y, {});
    y.dtype = DType::int8;
    y.quantization = quant(0.03F, draw_.between(-128, 127));
    return with(OpCode::quantize, {x}, y, {});
  }

  /// The sum, difference, product or larger one of an image and of what a branch makes of it.
  std::int32_t residual(std::int32_t x) {
    const OpCode codes[] = {OpCode::add, OpCode::sub, OpCode::mul};
    const OpCode code = codes[draw_.between(0, 2)];
    const std::int32_t channels = tensor(x).shape[3];
    std::int32_t a = x;
    const int layers = draw_.between(1, 2);
    for (int i = 0; i < layers; ++i) {
      a = sums(a, {.code = OpCode::conv_2d,
                   .units = channels,
                   .kernel = draw_.between(1, 3),
                   .padding = Padding::same});
    }
    ModelTensor y = tensor(x);
    y.quantization = quant(0.05F, draw_.between(-128, 127));
    OperatorAttributes attributes = default_attributes(code);
    std::get<BinaryAttributes>(attributes).activation =
        static_cast<FusedActivation>(draw_.between(0, 1));
    return with(code, {x, a}, y, attributes);
  }

  std::int32_t step(std::int32_t x, std::int32_t which) {
    if (which < 3) return conv(x, OpCode::conv_2d);
    if (which < 5) return conv(x, OpCode::depthwise_conv_2d);
    if (which < 7) return pool(x);
    if (which < 9) return residual(x);
    return through_uint8(x);
  }

  Draw draw_;
  RawModelBuilder b_;
};

/// Convolutions of large images, then of small ones.
IntegerModel shrinking() {
  Draw draw(2);
  RawModelBuilder b;
  std::int32_t x = b.activation("x", {1, 24, 20, 3}, DType::int8, quant(0.03F, 3));
  b.model.inputs = {x};
  for (const std::int32_t stride : {1, 2, 1, 2, 2}) {
    x = add_sums(b, x,
                 {.code = OpCode::conv_2d,
                  .units = 8,
                  .kernel = 3,
                  .padding = Padding::same,
                  .stride = stride},
                 draw);
  }
  b.model.outputs = {x};
  return b.model;
}

TEST(CSourceRowsOptions, AreChosenWhereNothingElseFits) {
  const IntegerModel model = shrinking();
  const auto total_of = [](const CSource& s) { return s.ram_bytes + s.caller_bytes; };
  const CSource whole = to_c_source(model, "net", {.code = CCode::small, .input_in_arena = true});
  EXPECT_EQ(whole.rows, 0);
  std::int64_t last = total_of(whole);
  for (const std::int64_t rows : {4, 2, 1}) {
    const CSource s = to_c_source(model, "net", {.input_in_arena = true, .rows = rows});
    EXPECT_EQ(s.rows, rows);
    EXPECT_LT(total_of(s), last);
    last = total_of(s);
    const CSource chosen = to_c_source(model, "net", {.ram = last});
    EXPECT_EQ(chosen.source, s.source);
    EXPECT_EQ(chosen.header, s.header);
  }
  EXPECT_EQ(to_c_source(model, "net", {.ram = total_of(whole)}).rows, 0);
  const CSource least =
      to_c_source(model, "net", {.code = CCode::small, .input_in_arena = true, .rows = 1});
  expect_throws<InvalidArgument>(
      [&] { to_c_source(model, "net", {.ram = total_of(least) - 1}); },
      {fmt::format("takes {} at least", total_of(least)), "small code by rows (1 at a time)"});
  expect_throws<InvalidArgument>([&] { to_c_source(model, "net", {.rows = -1}); },
                                 {"rows", "found -1"});
}

TEST(CSourceRowsOptions, AreNoneWhereNoChainTakesLess) {
  const CSource s = to_c_source(everything(), "net", {.rows = 2});
  EXPECT_EQ(s.rows, 0);
  EXPECT_EQ(s.source, to_c_source(everything(), "net").source);
}

TEST(CSourceRowsOptions, CostsStandInTheHeader) {
  const CSource s = to_c_source(shrinking(), "net", {.rows = 2});
  const std::int64_t whole = to_c_source(shrinking(), "net").ram_bytes;
  std::int64_t calls = 0;
  std::stringstream lines(s.source.substr(s.source.find("net_by_rows(")));
  std::int64_t times = 1;
  for (std::string line; std::getline(lines, line) && line != "}";) {
    if (line.starts_with("    for")) times = std::stoll(line.substr(line.find("< ") + 2));
    if (line.starts_with("    }")) times = 1;
    if (line.find("net_layer") != std::string::npos) calls += times;
  }
  expect_mentions(s.header, fmt::format("which takes {}\n *             bytes of buffers instead "
                                        "of {}, {} calls of layers instead of",
                                        s.ram_bytes, whole, calls));
}

using CSourceRows = CompiledC;

TEST_F(CSourceRows, RandomChainsEqualTheInterpreter) {
  std::vector<CCase> cases;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    const IntegerModel model = ChainDraw(seed).run();
    cases.push_back({.model = model,
                     .rounding = kContracts[seed % 3],
                     .inputs = random_codes(model, 4, seed),
                     .weights = seed % 5 == 0 ? CWeights::packed : CWeights::int8,
                     .code = seed % 4 == 0 ? CCode::small : CCode::fast,
                     .input_in_arena = seed % 2 == 0,
                     .rows = 1 + seed % 4});
  }
  const CDriver driver(std::move(cases));
  EXPECT_GT(driver.by_rows(), 14U);
  // In plain C, and as this processor has it.
  const Words flags = joined(kStrict, {"-std=c99", "-O1"});
  EXPECT_EQ(driver.differing(c_compilers().front(), joined(flags, path_flags().front())), 0U);
  EXPECT_EQ(driver.differing(c_compilers().back(), joined(kStrict, kTrapUndefined)), 0U);
}

}  // namespace
}  // namespace octet::test::c_source_rows_test
