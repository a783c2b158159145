#include <gtest/gtest.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/runtime/detection_models.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/lookup_models.h>
#include <octet/tests/runtime/lstm_models.h>
#include <octet/tests/runtime/matmul_models.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/moving_models.h>
#include <octet/tests/runtime/naive_graph.h>
#include <octet/tests/runtime/svdf_models.h>
#include <octet/tests/runtime/transposed_models.h>
#include <octet/tests/runtime/window_models.h>
#include <octet/tests/sanitizers.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#ifndef OCTET_TEST_SANITIZED
namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) != 0) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

// Every other form of new and delete calls one of these. Not inlined: GCC would take the free() in
// them for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace octet::test::no_allocation_test {
namespace {

TEST(NoAllocation, TheCounterCounts) {
  // Called as functions: a new expression may be optimised away.
  const long before = allocations;
  ::operator delete(::operator new(100));
  ::operator delete (::operator new (100, std::align_val_t{64}), std::align_val_t{64});
  const long counted_here = allocations - before;
  EXPECT_EQ(counted_here, 2);
}

long allocations_of(std::size_t floats) {
  const long before = allocations;
  allocate_array<float>(floats);
  return allocations - before;
}

TEST(NoAllocation, ABufferOfASizeSeenBeforeIsNotAllocatedAgain) {
  constexpr std::size_t kFloats = 12345;
  const long first = allocations_of(kFloats);
  // What may stay is the handle's count of owners.
  EXPECT_LE(allocations_of(kFloats), 1);
  EXPECT_GT(first, 1);
  // Another size takes no other's buffer.
  EXPECT_GT(allocations_of(kFloats + 16), 1);
  // Beyond 64 MiB as much is kept as was in use of late.
  constexpr std::size_t kMuch = (std::size_t{64} << 20) / sizeof(float) + 1;
  EXPECT_GT(allocations_of(kMuch), 1);
  EXPECT_LE(allocations_of(kMuch), 1);
  for (int i = 0; i < 3000; ++i) allocations_of(kFloats);
  EXPECT_GT(allocations_of(kMuch), 1);
}

TEST(NoAllocation, InvokeAllocatesNothing) {
  const KeepThreads keep;
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const Rounding rounding : kContracts) {
      for (const Index batch : {1, 37, 100}) {
        Interpreter interpreter(make_mlp(1, {70, 33, 10}, true, true), {rounding, batch});
        const long before = allocations;
        interpreter.invoke();
        interpreter.input<float>()[0] = 1.0F;
        interpreter.invoke();
        const long counted_here = allocations - before;
        EXPECT_EQ(counted_here, 0) << threads << " threads, batch " << batch;
      }
    }
  }
}

/// A model of one operator on codes, or between codes and floats.
IntegerModel model_of_one(OpCode code) {
  Draw draw(static_cast<std::uint64_t>(code));
  const auto unary = [code](DType from, DType to, const QuantParams& grid) {
    const auto grid_of = [](DType type, const QuantParams& of) {
      return type == DType::float32 ? QuantParams{{}, {}, 0, 0, 0} : of;
    };
    return make_unary(code, {"x", from, {1, 70}, {}, grid_of(from, quant(0.04F, 6)), {}},
                      {"y", to, {1, 70}, {}, grid_of(to, grid), {}});
  };
  const auto of_codes = [&](const QuantParams& grid) {
    return unary(DType::int8, DType::int8, grid);
  };
  Pooling pooling;
  Pair pair;
  switch (code) {
    case OpCode::add:
    case OpCode::mul:
    case OpCode::sub:
      pair.code = code;
      pair.constant.assign(6, 1);
      return model_of(pair);
    case OpCode::arg_max:
      return arg_max_model(draw_arg_max(draw));
    case OpCode::average_pool_2d:
    case OpCode::max_pool_2d:
      pooling.code = code;
      return model_of(pooling);
    case OpCode::batch_matmul:
      return matmul_model(draw_matmul(draw));
    case OpCode::concatenation:
      return make_axes();
    case OpCode::conv_2d:
      return model_of(draw_conv(draw));
    case OpCode::depthwise_conv_2d:
      return depthwise_model(draw_depthwise(draw));
    case OpCode::fully_connected:
      return make_mlp(1, {70, 33, 10}, true, true);
    case OpCode::hard_swish:
      return hard_swish_model(quant(0.1F, 0), quant(0.1F, 0));
    case OpCode::mean:
      return model_of(Mean{});
    case OpCode::pad:
    case OpCode::padv2:
      return draw_pad(draw, code);
    case OpCode::transpose:
      return transpose_model(draw_transposition(draw));
    case OpCode::strided_slice:
      return slice_model(draw_slicing(draw));
    case OpCode::split:
      return split_model(draw_splitting(draw));
    case OpCode::squeeze:
      return squeeze_model({1, 70, 1}, {-1});
    case OpCode::resize_bilinear:
    case OpCode::resize_nearest_neighbor:
      return model_of(Resize{.code = code});
    case OpCode::dequantize:
      return unary(DType::int8, DType::float32, {});
    case OpCode::quantize:
      return unary(DType::float32, DType::int8, quant(0.03F, 3));
    case OpCode::prelu:
      return model_of(draw_prelu(draw));
    case OpCode::maximum:
    case OpCode::minimum:
      return model_of(extreme_pair(code));
    case OpCode::rsqrt:
    case OpCode::sqrt:
      return function_model(code, quant(0.01F, -128), quant(0.04F, -128));
    case OpCode::elu:
    case OpCode::exp:
    case OpCode::gelu:
    case OpCode::log:
    case OpCode::leaky_relu:
    case OpCode::relu:
    case OpCode::relu6:
    case OpCode::relu_n1_to_1:
      return of_codes(quant(0.03F, -7));
    case OpCode::logistic:
    case OpCode::softmax:
    case OpCode::tanh:
      return of_codes(definition(code).fixed_grid());
    case OpCode::transpose_conv:
      return transposed_model(draw_transposed(draw));
    case OpCode::reshape:
      return of_codes(quant(0.04F, 6));
    case OpCode::cast:
      return cast_model(DType::float32, DType::int32);
    case OpCode::gather:
      return gather_model();
    case OpCode::detection_post_process:
      return detection_model(
          {.attributes = {.max_detections = 3, .max_classes_per_detection = 2, .num_classes = 2}});
    case OpCode::svdf:
      return svdf_model(DType::int16);
    case OpCode::unidirectional_sequence_lstm:
      return lstm_model({});
  }
  throw std::logic_error("an operator that no test knows");
}

TEST(NoAllocation, NoOperatorAllocates) {
  const KeepThreads keep;
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const OpCode code : kOpCodes) {
      SCOPED_TRACE(to_string(code));
      const IntegerModel model = model_of_one(code);
      const auto has_code = [&](const Operator& op) { return op.code == code; };
      ASSERT_TRUE(std::ranges::any_of(model.operators, has_code));
      for (const Rounding rounding : kContracts) {
        for (const Index batch : {1, 100}) {
          Interpreter interpreter(model, {rounding, batch});
          const long before = allocations;
          interpreter.invoke();
          interpreter.invoke();
          const long counted_here = allocations - before;
          EXPECT_EQ(counted_here, 0) << threads << " threads, batch " << batch;
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::no_allocation_test

#endif  // OCTET_TEST_SANITIZED
