#include <fmt/core.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/data/fingerprint.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace octet {
namespace {

static_assert(std::endian::native == std::endian::little, "XXH64 reads little-endian words");

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87U;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FU;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9U;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63U;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5U;
/// Bytes of examples that are hashed as one piece.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint64_t mix(std::uint64_t sum, std::uint64_t word) {
  return std::rotl(sum + word * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t sum) {
  return (hash ^ mix(0, sum)) * kPrime1 + kPrime4;
}

/// The sums of all whole stripes of 32 bytes, which are taken off `bytes`.
std::uint64_t hash_stripes(std::span<const std::uint8_t>& bytes) {
  constexpr std::size_t kStripe = 32;
  if (bytes.size() < kStripe) return kPrime5;
  std::array<std::uint64_t, 4> sums = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = mix(sums[i], load<std::uint64_t>(bytes.data() + 8 * i));
    }
  }
  std::uint64_t hash = std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) +
                       std::rotl(sums[3], 18);
  for (const std::uint64_t sum : sums) hash = merge(hash, sum);
  return hash;
}

template <class T>
std::span<const std::uint8_t> bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

/// Whether features are bytes, in memory or as a reader gives them.
bool are_bytes(const Dataset& data) {
  if (!data.is_read()) return !data.bytes().empty();
  return !data.empty() && data.features(0, 1).dtype() == DType::uint8;
}

/// Pieces of examples, each of about kPieceBytes.
std::vector<std::uint64_t> hash_examples(const Dataset& data) {
  const bool has_bytes = are_bytes(data);
  const auto example_bytes = static_cast<std::size_t>(data.example_shape().size()) *
                             (has_bytes ? sizeof(std::uint8_t) : sizeof(float));
  const std::size_t rows = std::max<std::size_t>(kPieceBytes / example_bytes, 1);
  std::vector<std::uint64_t> hashes((data.size() + rows - 1) / rows);
  const auto hash_piece = [&](std::size_t i) {
    const std::size_t begin = i * rows;
    const std::size_t end = std::min(begin + rows, data.size());
    if (!data.bytes().empty()) {
      const std::size_t count = (end - begin) * example_bytes;
      hashes[i] = xxh64(data.bytes().subspan(begin * example_bytes, count));
      return;
    }
    const Tensor features = data.features(begin, end);
    const detail::StoredIntegers pixels = detail::TensorAccess::integers(features);
    hashes[i] = has_bytes ? xxh64({pixels.as<std::uint8_t>(), (end - begin) * example_bytes})
                          : xxh64(bytes_of(features.span()));
  };
  if (data.is_read()) {
    // A reader, which is called by one thread at a time, may use all.
    for (std::size_t i = 0; i < hashes.size(); ++i) hash_piece(i);
  } else {
    parallel_tasks(hashes.size(), hash_piece);
  }
  return hashes;
}

std::string fingerprint_of(const Dataset& data, std::span<const float> weights) {
  std::vector<std::uint64_t> parts(data.example_shape().begin(), data.example_shape().end());
  parts.push_back(static_cast<std::uint64_t>(data.classes()));
  // Bytes are the floats byte / 255, but nobody takes one set for the other.
  const std::string identity = data.identity();
  const bool reads_all = identity.empty() && !data.labels_are_read();
  parts.push_back(reads_all && are_bytes(data) ? 1 : 0);
  if (data.is_read() && !reads_all) {
    parts.push_back(data.size());
    parts.push_back(xxh64(bytes_of(std::span<const char>(identity))));
    return fmt::format("{:016x}", xxh64(bytes_of(std::span<const std::uint64_t>(parts))));
  }
  if (data.has_labels()) {
    parts.push_back(xxh64(bytes_of(data.labels())));
  } else {
    parts.insert(parts.end(), data.target_shape().begin(), data.target_shape().end());
    const Targets targets = data.targets(0, data.size());
    parts.push_back(xxh64(bytes_of(targets.values().span())));
  }
  if (!weights.empty()) parts.push_back(xxh64(bytes_of(weights)));
  const auto add_tensor = [&](const Tensor& tensor) {
    parts.insert(parts.end(), tensor.shape().begin(), tensor.shape().end());
    parts.push_back(xxh64(bytes_of(tensor.span())));
  };
  if (data.inputs() > 1 || data.outputs() > 1) {
    const Batch all = data.batch(0, data.size());
    std::ranges::for_each(all.more_features, add_tensor);
    for (const Targets& targets : all.more_targets) {
      if (targets.are_labels()) {
        parts.push_back(xxh64(bytes_of(std::span<const std::int32_t>(targets.labels()))));
      } else {
        add_tensor(targets.values());
      }
    }
  }
  const std::vector<std::uint64_t> examples =
      data.empty() ? decltype(parts){} : hash_examples(data);
  parts.insert(parts.end(), examples.begin(), examples.end());
  return fmt::format("{:016x}", xxh64(bytes_of(std::span<const std::uint64_t>(parts))));
}

}  // namespace

std::uint64_t xxh64(std::span<const std::uint8_t> bytes) {
  const std::size_t size = bytes.size();
  std::uint64_t hash = hash_stripes(bytes) + size;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    hash = std::rotl(hash ^ mix(0, load<std::uint64_t>(bytes.data())), 27) * kPrime1 + kPrime4;
  }
  if (bytes.size() >= 4) {
    const std::uint64_t word = load<std::uint32_t>(bytes.data());
    hash = std::rotl(hash ^ (word * kPrime1), 23) * kPrime2 + kPrime3;
    bytes = bytes.subspan(4);
  }
  for (const std::uint8_t byte : bytes) hash = std::rotl(hash ^ (byte * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33U)) * kPrime2;
  hash = (hash ^ (hash >> 29U)) * kPrime3;
  return hash ^ (hash >> 32U);
}

std::string fingerprint(const Dataset& data) { return fingerprint_of(data, data.sample_weights()); }

std::string unweighted_fingerprint(const Dataset& data) { return fingerprint_of(data, {}); }

}  // namespace octet
