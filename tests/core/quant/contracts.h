#pragma once

#include <gtest/gtest.h>
#include <octet/core/quant/rounding.h>

#include <array>
#include <string>

namespace octet::test {

/// The rounding modes of int8.
inline constexpr std::array kContracts = {Rounding::fp32, Rounding::single_rounding,
                                          Rounding::double_rounding};

/// Names the tests of a suite that runs once per rounding mode.
inline std::string contract_name(const ::testing::TestParamInfo<Rounding>& contract) {
  return std::string(to_string(contract.param));
}

}  // namespace octet::test
