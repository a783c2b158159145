#pragma once

#include <octet/core/window.h>
#include <octet/deploy/c/plan.h>

#include <cstdint>
#include <string>
#include <vector>

// C functions that layers of sums share, with paths for processors that the preprocessor chooses.

namespace octet::detail {

/// Bytes that a kernel works in, for sums of `depth` products; `window` counts for depthwise alone.
std::int64_t c_scratch_bytes(CKernel kernel, std::int64_t depth, const Window& window);

/// The macros and types that constants and kernels need; empty where no layer calls a kernel.
std::string c_paths(const CPlan& plan, const std::vector<CLayer>& layers);

/// The kernels that layers call, in the order that C needs.
std::string c_kernels(const CPlan& plan, const std::vector<CLayer>& layers);

}  // namespace octet::detail
