#pragma once

#include <octet/train/distributed/process_group.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace octet {

// What the ranks of a group say to each other beside gradients. All ranks call each function.

/// The bytes of rank 0.
std::vector<std::uint8_t> broadcast_bytes(ProcessGroup& group, std::vector<std::uint8_t> bytes);
std::string broadcast_text(ProcessGroup& group, const std::string& text);
bool broadcast_flag(ProcessGroup& group, bool flag);

/// The bytes of all ranks, by rank, on every rank.
std::vector<std::vector<std::uint8_t>> gather_bytes(ProcessGroup& group,
                                                    const std::vector<std::uint8_t>& bytes);

/// What has to be the same on all ranks, by name: a value, or a digest of it.
using Facts = std::map<std::string, std::string>;

/// Throws InvalidArgument on all ranks that names rank, host and what differs, unless the facts of
/// every rank are those of rank 0.
void require_same(ProcessGroup& group, const Facts& facts);

/// A digest of this very program: ranks of other builds would compute other bytes.
std::string program_digest();

}  // namespace octet
