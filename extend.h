#pragma once

// Beside octet.h, what layers, operators and quantizers of a program's own are made with.

#include <octet/core/language.h>

#include <octet/core/autograd.h>
#include <octet/core/gradcheck.h>
#include <octet/core/ops/fake_quant.h>
#include <octet/core/ops/ops.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/lowering.h>
#include <octet/layers/quantize/learned_quantizers.h>
#include <octet/layers/quantize/quantizer_registry.h>
