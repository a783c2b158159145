#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/code_requantize.h>
#include <octet/core/quant/lut.h>
#include <octet/core/quant/softmax.h>
#include <octet/runtime/kernel.h>

#include <array>
#include <cstring>

namespace octet::detail {
namespace {

/// Any function of one byte, as a table by the code's bits: RELU, LOGISTIC, QUANTIZE of codes, ...
class ByteTable final : public Kernel {
 public:
  ByteTable(std::int64_t size, const std::array<std::uint8_t, 256>& table)
      : size_(static_cast<std::size_t>(size)), table_(table) {}

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    const auto* from = reinterpret_cast<const std::uint8_t*>(in);
    auto* to = reinterpret_cast<std::uint8_t*>(out);
    parallel_for(static_cast<std::size_t>(samples) * size_, kElementsPerChunk,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) to[i] = table_[from[i]];
                 });
  }

 private:
  std::size_t size_;
  std::array<std::uint8_t, 256> table_;
};

template <class Function>
std::array<std::uint8_t, 256> tabulate(DType input, Function&& function) {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits) {
    const auto code = input == DType::int8
                          ? std::int32_t{static_cast<std::int8_t>(static_cast<std::uint8_t>(bits))}
                          : static_cast<std::int32_t>(bits);
    table[bits] = static_cast<std::uint8_t>(function(code));
  }
  return table;
}

class Softmax final : public Kernel {
 public:
  explicit Softmax(const KernelSource& source)
      : row_(static_cast<std::size_t>(source.input().shape.empty() ? 1
                                                                   : source.input().shape.back())),
        rows_(static_cast<std::size_t>(source.input().size()) / row_),
        softmax_(SoftmaxInt8::make(source.input().quantization.scales[0], source.op.beta,
                                   source.rounding)) {
    if (source.rounding != Rounding::fp32 && row_ > SoftmaxInt8::kMaxFixedPointRow) {
      throw FormatError(fmt::format("rows of {} are longer than the {} that contract {} allows",
                                    row_, SoftmaxInt8::kMaxFixedPointRow,
                                    to_string(source.rounding)));
    }
  }

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    const auto* x = reinterpret_cast<const std::int8_t*>(in);
    auto* y = reinterpret_cast<std::int8_t*>(out);
    parallel_for(static_cast<std::size_t>(samples) * rows_, kRowsPerChunk,
                 [&](std::size_t begin, std::size_t end) {
                   const std::size_t size = (end - begin) * row_;
                   softmax_.run_rows(std::span(x + begin * row_, size),
                                     std::span(y + begin * row_, size), row_);
                 });
  }

 private:
  std::size_t row_;
  std::size_t rows_;
  SoftmaxInt8 softmax_;
};

class Copy final : public Kernel {
 public:
  explicit Copy(const ModelTensor& tensor)
      : bytes_(static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype)) {}

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    std::memcpy(out, in, static_cast<std::size_t>(samples) * bytes_);
  }

 private:
  std::size_t bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax(const KernelSource& source) {
  return std::make_unique<Softmax>(source);
}

std::array<std::uint8_t, 256> byte_table(const KernelSource& source) {
  const DType type = source.input().dtype;
  const QuantParams in = stored_params(source.input());
  const QuantParams out = stored_params(source.output());
  const auto look_up = [](const Int8Lut& lut) {
    return [lut](std::int32_t code) { return lut(static_cast<std::int8_t>(code)); };
  };
  if (source.op.code == OpCode::logistic) {
    return tabulate(type, look_up(Int8Lut::logistic(in.scale(), in.zero_point())));
  }
  if (source.op.code == OpCode::tanh) {
    return tabulate(type, look_up(Int8Lut::tanh(in.scale(), in.zero_point())));
  }
  const auto requantizer =
      source.op.code == OpCode::quantize
          ? CodeRequantizer::quantize(in, out, source.rounding)
          : CodeRequantizer::activation(activation_of(source.op.code), in, out);
  return tabulate(type, [&](std::int32_t code) { return requantizer.apply(code); });
}

std::unique_ptr<Kernel> make_byte_table(const KernelSource& source) {
  return std::make_unique<ByteTable>(source.input().size(), byte_table(source));
}

FusedActivation activation_of(OpCode code) {
  switch (code) {
    case OpCode::relu:
      return FusedActivation::relu;
    case OpCode::relu6:
      return FusedActivation::relu6;
    case OpCode::relu_n1_to_1:
      return FusedActivation::relu_n1_to_1;
    default:
      return FusedActivation::none;
  }
}

std::unique_ptr<Kernel> make_kernel(const KernelSource& source) {
  const bool floats = source.input().dtype == DType::float32;
  switch (source.op.code) {
    case OpCode::quantize:
      return floats ? make_quantize(source) : make_byte_table(source);
    case OpCode::dequantize:
      return make_dequantize(source);
    case OpCode::reshape:
      return std::make_unique<Copy>(source.input());
    case OpCode::conv_2d:
    case OpCode::fully_connected:
      return floats ? make_float(source) : make_fully_connected(source);
    case OpCode::softmax:
      return floats ? make_float(source) : make_softmax(source);
    default:
      return floats ? make_float(source) : make_byte_table(source);
  }
}

}  // namespace octet::detail
