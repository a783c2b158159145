#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/samples_per_pass.h>

#include <algorithm>

namespace octet {
namespace {

constexpr std::size_t kPassBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostOfSample = std::size_t{1} << 30U;

}  // namespace

std::size_t samples_per_pass(std::string_view who, std::size_t sample_bytes, std::size_t most) {
  if (sample_bytes > kMostOfSample) {
    throw InvalidArgument(
        fmt::format("{}: one sample takes {} bytes of memory, more than the {} that are allowed",
                    who, sample_bytes, kMostOfSample));
  }
  const std::size_t fitting = kPassBytes / std::max<std::size_t>(sample_bytes, 1);
  return std::clamp<std::size_t>(fitting, 1, std::max<std::size_t>(most, 1));
}

}  // namespace octet
