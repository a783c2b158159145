#include <octet/core/buffer.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/core/thrown.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace octet::test::tensor_test {
namespace {

using detail::TensorAccess;
using namespace testing;

TEST(Tensor, Creation) {
  expect_tensor(Tensor::zeros({2, 2}), {2, 2}, {0, 0, 0, 0});
  expect_tensor(Tensor::ones({3}), {3}, {1, 1, 1});
  expect_tensor(Tensor::full({2}, 7), {2}, {7, 7});
  expect_tensor(Tensor::scalar(4), {}, {4});
  expect_tensor(Tensor::arange(4), {4}, {0, 1, 2, 3});
  expect_tensor(Tensor::zeros({0}), {0}, {});
  const std::vector<float> values = {1, 2};
  expect_tensor(Tensor::from({2, 1}, values), {2, 1}, {1, 2});
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(Tensor::zeros({0}).defined());
}

TEST(Tensor, DataIsAligned) {
  for (Index count = 1; count < 40; ++count) {
    const Tensor t(Shape{count});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0U);
  }
}

TEST(Tensor, FromCountsItsValues) {
  expect_error(
      [] {
        Tensor::from({2, 2}, {1, 2, 3});
      },
      "Tensor::from: expected 4 values for shape [2, 2], found 3");
  expect_error([] { Tensor::zeros({-1, 2}); }, "shape [-1, 2]");
}

TEST(Tensor, AtChecksBounds) {
  Tensor t = Tensor::from({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(t.at({1, 2}), 5.0F);
  t.mutable_at({1, 2}) = 9.0F;
  EXPECT_EQ(t.at({1, 2}), 9.0F);
  EXPECT_EQ(Tensor::scalar(3).at({}), 3.0F);
  expect_error([&] { t.at({2, 0}); }, "at: index 2 of axis 0 is outside shape [2, 3]");
  expect_error([&] { t.at({0, -1}); }, "at: index -1 of axis 1 is outside shape [2, 3]");
  expect_error([&] { t.at({0}); }, "at: expected 2 indices for shape [2, 3], found 1");
}

TEST(Tensor, ItemIsForOneElement) {
  EXPECT_EQ(Tensor::full({1, 1}, 3).item(), 3.0F);
  expect_error([] { (void)Tensor::ones({2}).item(); },
               "item: expected one element, found shape [2]");
}

TEST(Tensor, HandlesShareAndClonesDoNot) {
  Tensor a = Tensor::zeros({2});
  Tensor handle = a;
  Tensor copy = a.clone();
  Tensor view = TensorAccess::view(a, {1}, 1);
  a.mutable_at({1}) = 5.0F;
  EXPECT_EQ(handle.at({1}), 5.0F);
  EXPECT_EQ(view.item(), 5.0F);
  EXPECT_EQ(copy.at({1}), 0.0F);
  a = Tensor();
  EXPECT_EQ(view.item(), 5.0F);
}

TEST(Tensor, UndefinedHandleIsAnError) {
  Tensor none;
  const auto found = [](const std::string& member) {
    return "Tensor::" + member + ": expected a tensor, found a default-made handle";
  };
  expect_error([&] { (void)none.shape(); }, found("shape"));
  expect_error([&] { (void)none.size(); }, found("size"));
  expect_error([&] { (void)none.data(); }, found("data"));
  expect_error([&] { (void)none.span(); }, found("data"));
  expect_error([&] { none.mutable_data(); }, found("mutable_data"));
  expect_error([&] { (void)none.dtype(); }, found("dtype"));
  expect_error([&] { (void)none.quantization(); }, found("quantization"));
  expect_error([&] { none.set_requires_grad(true); }, found("set_requires_grad"));
  expect_error([&] { (void)none.grad(); }, found("grad"));
  expect_error([&] { none.zero_grad(); }, found("zero_grad"));
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { none.at({0}); }, [&] { (void)none.item(); }, [&] { none.clone(); },
           [&] { none.detach(); }, [&] { none.backward(); }, [&] { none.reshape({1}); },
           [&] { none.slice(0, 1); }, [&] { exp(none); }, [&] { none + Tensor::ones({1}); }}) {
    expect_error(use, "default-made handle");
  }
  EXPECT_FALSE(none.requires_grad());
}

TEST(Tensor, ReadingKeepsIntegersAndWritingDropsThem) {
  for (const DType dtype : {DType::int8, DType::int16}) {
    const bool wide = dtype == DType::int16;
    const auto params = std::make_shared<const QuantParams>(
        QuantParams::per_tensor(0.5F, 3, wide ? -32768 : -128, wide ? 32767 : 127));
    auto int8 = std::make_shared<std::int8_t[]>(2);
    auto int16 = std::make_shared<std::int16_t[]>(2);
    int8[1] = 7;
    int16[1] = 7;
    Tensor x = quantized_tensor(
        {2}, params, wide ? detail::StoredIntegers(int16) : detail::StoredIntegers(int8));
    const Tensor view = x.reshape({1, 2});
    expect_tensor(x, {2}, {-1.5F, 2.0F});
    EXPECT_EQ(x.at({1}), 2.0F);
    EXPECT_EQ(x.span()[0], -1.5F);
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_EQ(view.dtype(), dtype);
    EXPECT_EQ(view.quantization(), params);
    x.mutable_at({0}) = 0.25F;
    EXPECT_EQ(x.dtype(), DType::float32);
    EXPECT_EQ(view.dtype(), DType::float32);
    EXPECT_EQ(view.quantization(), nullptr);
    expect_tensor(view, {1, 2}, {0.25F, 2.0F});
  }
  const auto pixel = std::make_shared<std::uint8_t[]>(1);
  expect_error([&] { quantized_tensor({1}, nullptr, pixel); },
               "quantized_tensor: expected int8 or int16, found uint8");
}

TEST(Tensor, RunningOutOfMemoryNamesTheShape) {
  constexpr Index kTooMany = Index{1} << 61;
  EXPECT_EQ(message_of<OutOfMemory>([] {
              Tensor(Shape{2, kTooMany / 2});
            }),
            "Tensor of shape [2, 1152921504606846976]: out of memory: expected "
            "9223372036854775808 bytes, found that the system has less");
  const Tensor lazy = TensorAccess::lazy({kTooMany}, {1, {}});
  expect_throws<OutOfMemory>([&] { (void)lazy.data(); }, {"[2305843009213693952]"});
}

TEST(Tensor, MemoryOfTheCallersIsUsedAsItIs) {
  const std::shared_ptr<float[]> memory(new float[7]{0, 1, 2, 3, 4, 5, 6});
  const std::weak_ptr<float[]> watched = memory;
  Tensor t = Tensor::from_memory({2, 3}, {memory, memory.get() + 1});
  EXPECT_EQ(t.data(), memory.get() + 1);
  expect_tensor(t, {2, 3}, {1, 2, 3, 4, 5, 6});
  t.mutable_at({1, 2}) = 9.0F;
  EXPECT_EQ(memory[6], 9.0F);
  EXPECT_EQ(watched.use_count(), 2);
  t = Tensor();
  EXPECT_EQ(watched.use_count(), 1);
  expect_error(
      [] {
        Tensor::from_memory({2, 3}, nullptr);
      },
      "Tensor::from_memory: expected 6 floats for shape [2, 3], found a null pointer");
}

TEST(Tensor, IsWrittenToStreamsAsToString) {
  std::ostringstream out;
  out << Tensor::from({2}, {1, 2}) << ' ' << Shape{3, 4} << ' ' << Tensor();
  EXPECT_EQ(out.str(), "Tensor(shape=[2], [1, 2]) [3, 4] Tensor()");
}

TEST(Tensor, ToString) {
  EXPECT_EQ(Tensor().to_string(), "Tensor()");
  EXPECT_EQ(Tensor::scalar(1.5F).to_string(), "Tensor(shape=[], 1.5)");
  EXPECT_EQ(Tensor::from({2, 2}, {1, 2, 3, 4}).to_string(),
            "Tensor(shape=[2, 2], [[1, 2],\n [3, 4]])");
  EXPECT_EQ(Tensor::arange(10).to_string(), "Tensor(shape=[10], [0, 1, 2, ..., 7, 8, 9])");
  EXPECT_EQ(Tensor::arange(6).to_string(), "Tensor(shape=[6], [0, 1, 2, 3, 4, 5])");
  EXPECT_EQ(Tensor::arange(7).to_string(), "Tensor(shape=[7], [0, 1, 2, ..., 4, 5, 6])");
  EXPECT_EQ(Tensor::zeros({2, 0}).to_string(), "Tensor(shape=[2, 0], [[],\n []])");
  EXPECT_EQ(Tensor::from({1}, {kNan}).to_string(), "Tensor(shape=[1], [nan])");
}

TEST(Tensor, SpanSharesData) {
  Tensor t = Tensor::zeros({2, 2});
  t.mutable_span()[3] = 4.0F;
  EXPECT_EQ(t.at({1, 1}), 4.0F);
  EXPECT_EQ(t.span().size(), 4U);
}

/// A lazy tensor of 0, 1, 2, ... that counts how many elements were computed.
Tensor counting(const Shape& shape, std::size_t grain, std::atomic<std::size_t>& computed,
                std::size_t unit = 0) {
  const auto count = [&computed](std::size_t begin, std::size_t end, float* out, MemoryParts) {
    computed += end - begin;
    for (std::size_t i = begin; i < end; ++i) out[i - begin] = static_cast<float>(i);
  };
  return TensorAccess::lazy(shape, {grain, count, unit});
}

TEST(Tensor, LazyDataIsComputedOnceWhenItIsAskedFor) {
  std::atomic<std::size_t> computed = 0;
  const Tensor x = counting({3, 5}, 4, computed);
  const Tensor flat = x.reshape({15});
  EXPECT_NE(TensorAccess::pending(x), nullptr);
  EXPECT_NE(TensorAccess::pending(flat), nullptr);
  EXPECT_EQ(computed, 0U);
  EXPECT_EQ(flat.at({14}), 14.0F);
  EXPECT_EQ(x.at({1, 2}), 7.0F);
  EXPECT_EQ(x.clone().at({2, 0}), 10.0F);
  EXPECT_EQ(computed, 15U);
  EXPECT_EQ(TensorAccess::pending(x), nullptr);
  EXPECT_EQ(x.data(), flat.data());
}

TEST(Tensor, LimitsOfRowsThatAreComputedWhenReadNeedNoMemoryForThem) {
  const test::KeepThreads keep;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    std::atomic<std::size_t> computed = 0;
    Tensor x = counting({Index{1} << 18, 3}, 12, computed, 3);
    const MinMax limits = TensorAccess::limits(x);
    EXPECT_EQ(limits.min, 0.0F);
    EXPECT_EQ(limits.max, static_cast<float>(x.size() - 1));
    EXPECT_TRUE(limits.finite);
    EXPECT_NE(TensorAccess::pending(x), nullptr);
    EXPECT_EQ(computed, static_cast<std::size_t>(x.size()));
    // They are remembered, until somebody writes.
    EXPECT_EQ(TensorAccess::limits(x).max, limits.max);
    EXPECT_EQ(computed, static_cast<std::size_t>(x.size()));
    x.mutable_data()[5] = -7.0F;
    EXPECT_EQ(TensorAccess::limits(x).min, -7.0F);
  }
  std::atomic<std::size_t> computed = 0;
  EXPECT_EQ(TensorAccess::limits(counting({0, 3}, 3, computed, 3)).max, 0.0F);
}

TEST(Tensor, LazyDataIsComputedOnceForThreadsThatAskAtOnce) {
  const test::KeepThreads keep;
  set_num_threads(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<std::size_t> computed = 0;
    const Tensor x = counting({64}, 1, computed);
    std::atomic<int> right = 0;
    parallel_for(8, 1, [&](std::size_t begin, std::size_t /*end*/) {
      if (x.data()[begin] == static_cast<float>(begin)) ++right;
    });
    EXPECT_EQ(right, 8);
    EXPECT_EQ(computed, 64U);
  }
}

TEST(Tensor, LazyDataIsComputedInTheSameBlocksAsAnOptimizerAsksFor) {
  const test::KeepThreads keep;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    std::atomic<int> whole = 0;
    const auto compute = [&whole](std::size_t begin, std::size_t end, float* out, MemoryParts) {
      if (begin % 7 == 0 && end - begin == 7) ++whole;
      std::fill(out, out + (end - begin), static_cast<float>(begin));
    };
    const Tensor x = TensorAccess::lazy({100}, {7, compute});
    EXPECT_EQ(x.at({99}), 98.0F);
    EXPECT_EQ(x.at({50}), 49.0F);
    EXPECT_EQ(whole, 14) << threads;
  }
}

TEST(Tensor, LazyDataIsComputedBeforeAnyThreadWritesToItsSource) {
  const test::KeepThreads keep;
  set_num_threads(4);
  Tensor source = Tensor::ones({64});
  const auto copy_slowly = [&](std::size_t begin, std::size_t end, float* out, MemoryParts) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      out[i - begin] = source.data()[i];
    }
  };
  const Tensor lazy = TensorAccess::lazy({64}, {64, copy_slowly}, source);
  parallel_for(8, 1, [&](std::size_t begin, std::size_t /*end*/) {
    for (std::size_t i = 8 * begin; i < 8 * begin + 8; ++i) source.mutable_data()[i] = 5.0F;
  });
  EXPECT_EQ(TensorAccess::pending(lazy), nullptr);
  expect_tensor(lazy, {64}, std::vector<float>(64, 1.0F));
  expect_tensor(source, {64}, std::vector<float>(64, 5.0F));
}

TEST(Tensor, PartsOfALazyTensorAreNotPending) {
  std::atomic<std::size_t> computed = 0;
  const Tensor x = counting({4, 2}, 8, computed);
  const Tensor part = x.slice(2, 3);
  EXPECT_EQ(TensorAccess::pending(part), nullptr);
  EXPECT_EQ(part.at({0, 1}), 5.0F);
}

TEST(Tensor, BytesBecomeReals) {
  const auto bytes = std::make_shared<std::uint8_t[]>(6);
  for (std::size_t i = 0; i < 6; ++i) bytes.get()[i] = static_cast<std::uint8_t>(51 * i);
  Tensor x = TensorAccess::from_bytes({2, 3}, bytes);
  const Tensor view = x.reshape({6});
  EXPECT_EQ(TensorAccess::integers(view).as<std::uint8_t>(), bytes.get());
  EXPECT_EQ(TensorAccess::limits(x).min, 0.0F);
  EXPECT_EQ(TensorAccess::limits(x).max, 1.0F);
  EXPECT_EQ(TensorAccess::pending(x) == nullptr, false);
  EXPECT_EQ(x.at({1, 0}), 153.0F / 255.0F);
  EXPECT_EQ(TensorAccess::integers(view).as<std::uint8_t>(), bytes.get());
  x.mutable_data()[0] = 2.0F;
  EXPECT_EQ(TensorAccess::integers(view).as<std::uint8_t>(), nullptr);
  EXPECT_EQ(TensorAccess::limits(view).max, 2.0F);
}

TEST(Tensor, LimitsOfManyBytesAreFoundByAnyNumberOfThreads) {
  const test::KeepThreads keep;
  constexpr Index kCount = 500'003;
  for (const Index place : {Index{0}, Index{260'000}, kCount - 1}) {
    const auto bytes = allocate_array<std::uint8_t>(kCount);
    std::fill_n(bytes.get(), kCount, std::uint8_t{100});
    bytes[place] = 3;
    bytes[kCount - 1 - place] = 250;
    for (const int count : {1, 2, 5}) {
      set_num_threads(count);
      const MinMax limits = TensorAccess::limits(TensorAccess::from_bytes({kCount}, bytes));
      EXPECT_EQ(limits.min, 3.0F / 255.0F) << place;
      EXPECT_EQ(limits.max, 250.0F / 255.0F) << place;
    }
  }
}

TEST(Tensor, LimitsAreThoseOfTheDataAsItIs) {
  Tensor x = Tensor::from({4}, {1.0F, -2.0F, 5.0F, 0.0F});
  EXPECT_FALSE(TensorAccess::has_limits(x));
  EXPECT_EQ(TensorAccess::limits(x).min, -2.0F);
  EXPECT_TRUE(TensorAccess::has_limits(x));
  EXPECT_EQ(TensorAccess::limits(x.slice(2, 4)).min, 0.0F);
  x.mutable_data()[1] = 9.0F;
  EXPECT_FALSE(TensorAccess::has_limits(x));
  EXPECT_EQ(TensorAccess::limits(x).max, 9.0F);
  EXPECT_EQ(TensorAccess::limits(x).min, 0.0F);
  x.mutable_data()[0] = std::nanf("");
  EXPECT_FALSE(TensorAccess::limits(x).finite);
}

TEST(Tensor, LimitsAreMeasuredForThreadsThatAskAtOnce) {
  const test::KeepThreads keep;
  set_num_threads(4);
  for (std::uint64_t round = 0; round < 50; ++round) {
    const Tensor x = Tensor::uniform({1000}, Random(round));
    const auto expected = std::ranges::minmax(x.span());
    std::atomic<int> right = 0;
    parallel_for(8, 1, [&](std::size_t /*begin*/, std::size_t /*end*/) {
      const MinMax limits = TensorAccess::limits(x);
      if (limits.min == expected.min && limits.max == expected.max && limits.finite) ++right;
    });
    EXPECT_EQ(right, 8);
  }
}

TEST(Tensor, GradBelongsToAllHandles) {
  Tensor x = leaf(Tensor::scalar(3));
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): a second handle is what is tested.
  const Tensor handle = x;
  square(x).backward();
  EXPECT_EQ(handle.grad().item(), 6.0F);
  EXPECT_FALSE(x.clone().requires_grad());
}

}  // namespace
}  // namespace octet::test::tensor_test
