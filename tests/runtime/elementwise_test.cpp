// MUL, ADD, SUB and PRELU of operands that broadcast, HARD_SWISH, SQUEEZE and
// RESIZE_NEAREST_NEIGHBOR.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/binary.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/window_models.h>

#include <numeric>

namespace octet::test::elementwise_test {
namespace {

using detail::QuantizedMul;

std::size_t elements(const std::vector<std::int32_t>& shape) {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>()));
}

// ---- Two operands

TEST(BinaryOperators, AreTheOracleForShapesThatBroadcast) {
  Draw draw(31);
  for (int round = 0; round < 150; ++round) {
    Pair p = draw_pair(draw);
    const Rounding rounding = kContracts[round % 3];
    const auto first = random_codes(elements(p.first), draw);
    const auto second = random_codes(elements(p.second), draw);
    if (round % 4 == 0) p.constant = second;
    Interpreter interpreter(model_of(p), {.rounding = rounding});
    std::ranges::copy(first, interpreter.input<std::int8_t>(0).begin());
    if (p.constant.empty()) std::ranges::copy(second, interpreter.input<std::int8_t>(1).begin());
    interpreter.invoke();
    ASSERT_EQ(copy(std::as_const(interpreter).output<std::int8_t>()),
              naive_pair(p, first, second, rounding))
        << round;
  }
}

// Slopes that are constants or computed.
TEST(BinaryOperators, PreluIsTheOracle) {
  Draw draw(32);
  for (int round = 0; round < 150; ++round) {
    Pair p = draw_prelu(draw);
    const Rounding rounding = kContracts[round % 3];
    const auto x = random_codes(elements(p.first), draw);
    const auto alpha = p.constant;
    if (round % 4 == 0) p.constant.clear();
    Interpreter interpreter(model_of(p), {.rounding = rounding});
    std::ranges::copy(x, interpreter.input<std::int8_t>(0).begin());
    if (p.constant.empty()) std::ranges::copy(alpha, interpreter.input<std::int8_t>(1).begin());
    interpreter.invoke();
    ASSERT_EQ(copy(std::as_const(interpreter).output<std::int8_t>()),
              naive_pair(p, x, alpha, rounding))
        << round;
  }
}

// The slopes have as many axes as the input at most, and are the ones that are repeated.
TEST(BinaryOperators, PreluRefusesSlopesThatTheInputWouldBeRepeatedFor) {
  expect_operator_refuses(
      model_of(Pair{.code = OpCode::prelu}),
      [](IntegerModel& m) {
        m.tensors[0].shape = {1, 1, 3};
      },
      "input shape [1, 1, 3] and output shape [1, 2, 3] differ");
}

/// What one sample gives, it gives in a batch and on several threads too.
TEST(BinaryOperators, ThreadsAndBatchesChangeNothing) {
  const KeepThreads keep;
  constexpr std::size_t kSamples = 5;
  for (const bool constant : {false, true}) {
    Pair p;
    p.first = {1, 17, 9, 40};
    p.second = {1, 1, 1, 40};
    Draw draw(2);
    const auto first = random_codes(kSamples * elements(p.first), draw);
    const auto second = random_codes((constant ? 1 : kSamples) * 40, draw);
    if (constant) p.constant = second;
    std::vector<std::int8_t> expected;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const auto part = [&](const std::vector<std::int8_t>& of, std::size_t size, std::size_t k) {
        const auto begin = of.begin() + static_cast<std::ptrdiff_t>(k * size);
        return std::vector(begin, begin + static_cast<std::ptrdiff_t>(size));
      };
      const auto y = naive_pair(p, part(first, elements(p.first), i),
                                part(second, 40, constant ? 0 : i), Rounding::fp32);
      expected.insert(expected.end(), y.begin(), y.end());
    }
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      Interpreter interpreter(model_of(p, /*batched=*/true), {.batch = Index{kSamples}});
      std::ranges::copy(first, interpreter.input<std::int8_t>(0).begin());
      if (!constant) std::ranges::copy(second, interpreter.input<std::int8_t>(1).begin());
      interpreter.invoke();
      EXPECT_EQ(copy(std::as_const(interpreter).output<std::int8_t>()), expected);
    }
  }
}

TEST(BinaryOperators, OfFloats) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 2, 2}, DType::float32)};
  const std::int32_t c = b.constant("c", {2}, DType::float32, std::vector<float>{0.5F, -2.0F});
  const std::int32_t y = b.activation("y", {1, 2, 2}, DType::float32);
  b.op(OpCode::mul, {c, 0}, y, BinaryAttributes{.activation = FusedActivation::relu6});
  b.model.outputs = {y};
  const auto computed = [&] {
    Interpreter interpreter(b.model);
    return run<float, float>(interpreter, {3, 4, 40, -1});
  };
  EXPECT_EQ(computed(), (std::vector<float>{1.5F, 0, 6, 2}));
  b.model.operators[0].code = OpCode::sub;
  EXPECT_EQ(computed(), (std::vector<float>{0, 0, 0, 0}));
  b.model.operators[0].attributes = BinaryAttributes{};
  EXPECT_EQ(computed(), (std::vector<float>{-2.5F, -6, -39.5F, -1}));
  b.model.operators[0] = {.code = OpCode::prelu, .inputs = {0, c}, .outputs = {y}};
  Interpreter prelu(b.model);
  EXPECT_EQ((run<float, float>(prelu, {3, -4, -40, -1})), (std::vector<float>{3, 8, -20, 2}));
}

TEST(BinaryOperators, RefuseShapesByName) {
  for (const OpCode code : {OpCode::add, OpCode::mul, OpCode::sub}) {
    Pair p;
    p.code = code;
    const auto refuse = [&](std::vector<std::int32_t> shape) {
      expect_operator_refuses(
          model_of(p), [&](IntegerModel& m) { m.tensors[1].shape = std::move(shape); },
          "do not broadcast to the output's, [1, 2, 3]");
    };
    refuse({1, 2, 4});
    refuse({1, 2, 2});
    refuse({2, 2, 3});
    refuse({1, 1, 2, 3});
    p.second = {1, 1, 3};
    expect_operator_refuses(
        model_of(p),
        [](IntegerModel& m) {
          m.tensors[2].shape = {1, 2, 1, 3};
        },
        "do not broadcast to");
    // Nobody has an extent of the output.
    expect_operator_refuses(
        model_of(p),
        [](IntegerModel& m) {
          m.tensors[0].shape = {1, 1, 3};
        },
        "do not broadcast to the output's, [1, 2, 3]");
    p.first = p.second = {1, 1, 1, 2, 3};
    expect_operator_refuses(
        model_of(p),
        [](IntegerModel& m) {
          m.tensors[1].shape = {1, 1, 1, 1, 3};
        },
        "of at most 4 axes");
    // A sample of a batch has all axes.
    p.first = {1, 2, 3};
    p.second = {1, 3};
    expect_operator_refuses(
        model_of(p),
        [](IntegerModel& m) {
          m.tensors[1].shape_signature = {-1, 3};
        },
        "do not broadcast to");
    expect_operator_refuses(
        model_of(Pair{.code = code}),
        [](IntegerModel& m) {
          m.tensors[1].dtype = DType::uint8;
          m.tensors[1].quantization = quant(0.03F, 5, DType::uint8);
        },
        "types (int8, uint8)");
  }
}

TEST(QuantizedMul, IsTheOracleOnAllPairsOfCodes) {
  Draw draw(22);
  for (int round = 0; round < 24; ++round) {
    const QuantParams a = draw_grid(draw);
    const QuantParams b = draw_grid(draw);
    // Factors within what XNNPACK takes, at its ends and beyond.
    constexpr std::array kFactors = {0.01F, 0x1p-16F, 0x1p-17F, 255.5F, 256.0F, 1.0F / 300};
    const float factor = kFactors[static_cast<std::size_t>(round) % kFactors.size()];
    const QuantParams out = quant(a.scale() * b.scale() / factor, draw.between(-128, 127));
    const auto activation = static_cast<FusedActivation>(round % 4);
    const Rounding rounding = kContracts[round % 3];
    const QuantizedMul multiplier = QuantizedMul::make(a, b, out, activation, rounding);
    const oracle::Quant qa{a.scale(), a.zero_point()};
    const oracle::Quant qb{b.scale(), b.zero_point()};
    const oracle::Quant qo{out.scale(), out.zero_point()};
    std::vector<std::int8_t> first;
    std::vector<std::int8_t> second;
    std::vector<std::int8_t> expected;
    for (int x = -128; x <= 127; ++x) {
      for (int y = -128; y <= 127; ++y) {
        first.push_back(static_cast<std::int8_t>(x));
        second.push_back(static_cast<std::int8_t>(y));
        expected.push_back(
            naive_mul(first.back(), qa, second.back(), qb, qo, oracle_clamp(activation), rounding));
        ASSERT_EQ(multiplier.apply(x, y), expected.back()) << round << " " << x << " " << y;
      }
    }
    std::vector<std::int8_t> found(expected.size());
    multiplier.run(first, second, found);
    ASSERT_EQ(found, expected) << round;
  }
}

TEST(QuantizedMul, RescalesInFloatWhatXnnpackTakes) {
  const auto in_float = [](float out, Rounding rounding) {
    return QuantizedMul::make(quant(1.0F, 0), quant(1.0F, 0), quant(out, 0), FusedActivation::none,
                              rounding)
        .rescales_in_float();
  };
  EXPECT_TRUE(in_float(0x1p16F, Rounding::fp32));
  EXPECT_FALSE(in_float(std::nextafter(0x1p16F, 0x1p17F), Rounding::fp32));
  EXPECT_TRUE(in_float(std::nextafter(0x1p-8F, 1.0F), Rounding::fp32));
  EXPECT_FALSE(in_float(0x1p-8F, Rounding::fp32));
  EXPECT_FALSE(in_float(1.0F, Rounding::single_rounding));
  EXPECT_FALSE(in_float(1.0F, Rounding::double_rounding));
}

TEST(QuantizedMul, FitsAGridWhoseScaleIsNextToNothing) {
  const auto fitted = [](float scale) {
    return QuantizedMul::fitting_params(quant(0.5F, 0), quant(0.25F, 0), quant(scale, 3)).scale();
  };
  const float least = std::nextafter(0.125F / 256, 1.0F);
  EXPECT_EQ(fitted(least), least);
  EXPECT_EQ(fitted(0.125F / 256), 0.125F / 128);
  EXPECT_EQ(fitted(1e-30F), 0.125F / 128);
}

// ---- HARD_SWISH

std::vector<std::int8_t> hard_swished(const QuantParams& in, const QuantParams& out,
                                      Rounding rounding) {
  Interpreter interpreter(hard_swish_model(in, out), {.rounding = rounding});
  return run<std::int8_t, std::int8_t>(interpreter, every_code());
}

TEST(HardSwish, IsTheOracleOnAllCodesUnderEveryContract) {
  Draw draw(77);
  for (int round = 0; round < 200; ++round) {
    // From codes of a millionth to codes of a million.
    const float scale = std::pow(10.0F, round % 4 == 0 ? draw.uniform(-6, 6) : draw.uniform(-3, 0));
    const QuantParams in = quant(scale, draw.between(-128, 127));
    const QuantParams out =
        quant(scale * std::pow(2.0F, draw.uniform(-6.9F, 3)), draw.between(-128, 127));
    std::vector<std::int8_t> expected;
    for (const std::int8_t code : every_code()) {
      expected.push_back(
          naive_hard_swish(code, {in.scale(), in.zero_point()}, {out.scale(), out.zero_point()}));
    }
    ASSERT_EQ(hard_swished(in, out, kContracts[round % 3]), expected) << round;
  }
}

TEST(HardSwish, IsNearTheFunction) {
  const QuantParams in = quant(0.05F, 10);
  const QuantParams out = quant(0.03F, -100);
  const auto codes = hard_swished(in, out, Rounding::fp32);
  for (int code = -128; code < 128; ++code) {
    const double x = 0.05 * (code - 10);
    const double y = x * std::clamp(x + 3, 0.0, 6.0) / 6;
    EXPECT_NEAR(codes[static_cast<std::size_t>(code + 128)],
                std::clamp(y / 0.03 - 100, -128.0, 127.0), 1.0);
  }
}

TEST(HardSwish, OfFloats) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 5}, DType::float32)};
  b.model.outputs = {b.activation("y", {1, 5}, DType::float32)};
  b.op(OpCode::hard_swish, {0}, 1);
  Interpreter interpreter(b.model);
  EXPECT_EQ((run<float, float>(interpreter, {-4, -3, -1.5F, 0, 4})),
            (std::vector<float>{0, 0, -0.375F, 0, 4}));
}

TEST(HardSwish, RefusesAnOutputFinerThanSixteenBits) {
  const IntegerModel good = hard_swish_model(quant(0.5F, 0), quant(0.004F, 0));
  const auto refuse = [&](float scale) {
    expect_operator_refuses(
        good, [&](IntegerModel& m) { m.tensors[1].quantization.scales = {scale}; },
        "expected an output scale above 1/128 of its input's");
  };
  refuse(0.5F / 128);
  refuse(1e-9F);
  // A network whose results are all next to nothing gets a grid that the operator takes.
  const QuantParams measured = quant(1e-9F, 5);
  const QuantParams in = quant(0.5F, 0);
  const QuantParams fitted =
      definition(OpCode::hard_swish).fitting_grid(std::span(&in, 1), measured);
  EXPECT_EQ(fitted.scale(), 0.5F / 64);
  EXPECT_EQ(fitted.zero_point(), 5);
}

// ---- SQUEEZE

TEST(Squeeze, KeepsTheCodes) {
  const std::vector<std::int8_t> x{-128, 3, 127, 5, -1, 0};
  for (const IntegerModel& model :
       {squeeze_model({1, 1, 2, 3}, {1}), squeeze_model({1, 1, 2, 3}, {-4, -3}),
        squeeze_model({1, 2, 1, 3}, {}), squeeze_model({2, 3}, {})}) {
    Interpreter interpreter(model);
    EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)), x);
  }
}

TEST(Squeeze, RefusesOperandsByName) {
  const IntegerModel good = squeeze_model({1, 1, 2, 3}, {1});
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  const auto dims = [](const std::vector<std::int32_t>& wanted) {
    return
        [wanted](IntegerModel& m) { m.operators[0].as<SqueezeAttributes>().squeeze_dims = wanted; };
  };
  refuse(dims({4}), "axis 4 is none of input shape [1, 1, 2, 3]");
  refuse(dims({-5}), "axis -5 is none of input shape [1, 1, 2, 3]");
  refuse(dims({2}), "axis 2 of input shape [1, 1, 2, 3] has another extent than 1");
  refuse(dims({}), "expected output shape [2, 3], found [1, 2, 3]");
  refuse(
      [&](IntegerModel& m) {
        dims({0})(m);
        m.tensors[0].shape_signature = {-1, 1, 2, 3};
      },
      "axis 0 is the batch");
  refuse([](IntegerModel& m) { m.tensors[1].quantization.zero_points = {5}; },
         "the same single scale");
  refuse([](IntegerModel& m) { m.tensors[1].dtype = DType::uint8; }, "types (int8) -> uint8");
}

// ---- RESIZE_NEAREST_NEIGHBOR

TEST(ResizeNearestNeighbor, IsTheOracleForAnySize) {
  Draw draw(12);
  for (int round = 0; round < 200; ++round) {
    const Resize r = draw_resize(draw);
    const auto x = random_codes(elements(r.image), draw);
    Interpreter interpreter(model_of(r));
    ASSERT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)), naive_resize(r, x)) << round;
    const std::vector<float> reals(x.begin(), x.end());
    Interpreter of_floats(model_of(r, DType::float32));
    ASSERT_EQ((run<float, float>(of_floats, reals)), naive_resize(r, reals)) << round;
  }
}

TEST(ResizeNearestNeighbor, ThreadsAndBatchesChangeNothing) {
  const KeepThreads keep;
  Resize r;
  r.image = {1, 30, 40, 24};
  r.height = 60;
  r.width = 120;
  Draw draw(2);
  const auto x = random_codes(3 * elements(r.image), draw);
  Resize all = r;
  all.image[0] = 3;
  const auto expected = naive_resize(all, x);
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    Interpreter interpreter(model_of(r), {.batch = 3});
    EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)), expected);
  }
}

TEST(ResizeNearestNeighbor, RefusesOperandsByName) {
  const IntegerModel good = model_of(Resize{});
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  const auto attributes = [](IntegerModel& m) -> ResizeNearestNeighborAttributes& {
    return m.operators[0].as<ResizeNearestNeighborAttributes>();
  };
  const auto size = [](std::int32_t value) {
    return
        [value](IntegerModel& m) { std::memcpy(m.tensors[1].data.data(), &value, sizeof value); };
  };
  refuse(size(0), "expected output shape [1, 0, 6, 2], found [1, 4, 6, 2]");
  refuse(size(-1), "expected output shape [1, -1, 6, 2]");
  refuse(size(5), "expected output shape [1, 5, 6, 2]");
  refuse([](IntegerModel& m) { m.tensors[1].shape = {1, 2}; }, "an int32 constant [2]");
  refuse([](IntegerModel& m) { m.tensors[1].dtype = DType::float32; }, "of float32");
  refuse(
      [](IntegerModel& m) {
        m.tensors[0].shape = {1, 2, 6};
        m.tensors[0].shape_signature.clear();
      },
      "expected images");
  refuse([](IntegerModel& m) { m.tensors[2].quantization.zero_points = {5}; },
         "the same single scale");
  refuse(
      [&](IntegerModel& m) {
        attributes(m).align_corners = attributes(m).half_pixel_centers = true;
      },
      "exclude each other");
}

}  // namespace
}  // namespace octet::test::elementwise_test
