#pragma once

#include <octet/train/data/dataset.h>

#include <cstdint>
#include <span>
#include <string>

namespace octet {

/// XXH64 (Y. Collet, the xxHash specification) with seed 0: fast, and not made against forgery.
std::uint64_t xxh64(std::span<const std::uint8_t> bytes);

/// 16 hexadecimal digits that tell data sets of other contents apart: XXH64 of the shape of an
/// example, the number of classes, the labels or targets, and the XXH64 of every piece of examples.
/// Whatever the name, equal examples in the same order have the same fingerprint, on any number of
/// threads. Of a set that is read: of its shape, classes, size and DatasetReader::identity(); but
/// where that is empty and the reader knows all labels, as of a set in memory, whose fingerprint it
/// has: all examples are read, a piece at a time.
std::string fingerprint(const Dataset& data);

/// As fingerprint(), but equal for sets that differ in their sample weights alone.
std::string unweighted_fingerprint(const Dataset& data);

}  // namespace octet
