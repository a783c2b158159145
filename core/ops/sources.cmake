target_sources(octet PRIVATE
  gradcheck.cpp
  ops/activation.cpp
  ops/batch_norm.cpp
  ops/conv2d.cpp
  ops/depthwise_conv2d.cpp
  ops/elementwise.cpp
  ops/fold_batch_norm.cpp
  ops/image_ops.cpp
  ops/linear.cpp
  ops/loss.cpp
  ops/matmul.cpp
  ops/partial_sums.cpp
  ops/pool2d.cpp
  ops/reduce.cpp
  ops/shape_ops.cpp
  ops/strides.cpp
  ops/window_internal.cpp)
