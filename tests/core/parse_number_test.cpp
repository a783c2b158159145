// Numbers of texts, with every standard library alike.

#include <gtest/gtest.h>
#include <octet/core/parse_number.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace octet::test::parse_number_test {
namespace {

constexpr auto kFine = std::errc();
constexpr auto kNone = std::errc::invalid_argument;
constexpr auto kRange = std::errc::result_out_of_range;

/// The error of a text that is no number, which changes nothing.
template <class Number>
std::errc error_of(std::string_view text) {
  Number value = 7;
  const std::errc error = parse_number(text, value);
  if (error != kFine) {
    EXPECT_EQ(value, 7) << text;
  }
  return error;
}

TEST(ParseNumber, RealNumbersAreTheNearest) {
  const auto of = [](std::string_view text) {
    double value = 7;
    EXPECT_EQ(parse_number(text, value), kFine) << text;
    float narrow = 7;
    EXPECT_EQ(parse_number(text, narrow), kFine) << text;
    EXPECT_EQ(narrow, static_cast<float>(value)) << text;
    return value;
  };
  EXPECT_EQ(of("1.5"), 1.5);
  EXPECT_EQ(of("-2"), -2.0);
  EXPECT_EQ(of("-.5e1"), -5.0);
  EXPECT_EQ(of("12."), 12.0);
  EXPECT_EQ(of("0.1"), 0.1);
  EXPECT_EQ(of("0e9"), 0.0);
  EXPECT_EQ(of("0.000"), 0.0);
  EXPECT_TRUE(std::signbit(of("-0")));
  EXPECT_EQ(of("16777217"), 16777217.0);
  EXPECT_EQ(of("inf"), std::numeric_limits<double>::infinity());
  double nan = 0;
  EXPECT_EQ(parse_number("nan", nan), kFine);
  EXPECT_TRUE(std::isnan(nan));
}

TEST(ParseNumber, OtherTextsAreNone) {
  for (const std::string text : {"", " ", "+1", " 1", "1 ", "1,5", "1.5x", "x", "-", ".", "1e",
                                 "0x10", "-0x1p3", "--1", "1e5e", "e5"}) {
    EXPECT_EQ(error_of<double>(text), kNone) << '"' << text << '"';
    EXPECT_EQ(error_of<float>(text), kNone) << '"' << text << '"';
  }
  EXPECT_EQ(error_of<double>(std::string_view("1\0", 2)), kNone);
  // A part of a longer text.
  EXPECT_EQ(error_of<double>(std::string_view("12x").substr(0, 2)), kFine);
}

TEST(ParseNumber, WhatDoesNotFitIsSaid) {
  EXPECT_EQ(error_of<double>("1e999"), kRange);
  EXPECT_EQ(error_of<double>("-1e-999"), kRange);
  EXPECT_EQ(error_of<float>("1e39"), kRange);
  EXPECT_EQ(error_of<float>("1e-60"), kRange);
  EXPECT_EQ(error_of<double>("1e-60"), kFine);
  EXPECT_EQ(error_of<std::int8_t>("128"), kRange);
  EXPECT_EQ(error_of<std::int8_t>("-128"), kFine);
  EXPECT_EQ(error_of<std::uint64_t>("18446744073709551616"), kRange);
}

TEST(ParseNumber, WholeNumbersAreWhole) {
  for (const std::string_view text : {"", "+1", " 1", "1.0", "1x", "0x1"}) {
    EXPECT_EQ(error_of<int>(text), kNone) << text;
  }
  EXPECT_EQ(error_of<unsigned>("-1"), kNone);
  int value = 0;
  EXPECT_EQ(parse_number("-0012", value), kFine);
  EXPECT_EQ(value, -12);
}

}  // namespace
}  // namespace octet::test::parse_number_test
