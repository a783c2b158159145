#pragma once

#include <octet/core/ops/activation.h>
#include <octet/core/ops/batch_norm.h>
#include <octet/core/ops/conv2d.h>
#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/fold_batch_norm.h>
#include <octet/core/ops/image_ops.h>
#include <octet/core/ops/linear.h>
#include <octet/core/ops/loss.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/ops/pool2d.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/resize.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/ops/transposed_conv2d.h>
