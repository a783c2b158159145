#pragma once

#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

// Operators that make each element of the output from one of the input: LEAKY_RELU, HARD_SWISH,
// LOGISTIC, RELU, RELU6, RELU_N1_TO_1 and TANH in unary.cpp, ELU, EXP, GELU, LOG, RSQRT and SQRT in
// function_tables.cpp, QUANTIZE in quantization.cpp.

namespace octet::detail {

/// output[i] = function(input[i]).
template <class From, class To, class Function>
class Map final : public Kernel {
 public:
  Map(std::int64_t size, Function function)
      : size_(static_cast<std::size_t>(size)), function_(std::move(function)) {}

  void run(const KernelArguments& a) const override {
    parallel_for(static_cast<std::size_t>(a.samples) * size_, kElementsPerChunk,
                 [&](std::size_t begin, std::size_t end) {
                   // Locals: a byte that is written might otherwise be one of these pointers.
                   const Function& function = function_;
                   const From* const x = a.input<From>();
                   To* const y = a.to<To>();
                   for (std::size_t i = begin; i < end; ++i) y[i] = function(x[i]);
                 });
  }

 private:
  std::size_t size_;
  Function function_;
};

template <class Function>
std::unique_ptr<Kernel> make_float_map(const KernelSource& source, Function function) {
  return std::make_unique<Map<float, float, Function>>(source.input().size(), std::move(function));
}

/// The kernel of an operator on single bytes: its table.
std::unique_ptr<Kernel> make_byte_map(const KernelSource& source);

/// The table of `function`, which takes a code of the input's type and gives one of the output's.
template <class Function>
ByteTable tabulate(const KernelSource& source, Function&& function) {
  const std::int32_t lowest = integer_limits(source.input().dtype).first;
  ByteTable table{};
  for (std::int32_t i = 0; i < 256; ++i) {
    const std::int32_t code = lowest + i;
    table[static_cast<std::uint8_t>(code)] = static_cast<std::uint8_t>(function(code));
  }
  return table;
}

/// The activation that the operator is.
FusedActivation relu_activation(OpCode code);

}  // namespace octet::detail
