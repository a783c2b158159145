#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/requantize.h>
#include <octet/runtime/operators/quantization.h>
#include <octet/tests/runtime/contract_oracle.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "draw_bytes.h"
#include "targets.h"

namespace octet::fuzz {
namespace {

using detail::ElementRequantizer;

oracle::Contract contract_of(Rounding rounding) {
  if (rounding == Rounding::fp32) return oracle::Contract::fp32;
  return rounding == Rounding::single_rounding ? oracle::Contract::single : oracle::Contract::twice;
}

std::int64_t int32_limits(std::int64_t x) { return std::clamp(x, oracle::kLeast, oracle::kMost); }

struct Scales {
  float in;
  std::vector<float> weights;
  float out;
};

std::int64_t expected(std::int32_t acc, const Scales& s, std::size_t channel, Rounding rounding) {
  const bool per_channel = s.weights.size() > 1;
  const float w = s.weights[per_channel ? channel : 0];
  const float product = s.in * w;
  const double wide = per_channel ? double{s.in} * double{w} : double{product};
  return int32_limits(
      oracle::rescale(acc, wide / double{s.out}, product / s.out, contract_of(rounding)));
}

std::optional<Requantizer> make(const Scales& s, Rounding rounding) {
  try {
    return Requantizer::fully_connected(s.in, s.weights, s.out, rounding);
  } catch (const InvalidArgument&) {
  } catch (const NumericError&) {
  }
  return std::nullopt;
}

void check_sums(DrawBytes& bytes, Rounding rounding) {
  Scales s{bytes.scale(), {}, bytes.scale()};
  for (int i = bytes.between(1, 5); i > 0; --i) s.weights.push_back(bytes.scale());
  const std::int32_t zero_point = bytes.value<std::int8_t>();
  const std::int32_t a = bytes.value<std::int8_t>();
  const std::int32_t b = bytes.value<std::int8_t>();
  const auto [lo, hi] = std::minmax(a, b);
  std::vector<std::int32_t> sums;
  while (!bytes.empty() && sums.size() < 64) sums.push_back(bytes.value<std::int32_t>());
  sums.resize((sums.size() + s.weights.size()) / s.weights.size() * s.weights.size());
  const auto requantizer = make(s, rounding);
  if (!requantizer) return;
  std::vector<std::int8_t> codes;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t channel = i % s.weights.size();
    const std::int64_t scaled = expected(sums[i], s, channel, rounding);
    require(requantizer->apply(sums[i], channel) == scaled, "apply() is the oracle's");
    codes.push_back(
        static_cast<std::int8_t>(std::clamp<std::int64_t>(scaled + zero_point, lo, hi)));
  }
  for (const KernelTable* table : available_kernels()) {
    force_kernels(table);
    std::vector<std::int8_t> found(sums.size());
    requantizer->requantize(sums, found, zero_point, lo, hi);
    require(found == codes, "every code path's requantize() is the oracle's");
  }
  force_kernels(nullptr);
}

void check_codes(DrawBytes& bytes, Rounding rounding) {
  const oracle::Quant in{bytes.scale(), bytes.value<std::int8_t>()};
  const oracle::Quant out{bytes.scale(), bytes.value<std::int8_t>()};
  const auto clamp = static_cast<oracle::Clamp>(bytes.between(0, 3));
  constexpr std::array kActivations = {FusedActivation::none, FusedActivation::relu,
                                       FusedActivation::relu6, FusedActivation::relu_n1_to_1};
  const auto from = QuantParams::per_tensor(in.scale, in.zero_point);
  const auto to = QuantParams::per_tensor(out.scale, out.zero_point);
  try {
    const bool quantize = clamp == oracle::Clamp::none;
    const auto requantizer = quantize
                                 ? ElementRequantizer::quantize(from, to, rounding)
                                 : ElementRequantizer::activation(
                                       kActivations[static_cast<std::size_t>(clamp)], from, to);
    const auto limits = oracle::limits_of(clamp, out);
    const float factor = in.scale / out.scale;
    for (int code = -128; code < 128; ++code) {
      const double steps = code - in.zero_point;
      const bool eight_bits =
          quantize && rounding == Rounding::fp32 && factor >= 1.0F / 256 && factor <= 128.0F;
      const std::int64_t scaled =
          eight_bits ? static_cast<std::int64_t>(
                           std::floor(steps * std::nearbyint(256.0F * factor) / 256 + 0.5))
                     : int32_limits(oracle::rescale(
                           code - in.zero_point,
                           quantize ? double{in.scale} / double{out.scale} : double{factor}, factor,
                           oracle::Contract::twice));
      require(requantizer.apply(code) ==
                  std::clamp<std::int64_t>(scaled + out.zero_point, limits.lo, limits.hi),
              "codes are rescaled as the oracle does");
    }
  } catch (const InvalidArgument&) {
  } catch (const NumericError&) {
  }
}

}  // namespace

void requantize(Data input) {
  DrawBytes bytes(input);
  const auto rounding = static_cast<Rounding>(bytes.between(0, 2));
  if (bytes.flag()) {
    check_codes(bytes, rounding);
  } else {
    check_sums(bytes, rounding);
  }
}

}  // namespace octet::fuzz
