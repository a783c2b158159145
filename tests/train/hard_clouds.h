#pragma once

#include <octet/tests/train/training.h>

#include <cstddef>

namespace octet::test {

/// Clouds that overlap.
inline Dataset hard_clouds(std::size_t count = 300) { return clouds(count, 1, 6, 3, 0.8F); }

}  // namespace octet::test
