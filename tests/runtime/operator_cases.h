#pragma once

#include <octet/tests/runtime/drawn_operators.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

// Every operator once: how it is drawn, and by that what it computes. Tests of the interpreter and
// of every export read these tables.

namespace octet::test {

struct OperatorCase {
  std::string name;
  int rounds;
  std::function<DrawnOperator(Draw&)> draw;
  /// Samples at once; 0 for one to three.
  Index batch = 0;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
inline void PrintTo(const OperatorCase& row, std::ostream* out) { *out << row.name; }

inline std::string case_name(const ::testing::TestParamInfo<OperatorCase>& info) {
  return info.param.name;
}

/// Operators on int8 with one output.
inline std::vector<OperatorCase> operator_cases() {
  using Int8 = std::int8_t;
  return {
      {"Conv2D", 480,
       [](Draw& d) {
         Conv c = draw_conv(d);
         // Lines of several tiles, too.
         const bool same = c.attributes.padding == Padding::same;
         if (same && d.between(0, 1) == 0) c.image[2] = d.between(12, 40);
         return drawn_conv(with_weight_zero_point(c, d));
       }},
      {"DepthwiseConv2D", 480,
       [](Draw& d) { return drawn_depthwise(with_weight_zero_point(draw_depthwise(d), d)); }},
      {"TransposeConv", 100, [](Draw& d) { return drawn(draw_transposed(d)); }},
      {"Pool2D", 100, [](Draw& d) { return drawn(draw_pooling(d)); }},
      {"Mean", 140, [](Draw& d) { return drawn(draw_mean(d)); }},
      {"Pad", 100, [](Draw& d) { return drawn_pad(draw_pad(d)); }},
      {"PadV2", 100, [](Draw& d) { return drawn_pad(draw_pad(d, OpCode::padv2)); }},
      {"Binary", 100, [](Draw& d) { return drawn(with_constant(draw_pair(d), d)); }},
      {"Prelu", 100,
       [](Draw& d) {
         Pair p = draw_prelu(d);
         if (d.between(0, 3) == 0) p.constant.clear();
         return drawn(p);
       }},
      {"Extreme", 100, [](Draw& d) { return drawn(with_constant(draw_extreme(d), d)); }},
      {"Elu", 40, [](Draw& d) { return drawn_smooth(d, std::nullopt); }},
      {"Gelu", 40, [](Draw& d) { return drawn_smooth(d, GeluAttributes{}); }},
      {"GeluByTanh", 40, [](Draw& d) { return drawn_smooth(d, GeluAttributes{true}); }},
      {"Exp", 40, [](Draw& d) { return drawn_function(d, OpCode::exp); }},
      {"Log", 40, [](Draw& d) { return drawn_function(d, OpCode::log); }},
      {"Sqrt", 40, [](Draw& d) { return drawn_function(d, OpCode::sqrt); }},
      {"BatchMatmul", 150, [](Draw& d) { return drawn(with_constant(draw_matmul(d), d)); }},
      {"HardSwish", 70, draw_any_hard_swish},
      {"Squeeze", 20, drawn_squeeze},
      {"ResizeNearestNeighbor", 200,
       [](Draw& d) { return drawn_resize<Int8>(draw_resize(d), DType::int8); }},
      {"ResizeBilinear", 200,
       [](Draw& d) { return drawn_bilinear<Int8>(draw_bilinear(d), DType::int8); }},
      {"StridedSlice", 200,
       [](Draw& d) {
         const Slicing s = draw_slicing(d);
         return drawn<Int8>(s, slice_model(s));
       }},
      {"Transpose", 200,
       [](Draw& d) {
         const Transposition t = draw_transposition(d);
         return drawn<Int8>(t, transpose_model(t));
       }},
      {"Split", 100,
       [](Draw& d) {
         const Splitting s = draw_splitting(d);
         return drawn_joined(s, split_and_join_model(s));
       }},
  };
}

/// Operators on int8 whose first axis is a batch of any size.
inline std::vector<OperatorCase> batched_operator_cases() {
  using Int8 = std::int8_t;
  return {
      {"BatchedBinary", 50,
       [](Draw& d) { return drawn(with_constant(draw_pair(d, true), d), true); }},
      {"BatchedExtreme", 50, [](Draw& d) { return drawn(draw_extreme(d, true), true); }},
      {"BatchedPrelu", 50, [](Draw& d) { return drawn(draw_prelu(d, true), true); }},
      {"BatchedStridedSlice", 50,
       [](Draw& d) {
         const Slicing s = draw_slicing(d, 4);
         return drawn<Int8>(s, batched_slice_model(s));
       }},
      {"BatchedTranspose", 50,
       [](Draw& d) {
         const Transposition t = draw_transposition(d, 4);
         return drawn<Int8>(t, batched_transpose_model(t));
       }},
      {"BatchedSplit", 50,
       [](Draw& d) {
         const Splitting s = draw_splitting(d, 4);
         return drawn_joined(s, batched_split_model(s));
       }},
  };
}

/// Operators that move values of type T.
template <class T>
void add_moving_cases(std::vector<OperatorCase>& cases, const std::string& type) {
  cases.push_back({"StridedSlice" + type, 200, [](Draw& d) {
                     const Slicing s = of_type<T>(draw_slicing(d));
                     return drawn<T>(s, slice_model(s));
                   }});
  cases.push_back({"Transpose" + type, 200, [](Draw& d) {
                     const Transposition t = of_type<T>(draw_transposition(d));
                     return drawn<T>(t, transpose_model(t));
                   }});
  cases.push_back({"PartsOfSplit" + type, 100,
                   [](Draw& d) { return drawn_parts<T>(of_type<T>(draw_splitting(d))); }});
}

/// ARG_MAX of a type, of single samples and of batches of any size.
template <class T>
void add_arg_max_cases(std::vector<OperatorCase>& cases, const std::string& type) {
  cases.push_back({"ArgMax" + type, 200, [](Draw& d) {
                     const Largest l = of_type<T>(draw_arg_max(d));
                     return drawn_arg_max<T>(l, arg_max_model(l));
                   }});
  cases.push_back({"BatchedArgMax" + type, 50, [](Draw& d) {
                     const Largest l = of_type<T>(draw_arg_max(d, 4));
                     return drawn_arg_max<T>(l, batched_arg_max_model(l));
                   }});
}

/// Operators on int16 and floats, and those whose results have another type or number.
inline std::vector<OperatorCase> typed_operator_cases() {
  std::vector<OperatorCase> cases{
      {"Conv2DInt16", 150,
       [](Draw& d) {
         const Conv c = draw_conv(d);
         return drawn_int16(c, model_of(c));
       }},
      {"DepthwiseConv2DInt16", 150,
       [](Draw& d) {
         const Conv c = draw_depthwise(d);
         return drawn_int16(c, depthwise_model(c));
       }},
      {"BatchMatmulInt16", 150, [](Draw& d) { return drawn_int16(draw_matmul(d), d); }},
      {"Conv2DFloat", 60,
       [](Draw& d) {
         const Conv c = draw_conv(d);
         return drawn_floats(c, model_of(c));
       }},
      {"DepthwiseConv2DFloat", 60,
       [](Draw& d) {
         const Conv c = draw_depthwise(d);
         return drawn_floats(c, depthwise_model(c));
       }},
      {"TransposeConvFloat", 60, [](Draw& d) { return drawn_floats(draw_transposed(d)); }},
      {"Pool2DFloat", 60, [](Draw& d) { return drawn_floats(draw_pooling(d)); }},
      {"MeanFloat", 60, [](Draw& d) { return drawn_floats(draw_mean(d)); }},
      {"ResizeNearestNeighborFloat", 200,
       [](Draw& d) { return drawn_resize<float>(draw_resize(d), DType::float32); }},
      {"ResizeBilinearFloat", 200,
       [](Draw& d) { return drawn_bilinear<float>(draw_bilinear(d, true), DType::float32); }},
      {"ResizeBilinearOfAnotherScale", 100,
       [](Draw& d) {
         // Integers are interpolated and keep their values, whatever these stand for.
         DrawnOperator op = drawn_bilinear<std::int8_t>(draw_bilinear(d), DType::int8);
         const auto output = static_cast<std::size_t>(op.model.outputs[0]);
         op.model.tensors[output].quantization = quant(0.31F, -7);
         return op;
       }},
      {"ResizeBilinearInt16", 200,
       [](Draw& d) { return drawn_bilinear<std::int16_t>(draw_bilinear(d), DType::int16); }},
      {"DetectionPostProcess", 120, [](Draw& d) { return drawn(draw_detector(d)); }},
      {"Svdf", 150,
       [](Draw& d) { return drawn<std::int8_t, std::int16_t>(draw_svdf(d, DType::int16)); }},
      {"SvdfOfInt8", 150,
       [](Draw& d) { return drawn<std::int8_t, std::int8_t>(draw_svdf(d, DType::int8)); }},
      {"SvdfFloat", 60, [](Draw& d) { return drawn<float, float>(draw_svdf(d, DType::float32)); }},
  };
  add_moving_cases<std::int16_t>(cases, "Int16");
  add_moving_cases<float>(cases, "Float");
  add_arg_max_cases<std::int8_t>(cases, "");
  add_arg_max_cases<float>(cases, "Float");
  cases.push_back(
      {"PartsOfSplit", 100, [](Draw& d) { return drawn_parts<std::int8_t>(draw_splitting(d)); }});
  return cases;
}

}  // namespace octet::test
