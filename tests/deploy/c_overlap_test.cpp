// How far outputs of the C source may lie over inputs, against a memory in which the reads and
// writes of the kernels are done byte by byte; and what vectors read behind weights.

#include <octet/deploy/c/operators.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/drawn_networks.h>

#include <algorithm>
#include <vector>

namespace octet::test::c_overlap_test {
namespace {

/// Bytes of the input that are read, and then bytes of the output that are written.
struct Access {
  std::vector<std::int64_t> reads;
  std::vector<std::int64_t> writes;
};
using Trace = std::vector<Access>;

/// Whether no byte is written before its last read, if the output begins `lead` bytes in front.
bool may_overlap(const Trace& trace, std::int64_t input_bytes, std::int64_t lead) {
  std::vector<bool> is_lost(static_cast<std::size_t>(input_bytes));
  for (const Access& access : trace) {
    for (const std::int64_t at : access.reads) {
      if (is_lost[static_cast<std::size_t>(at)]) return false;
    }
    for (const std::int64_t to : access.writes) {
      const std::int64_t at = to - lead;
      if (at >= 0 && at < input_bytes) is_lost[static_cast<std::size_t>(at)] = true;
    }
  }
  return true;
}

/// An operator whose window slides over one image, and its accesses.
struct Slides {
  Window window;
  std::int64_t channels = 0;
  std::int64_t units = 0;

  Slides(const ModelTensor& x, const ModelTensor& y, const SumsSpec& spec)
      : channels(x.shape[3]), units(y.shape[3]) {
    const auto axis = [&](std::size_t i) {
      return slide_window(x.shape[i], spec.kernel, spec.stride, spec.dilation, spec.padding);
    };
    window = {axis(1), axis(2)};
  }

  /// Reads channels [from, from + count) in window `output`.
  void read(Access& access, Index output, std::int64_t from, std::int64_t count) const {
    const WindowAxis& y = window.y;
    const WindowAxis& x = window.x;
    for (Index ky = 0; ky < y.kernel; ++ky) {
      for (Index kx = 0; kx < x.kernel; ++kx) {
        const Index row = y.first(output / x.output) + ky * y.dilation;
        const Index column = x.first(output % x.output) + kx * x.dilation;
        if (row < 0 || row >= y.input || column < 0 || column >= x.input) continue;
        for (std::int64_t c = from; c < from + count; ++c) {
          access.reads.push_back((row * x.input + column) * channels + c);
        }
      }
    }
  }
  void write(Access& access, Index output, std::int64_t from, std::int64_t count) const {
    for (std::int64_t c = from; c < from + count; ++c) access.writes.push_back(output * units + c);
  }

  /// Each window is copied, and then its units are written.
  Trace by_windows() const {
    Trace trace;
    for (Index output = 0; output < window.outputs(); ++output) {
      read(trace.emplace_back(), output, 0, channels);
      write(trace.back(), output, 0, units);
    }
    return trace;
  }
  /// Windows in turn, and in each some channels at a time. The last ones begin so early that there
  /// are as many, and come twice.
  Trace by_parts_of_windows(std::int64_t count) const {
    Trace trace;
    for (Index output = 0; output < window.outputs(); ++output) {
      for (std::int64_t c = 0; c < channels; c += count) {
        const std::int64_t from = std::min(c, channels - count);
        read(trace.emplace_back(), output, from, count);
        write(trace.back(), output, from, count);
      }
    }
    return trace;
  }
  /// Channels in turn: all of one is copied, and then all of its outputs are written.
  Trace by_channels() const {
    Trace trace;
    for (std::int64_t c = 0; c < channels; ++c) {
      Access& access = trace.emplace_back();
      for (Index output = 0; output < window.outputs(); ++output) {
        read(access, output, c, 1);
        write(access, output, c, 1);
      }
    }
    return trace;
  }
};

/// A model of one operator, and the ways in which kernels go about it.
struct Drawn {
  IntegerModel model;
  std::vector<Trace> traces;
  /// By how many bytes the proven distance may exceed the least one.
  std::int64_t slack = 0;
};

SumsSpec drawn_window(OpCode code, Draw& draw) {
  SumsSpec spec{.code = code, .kernel = draw.between(1, 3), .padding = Padding::same};
  spec.stride = draw.between(1, 2);
  spec.dilation = spec.stride == 1 ? draw.between(1, 2) : 1;
  if (draw.between(0, 1) == 0) spec.padding = Padding::valid;
  return spec;
}

Drawn draw_operator(OpCode code, Draw& draw) {
  RawModelBuilder b;
  const bool by_eight = code == OpCode::depthwise_conv_2d && draw.between(0, 2) > 0;
  const std::int32_t channels = by_eight ? draw.between(9, 15) : draw.between(1, 7);
  std::int32_t x = b.activation("x", {1, draw.between(5, 8), draw.between(5, 8), channels},
                                DType::int8, quant(0.03F, 3));
  b.model.inputs = {x};
  SumsSpec spec = drawn_window(code, draw);
  spec.units = code == OpCode::conv_2d ? draw.between(1, 12) : 1;
  if (code == OpCode::max_pool_2d) {
    spec.dilation = 1;
    ModelTensor y = b.model.tensors[static_cast<std::size_t>(x)];
    for (const std::size_t axis : {1U, 2U}) {
      y.shape[axis] = static_cast<std::int32_t>(
          slide_window(y.shape[axis], spec.kernel, spec.stride, 1, spec.padding).output);
    }
    y.name = "y";
    const std::int32_t output = b.add(std::move(y));
    b.op(code, {x}, output,
         PoolAttributes{.padding = spec.padding,
                        .stride_h = spec.stride,
                        .stride_w = spec.stride,
                        .filter_h = spec.kernel,
                        .filter_w = spec.kernel});
    b.model.outputs = {output};
  } else {
    b.model.outputs = {add_sums(b, x, spec, draw)};
  }
  const auto tensor = [&](std::int32_t i) { return b.model.tensors[static_cast<std::size_t>(i)]; };
  const Slides slides(tensor(x), tensor(b.model.outputs[0]), spec);
  Drawn drawn{.model = b.model, .traces = {}};
  if (code == OpCode::conv_2d) {
    drawn.traces = {slides.by_windows()};
  } else if (code == OpCode::max_pool_2d) {
    // Other channels of a pixel are taken for read together with the last.
    drawn.slack = channels;
    drawn.traces = {slides.by_parts_of_windows(1)};
  } else {
    drawn.traces = {slides.by_channels()};
    if (channels >= 8) drawn.traces.push_back(slides.by_parts_of_windows(8));
    drawn.slack = channels % 8 == 0 || channels < 8 ? channels : 0;
  }
  return drawn;
}

class COverlaps : public ::testing::TestWithParam<OpCode> {};

TEST_P(COverlaps, AreTheLeastThatNoReadForbids) {
  int least = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const Drawn drawn = draw_operator(GetParam(), draw);
    detail::CPlan plan;
    plan.rounding = Rounding::double_rounding;
    const detail::KernelSource source(drawn.model, drawn.model.operators[0], plan.rounding);
    const auto overlap = detail::c_operator(GetParam()).overlap(plan, source, 0);
    ASSERT_TRUE(overlap);
    const std::int64_t bytes = source.input().size();
    const auto may_begin = [&](std::int64_t lead) {
      return std::ranges::all_of(drawn.traces,
                                 [&](const Trace& t) { return may_overlap(t, bytes, lead); });
    };
    const std::int64_t unit = overlap->unit;
    const std::int64_t lead = (overlap->lead + unit - 1) / unit * unit;
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_TRUE(may_begin(lead + i * unit)) << lead << " " << i;
    const std::int64_t shorter = lead - unit - (drawn.slack + unit - 1) / unit * unit;
    least += shorter < 0 || !may_begin(shorter) ? 1 : 0;
  }
  // Elsewhere no window reads the end of the image, or the first byte that it reaches over.
  EXPECT_GE(least, 105);
}

INSTANTIATE_TEST_SUITE_P(Operators, COverlaps,
                         ::testing::Values(OpCode::conv_2d, OpCode::depthwise_conv_2d,
                                           OpCode::max_pool_2d),
                         [](const auto& op) { return std::string(to_string(op.param)); });

TEST(COverlaps, OfAMeanDoNotDependOnTheAxesThatItKeeps) {
  const auto lead = [](bool keeps, std::vector<std::int32_t> shape) {
    RawModelBuilder b;
    const std::int32_t x = b.activation("x", {2, 3, 4, 5}, DType::int8, quant(0.03F, 3));
    const std::int32_t y = b.activation("y", std::move(shape), DType::int8, quant(0.02F, 1));
    b.op(OpCode::mean, {x}, y, MeanAttributes{.keep_dims = keeps});
    const detail::KernelSource source(b.model, b.model.operators[0], Rounding::double_rounding);
    return detail::c_operator(OpCode::mean).overlap(detail::CPlan{}, source, 0)->lead;
  };
  // The second image ends at byte 10 of the output and begins at byte 60 of the input.
  EXPECT_EQ(lead(true, {2, 1, 1, 5}), 5);
  EXPECT_EQ(lead(false, {2, 5}), 5);
}

/// One past the last byte of a group's weights that kOutputsMve reads: two units alternate, and
/// those of four are read in vectors of 16 values each.
std::int64_t read_by_helium(std::int64_t depth, std::int64_t units) {
  const std::int64_t pair = 2 * ((depth + 3) / 4 * 4);
  std::int64_t end = 0;
  for (std::int64_t rest = units, at = 0; rest > 0; rest -= 4, at += 2 * pair) {
    const std::int64_t next = rest > 2 ? pair : 0;
    for (std::int64_t i = 0; i < depth; i += 16) end = std::max(end, at + next + 2 * i + 32);
  }
  return end;
}

TEST(CWeightArrays, HoldAllThatHeliumReads) {
  Draw draw(1);
  for (int round = 0; round < 60; ++round) {
    const std::int32_t groups = draw.between(1, 3);
    const std::int32_t of_group = draw.between(1, 9);
    const std::int32_t channels = groups * draw.between(1, 11);
    RawModelBuilder b;
    const std::int32_t x = b.activation("x", {1, 5, 5, channels}, DType::int8, quant(0.03F, 3));
    b.model.inputs = {x};
    const SumsSpec spec{.code = OpCode::conv_2d,
                        .units = groups * of_group,
                        .kernel = draw.between(2, 3),
                        .groups = groups};
    b.model.outputs = {add_sums(b, x, spec, draw)};
    const CSource source = to_c_source(b.model, "net", {.rounding = Rounding::double_rounding});
    const std::string begin = "net_layer1_weights[";
    const std::size_t at = source.source.find(begin);
    ASSERT_NE(at, std::string::npos);
    const std::int64_t depth = spec.kernel * spec.kernel * channels / groups;
    const std::int64_t stride = (of_group + 1) / 2 * 2 * ((depth + 3) / 4 * 4);
    EXPECT_EQ(std::stoll(source.source.substr(at + begin.size())),
              (groups - 1) * stride + read_by_helium(depth, of_group))
        << "depth " << depth << ", " << of_group << " units in " << groups << " groups";
  }
}

}  // namespace
}  // namespace octet::test::c_overlap_test
