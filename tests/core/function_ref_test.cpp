#include <gtest/gtest.h>
#include <octet/core/function_ref.h>

#include <concepts>
#include <memory>
#include <string>

namespace octet::test::function_ref_test {
namespace {

int twice(int x) { return 2 * x; }

int call(FunctionRef<int(int)> function) { return function(21); }

TEST(FunctionRef, CallsWhatItRefersTo) {
  const int offset = 1;
  const auto constant = [&](int x) { return x + offset; };
  EXPECT_EQ(call(constant), 22);
  EXPECT_EQ(call([](int x) { return x * x; }), 441);
  EXPECT_EQ(call(&twice), 42);
  int calls = 0;
  auto counting = [calls](int) mutable { return ++calls; };
  EXPECT_EQ(call(counting), 1);
  // The very object, not a copy.
  EXPECT_EQ(call(counting), 2);
}

TEST(FunctionRef, ACopyRefersToTheCallableNotToTheOriginal) {
  const auto one = [](int) { return 1; };
  const auto two = [](int) { return 2; };
  FunctionRef<int(int)> first = one;
  FunctionRef<int(int)> copy = first;
  first = two;
  EXPECT_EQ(copy(0), 1);
  EXPECT_EQ(first(0), 2);
}

TEST(FunctionRef, PassesArgumentsOnAsTheyAre) {
  int value = 3;
  FunctionRef<int&(int&)> same = [](int& x) -> int& { return x; };
  EXPECT_EQ(&same(value), &value);
  const auto take = [](std::unique_ptr<int> x) { return *x; };
  FunctionRef<int(std::unique_ptr<int>)> taker = take;
  EXPECT_EQ(taker(std::make_unique<int>(7)), 7);
}

TEST(FunctionRef, LeavesAResultThatNobodyWants) {
  int calls = 0;
  const auto counting = [&] { return ++calls; };
  const FunctionRef<void()> run = counting;
  run();
  EXPECT_EQ(calls, 1);
}

TEST(FunctionRef, KnowsWhetherItRefersToAnything) {
  EXPECT_FALSE(FunctionRef<void()>());
  const auto nothing = [] {};
  EXPECT_TRUE(FunctionRef<void()>(nothing));
}

TEST(FunctionRef, TakesOnlyWhatCanBeCalled) {
  EXPECT_FALSE((std::convertible_to<std::string, FunctionRef<void()>>));
  EXPECT_FALSE((std::convertible_to<decltype(&twice), FunctionRef<int(std::string)>>));
  EXPECT_TRUE((std::convertible_to<decltype(&twice), FunctionRef<int(int)>>));
}

}  // namespace
}  // namespace octet::test::function_ref_test
