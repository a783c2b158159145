#pragma once

#include <octet/tests/runtime/models.h>

#include <cstdint>
#include <vector>

// Models of one CAST, and of one GATHER.

namespace octet::test {

inline IntegerModel cast_model(DType from, DType to) {
  RawModelBuilder b;
  b.model.inputs = {b.add({"x", from, {1, 3}, {}, {}, {}})};
  b.model.outputs = {b.add({"y", to, {1, 3}, {}, {}, {}})};
  b.op(OpCode::cast, b.model.inputs, b.model.outputs[0]);
  return b.model;
}

/// Three indices of rows of two values, 0 to 9.
inline IntegerModel gather_model(DType dtype = DType::float32, const QuantParams& grid = {}) {
  RawModelBuilder b;
  b.model.inputs = {b.add({"indices", DType::int32, {1, 3}, {}, {}, {}})};
  std::vector<float> floats;
  std::vector<std::int8_t> codes;
  for (std::int8_t i = 0; i < 10; ++i) {
    floats.push_back(i);
    codes.push_back(i);
  }
  const auto table = dtype == DType::int8 ? b.constant("table", {5, 2}, dtype, codes, grid)
                                          : b.constant("table", {5, 2}, dtype, floats);
  b.model.outputs = {b.add({"y", dtype, {1, 3, 2}, {}, grid, {}})};
  b.op(OpCode::gather, {0, table}, b.model.outputs[0]);
  return b.model;
}

}  // namespace octet::test
