// C source whose first layers run by rows: the schedule against a memory that is looked at row by
// row, and random chains against the interpreter.

#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/c/row_schedule.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/drawn_networks.h>

#include <algorithm>
#include <numeric>

namespace octet::test::c_source_rows_test {
namespace {

using detail::RowCall;
using detail::RowImage;
using detail::RowOperator;
using detail::RowSchedule;

/// The rows that memory holds, by image, and -1 where it holds none.
class RowMemory {
 public:
  RowMemory(const std::vector<RowImage>& images, const std::vector<RowOperator>& operators,
            const RowSchedule& schedule)
      : operators_(operators), rows_(images.size()), made_(images.size()) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      const std::int64_t capacity = schedule.capacity[i];
      rows_[i].assign(static_cast<std::size_t>(capacity > 0 ? capacity : images[i].height), -1);
    }
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto makes = [&](const RowOperator& op) { return op.output == i; };
      if (std::ranges::none_of(operators, makes)) std::iota(rows_[i].begin(), rows_[i].end(), 0);
    }
  }

  void run(const RowCall& call) {
    const RowOperator& op = operators_[call.op];
    std::int64_t& made = made_[op.output];
    for (std::int64_t row = made; row < made + call.count; ++row) {
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        expect_row_is_read(op.axis, row, made, call, rows_[op.inputs[k]], call.from[k]);
      }
    }
    auto& rows = rows_[op.output];
    for (std::int64_t i = 0; i < call.kept; ++i) {
      rows.at(static_cast<std::size_t>(i)) = rows.at(static_cast<std::size_t>(i + call.dropped));
    }
    for (std::int64_t i = 0; i < call.count; ++i) {
      rows.at(static_cast<std::size_t>(call.to + i)) = made++;
    }
  }

  std::int64_t made(std::size_t image) const { return made_[image]; }

 private:
  /// As a window of a function that is told of `height` rows and `top` rows of padding.
  static void expect_row_is_read(const WindowAxis& axis, std::int64_t row, std::int64_t made,
                                 const RowCall& call, const std::vector<std::int64_t>& rows,
                                 std::int64_t from) {
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const std::int64_t at = (row - made) * axis.stride - call.top + tap * axis.dilation;
      const std::int64_t wanted = axis.first(row) + tap * axis.dilation;
      const bool is_inside = wanted >= 0 && wanted < axis.input;
      ASSERT_EQ(at >= 0 && at < call.height, is_inside);
      if (!is_inside) continue;
      ASSERT_EQ(rows.at(static_cast<std::size_t>(from + at)), wanted);
    }
  }

  const std::vector<RowOperator>& operators_;
  std::vector<std::vector<std::int64_t>> rows_;
  std::vector<std::int64_t> made_;
};

/// A chain of windows along one axis, with residuals and a second image from outside.
struct DrawnChain {
  std::vector<RowImage> images;
  std::vector<RowOperator> operators;

  explicit DrawnChain(Draw& draw) {
    images.push_back({draw.between(4, 30), draw.between(1, 5)});
    std::size_t x = 0;
    const int count = draw.between(2, 7);
    for (int i = 0; i < count; ++i) {
      const Index height = images[x].height;
      if (draw.between(0, 3) == 0) {
        // The other is an image before it, or one from outside.
        std::size_t other = images.size();
        for (std::size_t k = 0; k < x; ++k) other = images[k].height == height ? k : other;
        if (other == images.size()) images.push_back({height, draw.between(1, 5)});
        x = add({x, other}, {.input = height, .output = height}, draw);
        continue;
      }
      const Index kernel = draw.between(1, 5);
      const Index dilation = draw.between(1, 2);
      const bool fits = (kernel - 1) * dilation < height;
      const Padding padding = fits && draw.between(0, 1) == 0 ? Padding::valid : Padding::same;
      x = add({x}, slide_window(height, kernel, draw.between(1, 3), dilation, padding), draw);
    }
  }

 private:
  std::size_t add(std::vector<std::size_t> inputs, const WindowAxis& axis, Draw& draw) {
    images.push_back({axis.output, draw.between(1, 5)});
    operators.push_back({std::move(inputs), images.size() - 1, axis});
    return images.size() - 1;
  }
};

/// Whether the last image may begin `lead` bytes in front of an image from outside: no byte is
/// written before it has been read for the last time.
bool may_lie_in_front(const DrawnChain& chain, const RowSchedule& schedule, std::size_t image,
                      std::int64_t lead) {
  const std::int64_t row_bytes = chain.images[image].row_bytes;
  const std::size_t last = chain.operators.back().output;
  std::vector<bool> is_lost(static_cast<std::size_t>(chain.images[image].height * row_bytes));
  for (const std::vector<RowCall>& band : schedule.bands) {
    for (const RowCall& call : band) {
      const RowOperator& op = chain.operators[call.op];
      const auto write = [&] {
        for (std::int64_t i = 0; op.output == last && i < call.count * chain.images[last].row_bytes;
             ++i) {
          const std::int64_t at = call.to * chain.images[last].row_bytes + i - lead;
          if (at >= 0 && at < std::ssize(is_lost)) is_lost[static_cast<std::size_t>(at)] = true;
        }
      };
      write();  // An operator may write before it has read all.
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] != image) continue;
        for (std::int64_t i = 0; i < call.height * row_bytes; ++i) {
          if (is_lost[static_cast<std::size_t>(call.from[k] * row_bytes + i)]) return false;
        }
      }
    }
  }
  return true;
}

TEST(RowSchedule, HoldsTheRowsThatAreReadAndMakesEachOnce) {
  std::size_t leads = 0;
  std::size_t least = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const DrawnChain chain(draw);
    const std::int64_t rows = draw.between(1, 5);
    const RowSchedule schedule = detail::schedule_rows(chain.images, chain.operators, rows);
    RowMemory memory(chain.images, chain.operators, schedule);
    for (const std::vector<RowCall>& band : schedule.bands) {
      for (const RowCall& call : band) {
        ASSERT_LE(call.count, rows);
        memory.run(call);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    const std::size_t last = chain.operators.back().output;
    EXPECT_EQ(memory.made(last), chain.images[last].height);
    for (std::size_t i = 0; i < chain.images.size(); ++i) {
      if (schedule.capacity[i] > 0 || i == last) continue;
      const std::int64_t lead = schedule.leads[i];
      EXPECT_TRUE(may_lie_in_front(chain, schedule, i, lead));
      least += lead == 0 || !may_lie_in_front(chain, schedule, i, lead - 1) ? 1 : 0;
      ++leads;
    }
  }
  // Some rows are read by no window that is computed.
  EXPECT_GT(10 * least, 9 * leads);
}

TEST(RowSchedule, HoldsAsManyRowsAsWindowsNeed) {
  // The sum reads the first of the rows that the first window reads.
  const WindowAxis axis = slide_window(32, 3, 1, 1, Padding::same);
  const WindowAxis pixels{.input = 32, .output = 32};
  const std::vector<RowImage> images(5, RowImage{32, 512});
  const std::vector<RowOperator> residual = {
      {{0}, 1, axis}, {{1}, 2, axis}, {{2}, 3, axis}, {{3, 1}, 4, pixels}};
  const RowSchedule schedule = detail::schedule_rows(images, residual, 1);
  EXPECT_EQ(schedule.capacity, (std::vector<std::int64_t>{0, 3, 3, 1, 0}));
  EXPECT_EQ(schedule.calls(), 4 * 32);
  EXPECT_EQ(schedule.bands.size(), 32U);
}

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
