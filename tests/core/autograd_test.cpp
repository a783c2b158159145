#include <octet/core/autograd_internal.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/linear.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace octet::test::autograd_test {
namespace {

using detail::TensorAccess;
using namespace testing;

Tensor cube(const Tensor& x) {
  const Tensor y = no_grad([&] { return x * x * x; });
  return record("cube", y, {x},
                [x](const Tensor& g) { return std::vector<Tensor>{g * (3.0F * square(x))}; });
}

TEST(Autograd, ALeafIsReadyOnceNothingIsAddedToItsGradient) {
  Tensor early = leaf(Tensor::from({2}, {3, 4}));
  Tensor twice = leaf(Tensor::from({2}, {5, 6}));
  Tensor late = leaf(Tensor::from({2}, {7, 8}));
  const Tensor y = sum((early * twice) * late + twice);
  std::vector<std::pair<const float*, std::vector<float>>> ready;
  TensorAccess::backward(y, {}, [&](const Tensor& each) {
    const auto gradient = each.grad().span();
    ready.emplace_back(each.data(), std::vector<float>(gradient.begin(), gradient.end()));
  });
  // `twice` has a part of its gradient before that of `late`.
  ASSERT_EQ(ready.size(), 3U);
  const auto data = [](const Tensor& each) { return each.data(); };
  using Values = std::vector<float>;
  EXPECT_EQ(ready[0], std::pair(data(late), Values{15, 24}));
  EXPECT_EQ(ready[1], std::pair(data(early), Values{35, 48}));
  EXPECT_EQ(ready[2], std::pair(data(twice), Values{22, 33}));
}

TEST(Autograd, GradientsAccumulateOverBackwardCalls) {
  Tensor x = leaf(Tensor::from({2}, {3, 4}));
  EXPECT_FALSE(x.grad().defined());
  sum(square(x)).backward();
  expect_tensor(x.grad(), {2}, {6, 8});
  sum(x).backward();
  expect_tensor(x.grad(), {2}, {7, 9});
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, SharedSubexpressionsAddUp) {
  Tensor x = leaf(Tensor::from({2}, {3, 4}));
  Tensor y = sum(x * x + x);
  y.backward();
  expect_tensor(x.grad(), {2}, {7, 9});

  Tensor z = leaf(Tensor::scalar(2));
  const Tensor shared = z * 3.0F;
  (shared * shared + shared + shared).backward();
  EXPECT_EQ(z.grad().item(), 2.0F * 9.0F * 2.0F + 6.0F);
}

TEST(Autograd, SharedGradientTensorsStayApart) {
  // add() hands the same gradient to both sides; adding to one must not reach the other.
  Tensor a = leaf(Tensor::scalar(1));
  Tensor b = leaf(Tensor::scalar(1));
  const Tensor left = a * 1.0F;
  const Tensor right = b * 1.0F;
  (left + right + left).backward();
  EXPECT_EQ(a.grad().item(), 2.0F);
  EXPECT_EQ(b.grad().item(), 1.0F);

  Tensor c = leaf(Tensor::scalar(1));
  Tensor d = leaf(Tensor::scalar(1));
  (c + d).backward();
  sum(c).backward();
  EXPECT_EQ(c.grad().item(), 2.0F);
  EXPECT_EQ(d.grad().item(), 1.0F);
}

TEST(Autograd, ALeafTakesAGradientThatIsNobodyElsesAndCopiesOthers) {
  const Tensor held = Tensor::ones({2});
  for (const bool as_view : {false, true}) {
    Tensor x = leaf(Tensor::zeros({2}));
    for (int times = 0; times < 2; ++times) {
      record("holds", Tensor::scalar(0), {x}, [&](const Tensor&) {
        return std::vector<Tensor>{as_view ? TensorAccess::view(held, {2}) : held};
      }).backward();
    }
    expect_tensor(x.grad(), {2}, {2, 2});
    expect_tensor(held, {2}, {1, 1});
  }
  const float* made = nullptr;
  Tensor x = leaf(Tensor::zeros({2}));
  record("makes", Tensor::scalar(0), {x}, [&](const Tensor&) {
    const Tensor gradient = Tensor::full({2}, 3.0F);
    made = gradient.data();
    return std::vector<Tensor>{gradient};
  }).backward();
  expect_tensor(x.grad(), {2}, {3, 3});
  EXPECT_EQ(x.grad().data(), made);
}

TEST(Autograd, BackwardTakesAnUpstreamGradient) {
  Tensor x = leaf(Tensor::from({2}, {3, 4}));
  Tensor y = square(x);
  const Tensor seed = Tensor::from({2}, {10, 100});
  y.backward(seed);
  expect_tensor(x.grad(), {2}, {60, 800});
  expect_tensor(seed, {2}, {10, 100});
}

TEST(Autograd, ALeafIsItsOwnGradient) {
  Tensor x = leaf(Tensor::scalar(5));
  x.backward();
  x.backward();
  EXPECT_EQ(x.grad().item(), 2.0F);
}

TEST(Autograd, OnlyWhatAsksGetsAGradient) {
  Tensor x = leaf(Tensor::ones({2}));
  const Tensor constant = Tensor::ones({2});
  sum(x * constant).backward();
  EXPECT_FALSE(constant.grad().defined());
  EXPECT_FALSE((constant + constant).requires_grad());
}

TEST(Autograd, NoGradRecordsNothingAndNests) {
  Tensor x = leaf(Tensor::ones({2}));
  {
    const NoGrad outer;
    { const NoGrad inner; }
    EXPECT_FALSE((x + x).requires_grad());
  }
  EXPECT_TRUE((x + x).requires_grad());
  EXPECT_FALSE(no_grad([&] { return x * x; }).requires_grad());
  EXPECT_THROW(no_grad([]() -> int { throw InvalidArgument("x"); }), InvalidArgument);
  EXPECT_TRUE((x + x).requires_grad());
}

TEST(Autograd, BackwardRunsWithTheTapeOff) {
  Tensor x = leaf(Tensor::scalar(2));
  bool recorded = true;
  Tensor y = record("probe", Tensor::scalar(0), {x}, [&recorded, x](const Tensor& g) {
    recorded = (x * g).requires_grad();
    return std::vector<Tensor>{g};
  });
  y.backward();
  EXPECT_FALSE(recorded);
}

TEST(Autograd, BackwardFreesTheGraphThatItsResultStillHolds) {
  Tensor x = leaf(Tensor::scalar(2));
  Tensor y = exp(square(x));
  const std::weak_ptr<detail::Node> inner = TensorAccess::node(TensorAccess::node(y)->inputs[0]);
  y.backward();
  EXPECT_TRUE(inner.expired());
}

TEST(Autograd, FreedGraphIsAClearError) {
  Tensor x = leaf(Tensor::scalar(2));
  Tensor h = square(x);
  Tensor y = exp(h);
  y.backward();
  expect_error([&] { y.backward(); }, "backward: the graph of op exp was freed by an earlier");
  expect_error([&] { h.backward(); }, "the graph of op square was freed");
  expect_error([&] { (h + 1.0F).backward(); }, "the graph of op square was freed");
}

TEST(Autograd, BackwardErrors) {
  Tensor x = leaf(Tensor::ones({3}));
  expect_error([&] { square(x).backward(); },
               "backward: expected a scalar or an upstream gradient, found shape [3]");
  expect_error([&] { square(x).backward(Tensor::ones({2})); },
               "backward: expected an upstream gradient of shape [3], found [2]");
  expect_error([&] { x.detach().backward(Tensor::ones({3})); },
               "backward: expected a tensor on the tape");
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, WrongGradientShapeNamesTheOp) {
  Tensor x = leaf(Tensor::ones({3}));
  const Tensor y = record("broken", Tensor::scalar(1), {x},
                          [](const Tensor&) { return std::vector<Tensor>{Tensor::ones({4})}; });
  expect_error([&] { Tensor(y).backward(); },
               "backward of broken: expected a gradient of shape [3], found [4]");
}

TEST(Autograd, AWrongNumberOfGradientsNamesTheOp) {
  Tensor a = leaf(Tensor::ones({3}));
  Tensor b = leaf(Tensor::ones({3}));
  for (const std::size_t count : {0U, 1U, 3U}) {
    const Tensor y = record("broken", Tensor::scalar(1), {a, b}, [&](const Tensor&) {
      return std::vector<Tensor>(count, Tensor::ones({3}));
    });
    expect_error(
        [&] { Tensor(y).backward(); },
        "backward of broken: expected 2 gradients, one per input, found " + std::to_string(count));
    EXPECT_FALSE(a.grad().defined());
  }
}

/// Runs f(x), writes to x or to the result, and then runs backward().
void write_between(const std::function<Tensor(const Tensor&)>& f, bool to_result) {
  Tensor x = leaf(Tensor::from({2, 2}, {1, 2, 3, 4}));
  const Tensor scaled = x * 1.0F;
  Tensor y = f(scaled);
  Tensor written = to_result ? y : scaled;
  written.mutable_at({1, 0}) = 5.0F;
  sum(y).backward();
}

TEST(Autograd, AnInputThatIsWrittenToBeforeBackwardNamesTheOp) {
  const auto written = [](const auto& f) { return [f] { write_between(f, false); }; };
  expect_error(written([](const Tensor& x) { return square(x); }),
               "backward of square: expected input 0 of shape [2, 2] to be as it was when the op "
               "ran, found that it has been written to since");
  expect_error(written([](const Tensor& x) {
                 return Tensor::ones({2, 2}) * x;
               }),
               "backward of mul: expected input 1 of shape [2, 2]");
  expect_error(written([](const Tensor& x) { return log(x); }), "backward of log");
  expect_error(written([](const Tensor& x) { return max(x, {0}); }), "backward of max");
  expect_error(written([](const Tensor& x) { return matmul(x, x); }), "backward of matmul");
  const Tensor kernel = Tensor::ones({2, 2});
  expect_error(written([&](const Tensor& x) { return linear(x, kernel, {}); }),
               "backward of linear: expected input 0");
  expect_error(written([](const Tensor& x) { return cube(x); }), "backward of cube");
  // Their gradients read only the result, or nothing.
  for (const auto& f : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor& x) { return exp(x); }, [](const Tensor& x) { return sigmoid(x); },
           [](const Tensor& x) { return softmax(x); }, [](const Tensor& x) { return x + x; },
           [](const Tensor& x) { return 1.0F - x; }, [](const Tensor& x) { return mean(x); },
           [](const Tensor& x) { return transpose(x); }, [](const Tensor& x) { return neg(x); },
           [](const Tensor& x) {
             return concatenate({x, x}, 0);
           }}) {
    EXPECT_NO_THROW(write_between(f, false));
  }
}

TEST(Autograd, AResultThatIsWrittenToBeforeBackwardNamesTheOp) {
  const auto written = [](const auto& f) { return [f] { write_between(f, true); }; };
  expect_error(written([](const Tensor& x) { return exp(x); }),
               "backward of exp: expected its result of shape [2, 2] to be as it was");
  expect_error(written([](const Tensor& x) { return tanh(x); }), "backward of tanh");
  expect_error(written([](const Tensor& x) { return log_softmax(x); }), "backward of log_softmax");
  const Tensor kernel = Tensor::ones({2, 2});
  expect_error(
      written([&](const Tensor& x) { return linear(x, kernel, {}, FusedActivation::relu); }),
      "backward of linear: expected its result");
  EXPECT_NO_THROW(write_between([&](const Tensor& x) { return linear(x, kernel, {}); }, true));
  EXPECT_NO_THROW(write_between([](const Tensor& x) { return square(x); }, true));
  EXPECT_NO_THROW(write_between([](const Tensor& x) { return x + 1.0F; }, true));
}

TEST(Autograd, AWriteThroughAnyHandleOrViewCountsAndReadingDoesNot) {
  for (const bool through_view : {false, true}) {
    Tensor x = leaf(Tensor::ones({4}));
    Tensor y = sum(square(x));
    Tensor other = through_view ? x.slice(2, 4).detach() : Tensor(x);
    EXPECT_EQ(other.at({1}), 1.0F);
    other.mutable_span()[1] = 2.0F;
    expect_error([&] { y.backward(); }, "backward of square: expected input 0");
    EXPECT_FALSE(x.grad().defined());
  }
  Tensor x = leaf(Tensor::ones({4}));
  x.mutable_data()[0] = 3.0F;
  Tensor y = sum(square(x));
  EXPECT_EQ(x.clone().at({0}), 3.0F);
  EXPECT_EQ(x.span()[0], 3.0F);
  y.backward();
  expect_tensor(x.grad(), {4}, {6, 2, 2, 2});
  x.mutable_data()[0] = 7.0F;
  EXPECT_EQ(x.grad().at({0}), 6.0F);
}

TEST(Autograd, GradientsOfKernelsAreThoseOfTheInputThatTheForwardPassSaw) {
  // A program that accumulates gradients, and reads every batch into the same tensor.
  const Tensor weights = random_tensor({5, 3}, 1);
  Tensor kernel = leaf(weights.clone());
  Tensor refilled(Shape{4, 5});
  Tensor expected = leaf(weights.clone());
  for (std::uint64_t batch = 2; batch < 5; ++batch) {
    const Tensor fresh = random_tensor({4, 5}, batch);
    std::ranges::copy(fresh.span(), refilled.mutable_span().begin());
    sum(square(linear(refilled, kernel, {}))).backward();
    sum(square(linear(fresh, expected, {}))).backward();
  }
  std::ranges::fill(refilled.mutable_span(), 0.0F);
  expect_tensor(kernel.grad(), {5, 3}, values_of(expected.grad()));
}

TEST(Autograd, UserDefinedOp) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}}) {
    expect_gradient([](const auto& in) { return cube(in[0]); }, {random_tensor(shape, 1)});
  }
  Tensor x = leaf(Tensor::scalar(2));
  Tensor y = cube(x);
  EXPECT_EQ(TensorAccess::node(y)->operation, "cube");
  EXPECT_EQ(y.item(), 8.0F);
  y.backward();
  EXPECT_EQ(x.grad().item(), 12.0F);
}

TEST(Autograd, UndefinedGradientMeansNone) {
  Tensor a = leaf(Tensor::scalar(2));
  Tensor b = leaf(Tensor::scalar(3));
  Tensor y = record("left_only", Tensor::scalar(0), {a, b}, [](const Tensor& g) {
    return std::vector<Tensor>{g, Tensor()};
  });
  y.backward();
  EXPECT_EQ(a.grad().item(), 1.0F);
  EXPECT_FALSE(b.grad().defined());
}

TEST(Autograd, DetachCutsTheTapeAndSharesData) {
  Tensor x = leaf(Tensor::scalar(3));
  Tensor y = square(x);
  Tensor cut = y.detach();
  EXPECT_FALSE(cut.requires_grad());
  EXPECT_EQ(cut.data(), y.data());
  (cut * x).backward();
  EXPECT_EQ(x.grad().item(), 9.0F);
}

TEST(Autograd, SetRequiresGradIsForLeaves) {
  Tensor x = leaf(Tensor::scalar(3));
  Tensor y = square(x);
  expect_error([&] { y.set_requires_grad(false); },
               "set_requires_grad: expected a leaf, found the result of square");
  x.set_requires_grad(false);
  EXPECT_FALSE(square(x).requires_grad());
}

TEST(Autograd, LongChainsNeitherDifferentiateNorDieRecursively) {
  constexpr int kLength = 200000;
  Tensor x = leaf(Tensor::scalar(1));
  Tensor y = x;
  for (int i = 0; i < kLength; ++i) y = y + 1.0F;
  y.backward();
  EXPECT_EQ(x.grad().item(), 1.0F);

  Tensor unused = x;
  for (int i = 0; i < kLength; ++i) unused = exp(unused) * unused;
  unused = Tensor();
}

TEST(Autograd, WideGraphsVisitEachNodeOnce) {
  // 2^60 paths, 60 nodes.
  Tensor x = leaf(Tensor::scalar(1));
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = 0.5F * (y + y);
  y.backward();
  EXPECT_EQ(x.grad().item(), 1.0F);
}

TEST(Autograd, NothingIsLeftAliveByTheTape) {
  std::weak_ptr<detail::Node> watched;
  {
    Tensor x = leaf(Tensor::from({2}, {1, 2}));
    Tensor y = sqrt(exp(x)) / square(x) + maximum(x, abs(x));
    watched = TensorAccess::node(TensorAccess::node(y)->inputs[0]);
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace octet::test::autograd_test
