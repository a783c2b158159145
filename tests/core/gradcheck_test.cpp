#include <octet/core/autograd.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/reduce.h>
#include <octet/tests/core/ops/op_testing.h>

namespace octet::test::gradcheck_test {
namespace {

using namespace testing;

/// x^2 whose gradient is `factor` times what it should be, but for the first element.
Tensor square_with_error(const Tensor& x, float factor, Index wrong) {
  const Tensor y = no_grad([&] { return square(x); });
  return record("square_with_error", y, {x}, [=](const Tensor& g) {
    Tensor grad = 2.0F * g * x;
    grad.mutable_data()[wrong] *= factor;
    return std::vector<Tensor>{grad};
  });
}

TEST(Gradcheck, AcceptsTheRightGradient) {
  const Tensor x = random_tensor({3, 4}, 1, 0.5F, 2.0F);
  const GradcheckResult r =
      gradcheck([](const auto& in) { return square_with_error(in[0], 1.0F, 0); }, {x});
  EXPECT_TRUE(r.ok) << r.message;
  EXPECT_LT(r.worst_error, 1e-2);
}

TEST(Gradcheck, FindsOneWrongElementAndNamesIt) {
  const Tensor x = random_tensor({3, 4}, 1, 0.5F, 2.0F);
  for (const float factor : {0.0F, 0.95F, 1.05F, -1.0F, kNan}) {
    const GradcheckResult r = gradcheck(
        [&](const auto& in) { return in[0] + square_with_error(in[1], factor, 7); }, {x, x});
    EXPECT_FALSE(r.ok) << factor;
    EXPECT_FALSE(static_cast<bool>(r));
    EXPECT_NE(r.message.find("worst at input 1, element 7: tape "), std::string::npos) << r.message;
  }
}

TEST(Gradcheck, FindsAMissingGradient) {
  const Tensor x = random_tensor({2}, 2, 0.5F, 2.0F);
  const GradcheckResult r =
      gradcheck([](const auto& in) { return in[0] * in[1].detach(); }, {x, x});
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("input 1"), std::string::npos) << r.message;
}

TEST(Gradcheck, FindsAGradientThatDropsTheSignOfItsUpstream) {
  const GradcheckResult r = gradcheck(
      [](const auto& in) {
        return record("copy", in[0].clone(), {in[0]},
                      [](const Tensor& g) { return std::vector<Tensor>{abs(g)}; });
      },
      {random_tensor({8}, 5)});
  EXPECT_FALSE(r.ok);
}

TEST(Gradcheck, FindsAResultOffTheTape) {
  const GradcheckResult r =
      gradcheck([](const auto& in) { return in[0].detach(); }, {Tensor::ones({2})});
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("not on the tape"), std::string::npos) << r.message;
}

/// The result for the identity with these gradients.
GradcheckResult check_gradients(const std::vector<Tensor>& gradients) {
  return gradcheck(
      [&](const auto& in) {
        return record("copy", in[0].clone(), {in[0]}, [&](const Tensor&) { return gradients; });
      },
      {random_tensor({8}, 5)});
}

TEST(Gradcheck, FindsAGradientOfAnotherShapeOrAWrongNumberOfThem) {
  const GradcheckResult shape = check_gradients({Tensor::ones({4})});
  EXPECT_FALSE(shape.ok);
  EXPECT_EQ(shape.message,
            "gradcheck: backward of copy: expected a gradient of shape [8], found [4]");
  const GradcheckResult count = check_gradients({});
  EXPECT_FALSE(count.ok);
  EXPECT_NE(count.message.find("expected 1 gradients, one per input, found 0"), std::string::npos);
}

TEST(Gradcheck, ABackwardFunctionThatThrowsIsAWrongGradient) {
  const GradcheckResult r = gradcheck(
      [](const auto& in) {
        return record("copy", in[0].clone(), {in[0]},
                      [](const Tensor& g) { return std::vector<Tensor>{g.slice(0, 9)}; });
      },
      {random_tensor({8}, 5)});
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("slice: rows [0, 9)"), std::string::npos) << r.message;
}

TEST(Gradcheck, RefusesAFunctionThatChangesItsShape) {
  int calls = 0;
  expect_error(
      [&] {
        gradcheck([&](const auto& in) { return in[0].slice(0, ++calls == 3 ? 2 : 3) * 1.0F; },
                  {random_tensor({3}, 1)});
      },
      "gradcheck: expected f to give shape [3] each time, found [3] and [2]");
}

TEST(Gradcheck, FindsNanAnywhere) {
  const Tensor x = Tensor::from({3}, {1, -1, 2});
  const GradcheckResult r = gradcheck([](const auto& in) { return log(in[0]); }, {x});
  EXPECT_FALSE(r.ok);
}

TEST(Gradcheck, LeavesTheInputsAlone) {
  Tensor x = random_tensor({3}, 3);
  const std::vector<float> before = values_of(x);
  gradcheck([](const auto& in) { return square(in[0]); }, {x});
  EXPECT_EQ(values_of(x), before);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_FALSE(x.grad().defined());
}

TEST(Gradcheck, ToleranceIsTheCallers) {
  const Tensor x = random_tensor({3}, 4, 0.5F, 2.0F);
  const auto f = [](const auto& in) { return square_with_error(in[0], 1.5F, 0); };
  EXPECT_FALSE(gradcheck(f, {x}).ok);
  EXPECT_TRUE(gradcheck(f, {x}, {.rtol = 0.6}).ok);
}

TEST(Gradcheck, PassesExceptionsOn) {
  expect_error(
      [] { gradcheck([](const auto& in) { return sum(in[0], {5}); }, {Tensor::ones({2})}); },
      "sum: axis 5");
}

TEST(Gradcheck, NothingToCheckIsFine) {
  EXPECT_TRUE(gradcheck([](const auto& in) { return exp(in[0]); }, {Tensor::ones({0})}).ok);
}

}  // namespace
}  // namespace octet::test::gradcheck_test
