#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/quant/target.h>
#include <octet/tests/core/thrown.h>

namespace octet::test::target_test {
namespace {

TEST(Target, NamesAreReadBack) {
  for (const Target target : kTargets) EXPECT_EQ(parse_target(to_string(target)), target);
  EXPECT_EQ(parse_target("cmsis-nn"), Target::cmsis_nn);
}

TEST(Target, ChoosesTheContractOfTheRuntime) {
  EXPECT_EQ(contract_of(Target::litert), Rounding::fp32);
  EXPECT_EQ(contract_of(Target::onnxruntime), Rounding::fp32);
  EXPECT_EQ(contract_of(Target::tflm), Rounding::double_rounding);
  EXPECT_EQ(contract_of(Target::cmsis_nn), Rounding::double_rounding);
}

TEST(Target, AnUnknownNameListsAll) {
  for (const char* name : {"", "LiteRT", "tflite", "cmsis_nn", "litert "}) {
    SCOPED_TRACE(name);
    expect_throws<InvalidArgument>(
        [&] { static_cast<void>(parse_target(name)); },
        {"one of litert, tflm, cmsis-nn, onnxruntime", "found \"" + std::string(name) + "\""});
  }
}

TEST(Target, AContractThatContradictsIsRefused) {
  EXPECT_NO_THROW(require_contract(Target::tflm, Rounding::double_rounding));
  EXPECT_NO_THROW(require_contract(Target::litert, Rounding::fp32));
  for (const Rounding rounding : {Rounding::fp32, Rounding::single_rounding}) {
    expect_throws<InvalidArgument>(
        [&] { require_contract(Target::tflm, rounding); },
        {"target tflm", "rounding mode double", std::string(to_string(rounding))});
  }
}

}  // namespace
}  // namespace octet::test::target_test
