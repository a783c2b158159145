// A quantizer that several steps share observes their values as those of one tensor.

#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/quantize/shared_range.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>

#include <functional>
#include <limits>
#include <memory>
#include <vector>

namespace octet::test::shared_range_test {
namespace {

std::vector<std::function<std::unique_ptr<Quantizer>()>> quantizers() {
  return {[] { return std::make_unique<MovingAverageQuantizer>(); },
          [] { return std::make_unique<AllValuesQuantizer>(); },
          [] { return std::make_unique<LastValueQuantizer>(); },
          [] { return std::make_unique<HistogramPercentileQuantizer>(QuantSpec{}, 90.0); }};
}

const ForwardContext kCalibrates{.mode = ForwardContext::Mode::calibration};

TEST(SharedRange, IsThatOfAllValues) {
  for (const auto& make : quantizers()) {
    const std::unique_ptr<Quantizer> shared = make();
    const std::unique_ptr<Quantizer> alone = make();
    SCOPED_TRACE(shared->observer().type());
    for (Quantizer* const each : {shared.get(), alone.get()}) {
      each->build("range", "", {4, 3}, Quantizer::ZeroPoint::kept);
    }
    SharedRange range;
    const std::size_t first = range.join();
    const std::size_t second = range.join();
    for (std::uint64_t pass = 0; pass < 3; ++pass) {
      const Tensor x = random_tensor({4, 3}, 2 * pass, -1.0F, 3.0F);
      const Tensor y = random_tensor({5, 3}, 2 * pass + 1, -6.0F, 1.0F);
      range.watch(*shared, x, first, kCalibrates);
      range.watch(*shared, y, second, kCalibrates);
      alone->watch(concatenate({x, y}, 0), kCalibrates);
      EXPECT_EQ(shared->params(), alone->params());
    }
  }
}

TEST(SharedRange, NamesValuesThatAreNotFinite) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const auto& make : quantizers()) {
    for (const std::vector<float>& values : {std::vector{kNaN, 2.0F}, {2.0F, kNaN}}) {
      const std::unique_ptr<Quantizer> quantizer = make();
      quantizer->build("the range", "", {2}, Quantizer::ZeroPoint::kept);
      SharedRange range;
      const std::size_t first = range.join();
      const std::size_t second = range.join();
      range.watch(*quantizer, Tensor::from({2}, {1.0F, 2.0F}), first, kCalibrates);
      EXPECT_THROW(range.watch(*quantizer, Tensor::from({2}, values), second, kCalibrates),
                   NumericError);
      // The next pass begins anew.
      const std::unique_ptr<Quantizer> alone = make();
      alone->build("alone", "", {2}, Quantizer::ZeroPoint::kept);
      const std::unique_ptr<Quantizer> fresh = make();
      fresh->build("fresh", "", {2}, Quantizer::ZeroPoint::kept);
      range.watch(*fresh, Tensor::from({2}, {-1.0F, 0.5F}), first, kCalibrates);
      range.watch(*fresh, Tensor::from({2}, {0.0F, 0.7F}), second, kCalibrates);
      alone->watch(Tensor::from({4}, {-1.0F, 0.5F, 0.0F, 0.7F}), kCalibrates);
      EXPECT_EQ(fresh->params(), alone->params());
    }
  }
}

}  // namespace
}  // namespace octet::test::shared_range_test
