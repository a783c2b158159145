#pragma once

#include <cstddef>
#include <string_view>

namespace octet {

/// How many samples go through a network at a time: `most`, or fewer where they would take more
/// than 64 MiB, `sample_bytes` each; one at least. Throws InvalidArgument, which names `who`, where
/// a single one takes more than 1 GiB: shapes in a small file can ask for that.
std::size_t samples_per_pass(std::string_view who, std::size_t sample_bytes, std::size_t most);

}  // namespace octet
