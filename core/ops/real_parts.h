#pragma once

#include <octet/core/quant/quantize.h>
#include <octet/core/tensor.h>
#include <octet/core/tensor_internal.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace octet::detail {

/// The real values of a tensor, for loops that read them part by part: those of int8 are computed
/// where they are read, and take no memory.
class RealParts {
 public:
  /// The most elements that read() gives at once: they stay in the first-level cache.
  static constexpr std::size_t kMost = 1024;

  explicit RealParts(const Tensor& x) : stored_(TensorAccess::integers(x)) {
    codes_ = stored_.as<std::int8_t>();
    params_ = codes_ == nullptr ? nullptr : x.quantization();
    if (params_ == nullptr || params_->per_channel()) {
      codes_ = nullptr;
      data_ = x.data();
    }
  }

  /// Whether read() computes.
  bool computes() const { return codes_ != nullptr; }
  /// Where the elements [begin, end) lie: in x, or in `memory`, to which they are then written.
  const float* read(std::size_t begin, std::size_t end, float* memory) const {
    if (codes_ == nullptr) return data_ + begin;
    dequantize(std::span(codes_ + begin, end - begin), *params_, {memory, end - begin});
    return memory;
  }

 private:
  StoredIntegers stored_;
  std::shared_ptr<const QuantParams> params_;
  const std::int8_t* codes_ = nullptr;
  /// Where `codes_` is null. The tensor has to live as long.
  const float* data_ = nullptr;
};

}  // namespace octet::detail
