#pragma once

#include <octet/core/quant/code_mean.h>
#include <octet/core/window.h>
#include <octet/runtime/operators/definitions.h>

// MEAN: of the pixels of images [n, height, width, channels], channel by channel. The axes, 1 and
// 2, are a constant second input. Input and output have grids of their own.

namespace octet::detail {

/// The window that is the whole image.
Window mean_window(const Operands& operands);

/// The arithmetic of an int8 MEAN; CodeMean says which contract rounds how.
CodeMean code_mean(const KernelSource& source);

}  // namespace octet::detail
