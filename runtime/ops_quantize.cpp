#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/runtime/kernel.h>

#include <tuple>

namespace octet::detail {
namespace {

/// Calls convert(begin, end) over the elements of `samples` samples: in any chunks where there is
/// one scale, sample by sample where the scale depends on the place.
template <class Convert>
void for_chunks(std::size_t samples, std::size_t size, bool per_channel, Convert&& convert) {
  if (per_channel) {
    parallel_for(samples, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) convert(i * size, (i + 1) * size);
    });
    return;
  }
  parallel_for(samples * size, kElementsPerChunk, convert);
}

/// What QUANTIZE and DEQUANTIZE know of their tensor of codes.
struct Codes {
  explicit Codes(const ModelTensor& tensor)
      : params(stored_params(tensor)),
        shape(tensor.shape.begin(), tensor.shape.end()),
        size(static_cast<std::size_t>(tensor.size())) {}

  QuantParams params;
  std::vector<std::int64_t> shape;
  std::size_t size;
};

template <class Code>
class Quantize final : public Kernel {
 public:
  explicit Quantize(const KernelSource& source)
      : codes_(source.output()), mode_(quantize_mode(source.rounding)) {}

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    const auto* x = reinterpret_cast<const float*>(in);
    auto* q = reinterpret_cast<Code*>(out);
    const bool per_channel = codes_.params.per_channel();
    for_chunks(static_cast<std::size_t>(samples), codes_.size, per_channel,
               [&](std::size_t begin, std::size_t end) {
                 const std::span from(x + begin, end - begin);
                 const std::span to(q + begin, end - begin);
                 if (per_channel) {
                   quantize(from, codes_.shape, codes_.params, to, mode_);
                 } else {
                   quantize(from, codes_.params, to, mode_);
                 }
               });
  }

 private:
  Codes codes_;
  RoundMode mode_;
};

template <class Code>
class Dequantize final : public Kernel {
 public:
  explicit Dequantize(const KernelSource& source) : codes_(source.input()) {}

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    const auto* q = reinterpret_cast<const Code*>(in);
    auto* x = reinterpret_cast<float*>(out);
    const bool per_channel = codes_.params.per_channel();
    for_chunks(static_cast<std::size_t>(samples), codes_.size, per_channel,
               [&](std::size_t begin, std::size_t end) {
                 const std::span from(q + begin, end - begin);
                 const std::span to(x + begin, end - begin);
                 if (per_channel) {
                   dequantize(from, codes_.shape, codes_.params, to);
                 } else {
                   dequantize(from, codes_.params, to);
                 }
               });
  }

 private:
  Codes codes_;
};

template <template <class> class Op>
std::unique_ptr<Kernel> make(DType codes, const KernelSource& source) {
  if (codes == DType::int8) return std::make_unique<Op<std::int8_t>>(source);
  if (codes == DType::uint8) return std::make_unique<Op<std::uint8_t>>(source);
  return std::make_unique<Op<std::int16_t>>(source);
}

}  // namespace

QuantParams stored_params(const ModelTensor& tensor) {
  QuantParams params = tensor.quantization;
  std::tie(params.qmin, params.qmax) = code_limits(tensor.dtype);
  return params;
}

std::unique_ptr<Kernel> make_quantize(const KernelSource& source) {
  return make<Quantize>(source.output().dtype, source);
}

std::unique_ptr<Kernel> make_dequantize(const KernelSource& source) {
  return make<Dequantize>(source.input().dtype, source);
}

}  // namespace octet::detail
