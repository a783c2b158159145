#include <octet/core/quant/fake_quant.h>
#include <octet/tests/core/quant/fake_quant_testing.h>
#include <octet/tests/core/quant/tensorflow/reference.h>
#include <octet/tests/core/quant/vector_ops.h>

#include <gtest/gtest.h>

namespace octet::test {
namespace {

struct Grid {
  int num_bits;
  bool narrow_range;
};

Grid grid(const Vector& v) { return {v.params.at("num_bits"), v.params.at("narrow_range")}; }

float scalar(const nlohmann::json& value) { return floats(value).at(0); }

using Forward = void (*)(std::span<const float>, float, float, int, bool, std::span<float>,
                         std::string_view);

void run_forward(const Vector& v, Forward forward) {
  const std::vector<float> x = floats(v.input.at("data"));
  std::vector<float> y(x.size());
  forward(x, scalar(v.params.at("min")), scalar(v.params.at("max")), grid(v).num_bits,
          grid(v).narrow_range, y, "test");
  expect_close(std::span<const float>(y), v.expected.at("data"), v);
}

void run_args(const Vector& v) { run_forward(v, fake_quant_args); }
void run_vars(const Vector& v) { run_forward(v, fake_quant_vars); }
void run_tflite(const Vector& v) { run_forward(v, tflite_fake_quant); }

void run_per_channel(const Vector& v) {
  const std::vector<float> x = floats(v.input.at("data"));
  std::vector<float> y(x.size());
  fake_quant_per_channel(x, floats(v.params.at("min")), floats(v.params.at("max")),
                         grid(v).num_bits, grid(v).narrow_range, y);
  expect_close(std::span<const float>(y), v.expected.at("data"), v);
}

void run_args_grad(const Vector& v) {
  const std::vector<float> x = floats(v.input.at("data"));
  std::vector<float> d(x.size());
  fake_quant_mask(floats(v.input.at("gradient")), x,
                  nudge(scalar(v.params.at("min")), scalar(v.params.at("max")), grid(v).num_bits,
                        grid(v).narrow_range, "test"),
                  d);
  expect_close(std::span<const float>(d), v.expected.at("grad_input"), v);
}

void run_vars_grad(const Vector& v) {
  const std::vector<float> x = floats(v.input.at("data"));
  std::vector<float> d(x.size());
  const RangeGradient range =
      fake_quant_vars_grad(floats(v.input.at("gradient")), x, scalar(v.params.at("min")),
                           scalar(v.params.at("max")), grid(v).num_bits, grid(v).narrow_range, d);
  expect_close(std::span<const float>(d), v.expected.at("grad_input"), v);
  expect_close(std::span(&range.d_min, 1), v.expected.at("grad_min"), v);
  expect_close(std::span(&range.d_max, 1), v.expected.at("grad_max"), v);
}

void run_per_channel_grad(const Vector& v) {
  const std::vector<float> x = floats(v.input.at("data"));
  const std::vector<float> min = floats(v.params.at("min"));
  std::vector<float> d(x.size());
  std::vector<float> d_min(min.size());
  std::vector<float> d_max(min.size());
  fake_quant_per_channel_grad(floats(v.input.at("gradient")), x, min, floats(v.params.at("max")),
                              grid(v).num_bits, grid(v).narrow_range, d, d_min, d_max);
  expect_close(std::span<const float>(d), v.expected.at("grad_input"), v);
  expect_close(std::span<const float>(d_min), v.expected.at("grad_min"), v);
  expect_close(std::span<const float>(d_max), v.expected.at("grad_max"), v);
}

void run_vars_error(const Vector& v) {
  expect_error(
      [&] {
        check_fake_quant_vars_shapes(shape_of(v.params.at("min")), shape_of(v.params.at("max")),
                                     "test");
      },
      v);
}

void run_per_channel_error(const Vector& v) {
  expect_error(
      [&] {
        check_fake_quant_per_channel_shapes(shape_of(v.input), shape_of(v.params.at("min")),
                                            shape_of(v.params.at("max")), "test");
      },
      v);
}

}  // namespace

std::map<std::string, VectorRunner> fake_quant_runners() {
  return {{"fake_quant_args", run_args},
          {"fake_quant_args_grad", run_args_grad},
          {"fake_quant_vars", run_vars},
          {"fake_quant_vars_grad", run_vars_grad},
          {"fake_quant_vars_error", run_vars_error},
          {"fake_quant_vars_grad_error", run_vars_error},
          {"fake_quant_per_channel", run_per_channel},
          {"fake_quant_per_channel_grad", run_per_channel_grad},
          {"fake_quant_per_channel_error", run_per_channel_error},
          {"fake_quant_per_channel_grad_error", run_per_channel_error},
          {"tflite_fake_quant", run_tflite}};
}

}  // namespace octet::test
