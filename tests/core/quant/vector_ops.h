#pragma once

#include <map>
#include <string>

#include <octet/tests/core/quant/vectors.h>

namespace octet::test {

/// Runs one vector and checks the outcome.
using VectorRunner = void (*)(const Vector&);

/// Runners by operation: fake quantization.
std::map<std::string, VectorRunner> fake_quant_runners();
/// Fixed-point arithmetic and the choice of parameters.
std::map<std::string, VectorRunner> arithmetic_runners();
/// Operators on integer tensors, through naive loops and Octet's functions.
std::map<std::string, VectorRunner> operator_runners();

}  // namespace octet::test
