#pragma once

#include <octet/runtime/integer_model.h>

#include "draw_bytes.h"

namespace octet::fuzz {

/// A chain of a few operators, mostly sound, its types, shapes, scales and constants from `bytes`.
IntegerModel draw_model(DrawBytes& bytes);

}  // namespace octet::fuzz
