#pragma once

#include <octet/tests/runtime/contract_oracle.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/moving_models.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

// Models of one BATCH_MATMUL, and what they compute as loops over its definition.

namespace octet::test {

struct Matmul {
  std::vector<std::int32_t> first{2, 3, 5};
  std::vector<std::int32_t> second{2, 5, 4};
  BatchMatmulAttributes attributes{};
  /// Quantization parameters of both operands and the output.
  std::array<QuantParams, 3> params{quant(0.02F, 4), quant(0.03F, 0), quant(0.05F, -7)};
  DType dtype = DType::int8;
  /// The values of the second operand; none where it is a second input.
  std::vector<std::int8_t> constant{};

  static std::int32_t extent(const std::vector<std::int32_t>& shape, std::size_t back, bool adj) {
    return shape[shape.size() - (back <= 2 && adj ? 3 - back : back)];
  }
  std::int32_t rows() const { return extent(first, 2, attributes.adj_x); }
  std::int32_t depth() const { return extent(first, 1, attributes.adj_x); }
  std::int32_t columns() const { return extent(second, 1, attributes.adj_y); }
  /// The axes in front of the matrices of the result.
  std::vector<std::int32_t> in_front() const {
    std::vector<std::int32_t> longer(first.begin(), first.end() - 2);
    std::vector<std::int32_t> shorter(second.begin(), second.end() - 2);
    if (longer.size() < shorter.size()) std::swap(longer, shorter);
    const auto end = longer.end() - std::ssize(shorter);
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      std::int32_t& mine = *(end + static_cast<std::ptrdiff_t>(i));
      mine = std::max(mine, shorter[i]);
    }
    return longer;
  }
  std::vector<std::int32_t> result() const {
    std::vector<std::int32_t> shape = in_front();
    shape.insert(shape.end(), {rows(), columns()});
    return shape;
  }
};

inline IntegerModel matmul_model(const Matmul& m) {
  RawModelBuilder b;
  const auto add = [&](const char* name, const std::vector<std::int32_t>& shape, std::size_t i) {
    const QuantParams none{{}, {}, 0, 0, 0};
    return b.add({name, m.dtype, shape, {}, m.dtype == DType::float32 ? none : m.params.at(i), {}});
  };
  b.model.inputs = {add("x", m.first, 0)};
  std::int32_t second = 0;
  if (m.constant.empty()) {
    second = add("w", m.second, 1);
    b.model.inputs.push_back(second);
  } else {
    second = b.constant("w", m.second, m.dtype, m.constant, m.params[1]);
  }
  b.model.outputs = {add("y", m.result(), 2)};
  b.op(OpCode::batch_matmul, {0, second}, b.model.outputs[0], m.attributes);
  return b.model;
}

/// The sums of products of both operands less their zero points.
template <class T>
std::vector<std::int64_t> naive_sums(const Matmul& m, const std::vector<T>& x,
                                     const std::vector<T>& y) {
  std::vector<std::int64_t> sums;
  const auto front = m.in_front();
  std::size_t count = 1;
  for (const std::int32_t extent : front) count *= static_cast<std::size_t>(extent);
  const auto matrix = [&](std::size_t number, const std::vector<std::int32_t>& shape) {
    return broadcast_index(number, front, {shape.begin(), shape.end() - 2}) *
           static_cast<std::size_t>(shape[shape.size() - 2] * shape.back());
  };
  for (std::size_t number = 0; number < count; ++number) {
    for (std::int32_t row = 0; row < m.rows(); ++row) {
      for (std::int32_t column = 0; column < m.columns(); ++column) {
        std::int64_t sum = 0;
        for (std::int32_t k = 0; k < m.depth(); ++k) {
          const auto at = [](std::int32_t i, std::int32_t j, const auto& shape, bool adj) {
            return static_cast<std::size_t>(adj ? j * shape.back() + i : i * shape.back() + j);
          };
          const std::int64_t a =
              x.at(matrix(number, m.first) + at(row, k, m.first, m.attributes.adj_x));
          const std::int64_t b =
              y.at(matrix(number, m.second) + at(k, column, m.second, m.attributes.adj_y));
          sum += (a - m.params[0].zero_point()) * (b - m.params[1].zero_point());
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

inline std::vector<std::int8_t> naive_matmul(const Matmul& m, const std::vector<std::int8_t>& x,
                                             const std::vector<std::int8_t>& y, Rounding rounding) {
  const float scales = m.params[0].scale() * m.params[1].scale();
  const float out = m.params[2].scale();
  const oracle::Contract contract = rounding == Rounding::single_rounding ? oracle::Contract::single
                                    : rounding == Rounding::fp32 && m.params[1].zero_point() == 0
                                        ? oracle::Contract::fp32
                                        : oracle::Contract::twice;
  std::vector<std::int8_t> codes;
  for (const std::int64_t sum : naive_sums(m, x, y)) {
    const std::int64_t steps =
        oracle::rescale(sum, double{scales} / double{out}, scales / out, contract);
    codes.push_back(static_cast<std::int8_t>(
        std::clamp<std::int64_t>(steps + m.params[2].zero_point(), -128, 127)));
  }
  return codes;
}

/// Contract q15: see multiply_by_quantized_multiplier_64().
inline std::vector<std::int16_t> naive_matmul_int16(const Matmul& m,
                                                    const std::vector<std::int16_t>& x,
                                                    const std::vector<std::int16_t>& y) {
  const double factor =
      double{m.params[0].scale() * m.params[1].scale()} / double{m.params[2].scale()};
  const oracle::Multiplier q = oracle::multiplier_of(factor, oracle::Contract::single);
  const std::int64_t reduced = q.m < 0x7FFF0000 ? (q.m + (1 << 15)) >> 16 : 0x7FFF;
  std::vector<std::int16_t> codes;
  for (const std::int64_t sum : naive_sums(m, x, y)) {
    const std::int64_t steps =
        (sum * reduced + (std::int64_t{1} << (14 - q.shift))) >> (15 - q.shift);
    codes.push_back(static_cast<std::int16_t>(std::clamp<std::int64_t>(steps, -32768, 32767)));
  }
  return codes;
}

/// Shapes of 2 to 4 axes that broadcast; the second operand mostly symmetric.
inline Matmul draw_matmul(Draw& draw) {
  Matmul m;
  const std::int32_t rows = draw.between(1, 9);
  // Some so deep that floats do not hold all sums.
  const std::int32_t depth = draw.between(0, 9) == 0 ? draw.between(256, 262) : draw.between(1, 40);
  const std::int32_t columns = draw.between(1, 20);
  m.attributes = {.adj_x = draw.between(0, 1) == 1, .adj_y = draw.between(0, 1) == 1};
  m.first = m.attributes.adj_x ? std::vector{depth, rows} : std::vector{rows, depth};
  m.second = m.attributes.adj_y ? std::vector{columns, depth} : std::vector{depth, columns};
  const std::int32_t front = draw.between(0, 2);
  for (std::int32_t i = 0; i < front; ++i) {
    const std::int32_t extent = draw.between(1, 3);
    m.first.insert(m.first.begin(), draw.between(0, 3) == 0 ? 1 : extent);
    if (i + 1 < front || draw.between(0, 2) != 0) {
      m.second.insert(m.second.begin(), draw.between(0, 3) == 0 ? 1 : extent);
    }
  }
  const std::int32_t second_zero = draw.between(0, 2) == 0 ? draw.between(-128, 127) : 0;
  const float first_scale = draw.uniform(0.003F, 0.05F);
  const float second_scale = draw.uniform(0.003F, 0.05F);
  const float spread = 40.0F * std::sqrt(static_cast<float>(depth));
  m.params = {quant(first_scale, draw.between(-128, 127)), quant(second_scale, second_zero),
              quant(first_scale * second_scale * spread, draw.between(-128, 127))};
  return m;
}

/// Products as large as they get, where the codes are -128 and 127. Half a step of the output
/// divides the sums 16840455 and 16840456, of which floats hold the second alone.
inline Matmul largest_products(std::int32_t depth) {
  return {.first = {2, depth},
          .second = {depth, 3},
          .params = {quant(1.0F, 127), quant(1.0F, -128), quant(1086481.0F, 0)}};
}

/// The second operand a constant.
inline IntegerModel draw_constant_matmul(Draw& draw) {
  Matmul m = draw_matmul(draw);
  m.constant = random_codes(static_cast<std::size_t>(matmul_model(m).tensors[1].size()), draw);
  return matmul_model(m);
}

/// Products of each example of a batch of any size with a constant.
inline IntegerModel draw_batched_matmul(Draw& draw) {
  Matmul m = draw_matmul(draw);
  m.first = with_batch(std::move(m.first));
  if (m.second.size() == m.first.size()) m.second.erase(m.second.begin());
  m.constant = random_codes(static_cast<std::size_t>(matmul_model(m).tensors[1].size()), draw);
  return with_any_batch(matmul_model(m));
}

}  // namespace octet::test
