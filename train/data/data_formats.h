#pragma once

#include <octet/train/data/data_format.h>

#include <span>

namespace octet {

/// All formats. No two recognize the same path.
std::span<const DataFormat> data_formats();

}  // namespace octet
