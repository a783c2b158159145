#include <fmt/core.h>
#include <octet/core/arithmetic/small_round.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/train/distributed/gradient_codes.h>
#include <octet/train/distributed/gradient_format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace octet {

std::string_view to_string(GradientFormat format) {
  switch (format) {
    case GradientFormat::float32:
      return "float32";
    case GradientFormat::int8:
      return "int8";
  }
  throw InvalidArgument("GradientFormat: a value outside the enumeration");
}

GradientFormat parse_gradient_format(std::string_view name) {
  for (const GradientFormat format : {GradientFormat::float32, GradientFormat::int8}) {
    if (name == to_string(format)) return format;
  }
  throw InvalidArgument(fmt::format("gradients: expected float32 or int8, found '{}'", name));
}

namespace detail {
namespace {

constexpr float kMostCode = 127.0F;
/// Below that 127 / magnitude may overflow: such a block is all error until it has grown.
constexpr float kLeastMagnitude = 1e-30F;
constexpr std::uint32_t kMagnitudeBits = 0x7FFFFFFFU;

using Codes = std::array<std::int8_t, GradientBlocks::kMost>;
using Floats = std::array<float, GradientBlocks::kMost>;

/// By their bits, which order NaN above infinity.
float largest_magnitude(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & kMagnitudeBits);
  }
  return std::bit_cast<float>(largest);
}

/// Returns the scale.
float code_block(std::span<const float> values, std::span<float> errors, std::int8_t* codes) {
  Floats sums;
  for (std::size_t i = 0; i < values.size(); ++i) sums[i] = values[i] + errors[i];
  const auto wanted = std::span(sums).first(values.size());
  const float largest = largest_magnitude(wanted);
  if (!std::isfinite(largest)) {
    std::fill_n(codes, values.size(), std::int8_t{0});
    std::ranges::fill(errors, 0.0F);
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (largest < kLeastMagnitude) {
    std::fill_n(codes, values.size(), std::int8_t{0});
    std::ranges::copy(wanted, errors.begin());
    return 0.0F;
  }
  const float scale = largest / kMostCode;
  const float inverse = kMostCode / largest;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const float code = small::round_half_even(wanted[i] * inverse);
    codes[i] = static_cast<std::int8_t>(code);
    errors[i] = wanted[i] - code * scale;
  }
  return scale;
}

void decode_block(std::span<const std::int8_t> codes, float scale, float* to, Decoded decoded) {
  if (decoded == Decoded::replaces) {
    for (std::size_t i = 0; i < codes.size(); ++i) to[i] = static_cast<float>(codes[i]) * scale;
  } else {
    for (std::size_t i = 0; i < codes.size(); ++i) to[i] += static_cast<float>(codes[i]) * scale;
  }
}

/// Calls run(i, elements) for the blocks, shared out among threads; i and elements count from the
/// first of them.
template <class Run>
void each_block(const GradientBlocks& all, IndexRange blocks, const Run& run) {
  const std::size_t first = all.elements_of(blocks).begin;
  const std::size_t least = parallel_grain(Work::map_floats, GradientBlocks::kMost);
  parallel_for(blocks.size(), thread_share(blocks.size(), least),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const IndexRange elements = all.elements_of(blocks.begin + i);
                   run(i, IndexRange{elements.begin - first, elements.end - first});
                 }
               });
}

}  // namespace

GradientBlocks::GradientBlocks(std::span<const std::size_t> sizes) : begins_{0} {
  for (const std::size_t size : sizes) {
    const std::size_t end = begins_.back() + size;
    while (begins_.back() < end) begins_.push_back(std::min(begins_.back() + kMost, end));
  }
}

void code_gradients(const GradientBlocks& all, IndexRange blocks, std::span<const float> values,
                    std::span<float> errors, std::span<std::byte> message, float* to,
                    Decoded decoded) {
  const std::size_t scales_bytes = sizeof(float) * blocks.size();
  each_block(all, blocks, [&](std::size_t i, IndexRange elements) {
    Codes memory;
    const auto codes = std::span(memory).first(elements.size());
    const float scale = code_block(values.subspan(elements.begin, elements.size()),
                                   errors.subspan(elements.begin, elements.size()), codes.data());
    if (!message.empty()) {
      std::memcpy(message.data() + sizeof(float) * i, &scale, sizeof(scale));
      std::memcpy(message.data() + scales_bytes + elements.begin, codes.data(), codes.size());
    }
    if (to != nullptr) decode_block(codes, scale, to + elements.begin, decoded);
  });
}

void decode_gradients(const GradientBlocks& all, IndexRange blocks,
                      std::span<const std::byte> message, float* to, Decoded decoded) {
  const std::byte* codes = message.data() + sizeof(float) * blocks.size();
  each_block(all, blocks, [&](std::size_t i, IndexRange elements) {
    float scale = 0.0F;
    std::memcpy(&scale, message.data() + sizeof(float) * i, sizeof(scale));
    const auto* first = reinterpret_cast<const std::int8_t*>(codes + elements.begin);
    decode_block({first, elements.size()}, scale, to + elements.begin, decoded);
  });
}

}  // namespace detail
}  // namespace octet
