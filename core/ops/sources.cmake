target_sources(octet PRIVATE
  gradcheck.cpp
  ops/activation.cpp
  ops/elementwise.cpp
  ops/linear.cpp
  ops/loss.cpp
  ops/matmul.cpp
  ops/reduce.cpp
  ops/shape_ops.cpp
  ops/strides.cpp)
