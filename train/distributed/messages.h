#pragma once

#include <octet/core/function_ref.h>
#include <octet/train/distributed/process_group.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace octet {

// What the ranks of a group say to each other beside gradients. All ranks call each function.

/// The bytes of rank 0.
std::vector<std::uint8_t> broadcast_bytes(ProcessGroup& group, std::vector<std::uint8_t> bytes);
std::string broadcast_text(ProcessGroup& group, const std::string& text);
bool broadcast_flag(ProcessGroup& group, bool flag);

/// The bytes of all ranks, by rank, on rank 0; nothing on others.
std::vector<std::vector<std::uint8_t>> gather_bytes_on_root(ProcessGroup& group,
                                                            const std::vector<std::uint8_t>& bytes);

/// The bytes of all ranks, by rank, on every rank.
std::vector<std::vector<std::uint8_t>> gather_bytes(ProcessGroup& group,
                                                    const std::vector<std::uint8_t>& bytes);

/// The values of all ranks, those of rank 0 first.
template <class T>
requires std::is_trivially_copyable_v<T> std::vector<T> gather_values(ProcessGroup& group,
                                                                      const std::vector<T>& own) {
  if (group.size() == 1) return own;
  std::vector<std::uint8_t> bytes(sizeof(T) * own.size());
  if (!own.empty()) std::memcpy(bytes.data(), own.data(), bytes.size());
  std::vector<T> all;
  for (const auto& part : gather_bytes(group, bytes)) {
    if (part.empty()) continue;
    const std::size_t old = all.size();
    all.resize(old + part.size() / sizeof(T));
    std::memcpy(all.data() + old, part.data(), part.size());
  }
  return all;
}

/// `count` results of `width` numbers each, one behind the other, on every rank: compute(i, result)
/// writes result i. Each is computed by one rank, i by rank i mod size, so that they are those of
/// one process where compute() depends on i alone.
std::vector<double> share_out(ProcessGroup& group, std::size_t count, std::size_t width,
                              FunctionRef<void(std::size_t i, std::span<double> result)> compute);

/// What has to be the same on all ranks, by name: a value, or a digest of it.
using Facts = std::map<std::string, std::string>;

/// Throws InvalidArgument on all ranks that names rank, host and what differs, unless the facts of
/// every rank are those of rank 0.
void require_same(ProcessGroup& group, const Facts& facts);

/// A digest of this very program: ranks of other builds would compute other bytes.
std::string program_digest();

}  // namespace octet
