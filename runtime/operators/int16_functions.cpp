#include <fmt/core.h>
#include <octet/runtime/operators/int16_functions.h>
#include <octet/runtime/operators/unary.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace octet::detail {
namespace {

using Points = std::array<std::int32_t, kSigmoidPoints>;

/// sigmoid(i / 24) in units of 2^-16, each moved by half of what the line to the next is off in its
/// middle.
Points make_points() {
  const auto sigmoid = [](double i) { return 65536.0 / (1.0 + std::exp(-i / 24.0)); };
  Points points{};
  for (std::size_t k = 0; k < points.size(); ++k) {
    const auto i = static_cast<double>(k);
    const double middle = (sigmoid(i) + sigmoid(i + 1.0)) / 2.0;
    points.at(k) =
        static_cast<std::int32_t>(std::round(sigmoid(i) - (middle - sigmoid(i + 0.5)) / 2.0));
  }
  points.back() = 65535;
  return points;
}

const Points& points() {
  static const Points all = make_points();
  return all;
}

/// The exponent of a scale that counts as a power of two; nothing for any other.
std::optional<int> power_of_two(float scale) {
  const double exponent = std::log2(double{scale});
  const double whole = std::round(exponent);
  if (std::abs(exponent - whole) >= 0.001) return std::nullopt;
  return static_cast<int>(whole);
}

/// The line between the points beside `magnitude`, which lie 2^bits apart, in units of
/// 2^-(16 + bits); behind the last point `most`, in units of 2^-16.
std::int32_t on_line(std::int32_t magnitude, int bits, std::int32_t most) {
  const std::int32_t point = magnitude >> bits;
  if (point >= 255) return most << bits;
  const auto i = static_cast<std::size_t>(point);
  const std::int32_t place = magnitude & ((1 << bits) - 1);
  return (points().at(i) << bits) + place * (points().at(i + 1) - points().at(i));
}

}  // namespace

bool is_fixed_point_in_litert(SigmoidForm form, float scale) {
  const std::optional<int> exponent = power_of_two(scale);
  return exponent == -12 || (form == SigmoidForm::tanh && exponent == -11);
}

Int16Sigmoid::Int16Sigmoid(SigmoidForm form, float scale) : form_(form) {
  if (is_fixed_point_in_litert(form, scale)) {
    factor_ = 3 << (12 + *power_of_two(scale));
    return;
  }
  double factor = double{scale} * 4096.0 * 3.0;
  for (; factor <= 32767.0 / 2.0 && shift_ <= 30; ++shift_) factor *= 2.0;
  factor_ = static_cast<std::int32_t>(factor);
}

std::int16_t Int16Sigmoid::operator()(std::int16_t q) const {
  const std::int64_t half = shift_ == 0 ? 0 : std::int64_t{1} << (shift_ - 1);
  const auto v = static_cast<std::int32_t>((std::int64_t{q} * factor_ + half) >> shift_);
  const std::int32_t magnitude = std::abs(v);
  if (form_ == SigmoidForm::logistic) {
    const std::int32_t line = on_line(magnitude, 9, 0x7FFF << 1);
    const std::int32_t rounded = v >= 0 ? line + (1 << 9) : (1 << 25) - line + (1 << 9) - 1;
    return static_cast<std::int16_t>(rounded >> 10);
  }
  const std::int32_t line = on_line(magnitude, 8, 0xFFFF);
  const std::int32_t rounded =
      v >= 0 ? line - (1 << 23) + (1 << 7) : -line + (1 << 23) + (1 << 7) - 1;
  return static_cast<std::int16_t>(rounded >> 8);
}

SigmoidNumbers Int16Sigmoid::numbers() const { return {points().data(), factor_, shift_}; }

void check_int16_sigmoid(const OperatorView& view) {
  view.require_same_shape();
  if (view.output().dtype != DType::int16) view.fail_types();
  view.require_int16_grid(view.input());
  view.require_int16_grid(view.output());
  const float scale = view.input().quantization.scale();
  if (scale > 0.0F && scale <= Int16Sigmoid::kLargestScale) return;
  view.fail(fmt::format("expected an input scale above 0 and at most {}, found {}",
                        Int16Sigmoid::kLargestScale, scale));
}

std::unique_ptr<Kernel> make_int16_sigmoid(const KernelSource& source, SigmoidForm form) {
  const Int16Sigmoid function(form, source.input().quantization.scale());
  return std::make_unique<Map<std::int16_t, std::int16_t, Int16Sigmoid>>(source.input().size(),
                                                                         function);
}

}  // namespace octet::detail
