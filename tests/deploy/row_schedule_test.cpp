// The rows that a chain of operators makes at a time, against a memory that is looked at row by
// row.

#include <gtest/gtest.h>
#include <octet/deploy/c/row_schedule.h>
#include <octet/tests/core/draw.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace octet::test::row_schedule_test {
namespace {

using detail::RowCall;
using detail::RowImage;
using detail::RowOperator;
using detail::RowSchedule;

/// The rows that memory holds, by image, and -1 where it holds none.
class RowMemory {
 public:
  RowMemory(const std::vector<RowImage>& images, const std::vector<RowOperator>& operators,
            const RowSchedule& schedule)
      : operators_(operators), rows_(images.size()), made_(images.size()) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      const std::int64_t capacity = schedule.capacity[i];
      rows_[i].assign(static_cast<std::size_t>(capacity > 0 ? capacity : images[i].height), -1);
    }
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto makes = [&](const RowOperator& op) { return op.output == i; };
      if (std::ranges::none_of(operators, makes)) std::iota(rows_[i].begin(), rows_[i].end(), 0);
    }
  }

  void run(const RowCall& call) {
    const RowOperator& op = operators_[call.op];
    std::int64_t& made = made_[op.output];
    for (std::int64_t row = made; row < made + call.count; ++row) {
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        expect_row_is_read(op.axis, row, made, call, rows_[op.inputs[k]], call.from[k]);
      }
    }
    auto& rows = rows_[op.output];
    for (std::int64_t i = 0; i < call.kept; ++i) {
      rows.at(static_cast<std::size_t>(i)) = rows.at(static_cast<std::size_t>(i + call.dropped));
    }
    for (std::int64_t i = 0; i < call.count; ++i) {
      rows.at(static_cast<std::size_t>(call.to + i)) = made++;
    }
  }

  std::int64_t made(std::size_t image) const { return made_[image]; }

 private:
  /// As a window of a function that is told of `height` rows and `top` rows of padding.
  static void expect_row_is_read(const WindowAxis& axis, std::int64_t row, std::int64_t made,
                                 const RowCall& call, const std::vector<std::int64_t>& rows,
                                 std::int64_t from) {
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const std::int64_t at = (row - made) * axis.stride - call.top + tap * axis.dilation;
      const std::int64_t wanted = axis.first(row) + tap * axis.dilation;
      const bool is_inside = wanted >= 0 && wanted < axis.input;
      ASSERT_EQ(at >= 0 && at < call.height, is_inside);
      if (!is_inside) continue;
      ASSERT_EQ(rows.at(static_cast<std::size_t>(from + at)), wanted);
    }
  }

  const std::vector<RowOperator>& operators_;
  std::vector<std::vector<std::int64_t>> rows_;
  std::vector<std::int64_t> made_;
};

/// A chain of windows along one axis, with residuals and a second image from outside.
struct DrawnChain {
  std::vector<RowImage> images;
  std::vector<RowOperator> operators;

  explicit DrawnChain(Draw& draw) {
    images.push_back({draw.between(4, 30), draw.between(1, 5)});
    std::size_t x = 0;
    const int count = draw.between(2, 7);
    for (int i = 0; i < count; ++i) {
      const Index height = images[x].height;
      if (draw.between(0, 3) == 0) {
        // The other is an image before it, or one from outside.
        std::size_t other = images.size();
        for (std::size_t k = 0; k < x; ++k) other = images[k].height == height ? k : other;
        if (other == images.size()) images.push_back({height, draw.between(1, 5)});
        x = add({x, other}, {.input = height, .output = height}, draw);
        continue;
      }
      const Index kernel = draw.between(1, 5);
      const Index dilation = draw.between(1, 2);
      const bool fits = (kernel - 1) * dilation < height;
      const Padding padding = fits && draw.between(0, 1) == 0 ? Padding::valid : Padding::same;
      x = add({x}, slide_window(height, kernel, draw.between(1, 3), dilation, padding), draw);
    }
  }

 private:
  std::size_t add(std::vector<std::size_t> inputs, const WindowAxis& axis, Draw& draw) {
    images.push_back({axis.output, draw.between(1, 5)});
    operators.push_back({std::move(inputs), images.size() - 1, axis});
    return images.size() - 1;
  }
};

/// Whether the last image may begin `lead` bytes in front of an image from outside: no byte is
/// written before it has been read for the last time.
bool may_lie_in_front(const DrawnChain& chain, const RowSchedule& schedule, std::size_t image,
                      std::int64_t lead) {
  const std::int64_t row_bytes = chain.images[image].row_bytes;
  const std::size_t last = chain.operators.back().output;
  std::vector<bool> is_lost(static_cast<std::size_t>(chain.images[image].height * row_bytes));
  for (const std::vector<RowCall>& band : schedule.bands) {
    for (const RowCall& call : band) {
      const RowOperator& op = chain.operators[call.op];
      const auto write = [&] {
        for (std::int64_t i = 0; op.output == last && i < call.count * chain.images[last].row_bytes;
             ++i) {
          const std::int64_t at = call.to * chain.images[last].row_bytes + i - lead;
          if (at >= 0 && at < std::ssize(is_lost)) is_lost[static_cast<std::size_t>(at)] = true;
        }
      };
      write();  // An operator may write before it has read all.
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] != image) continue;
        for (std::int64_t i = 0; i < call.height * row_bytes; ++i) {
          if (is_lost[static_cast<std::size_t>(call.from[k] * row_bytes + i)]) return false;
        }
      }
    }
  }
  return true;
}

TEST(RowSchedule, HoldsTheRowsThatAreReadAndMakesEachOnce) {
  std::size_t leads = 0;
  std::size_t least = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const DrawnChain chain(draw);
    const std::int64_t rows = draw.between(1, 5);
    const RowSchedule schedule = detail::schedule_rows(chain.images, chain.operators, rows);
    RowMemory memory(chain.images, chain.operators, schedule);
    for (const std::vector<RowCall>& band : schedule.bands) {
      for (const RowCall& call : band) {
        ASSERT_LE(call.count, rows);
        memory.run(call);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    const std::size_t last = chain.operators.back().output;
    EXPECT_EQ(memory.made(last), chain.images[last].height);
    for (std::size_t i = 0; i < chain.images.size(); ++i) {
      if (schedule.capacity[i] > 0 || i == last) continue;
      const std::int64_t lead = schedule.leads[i];
      EXPECT_TRUE(may_lie_in_front(chain, schedule, i, lead));
      least += lead == 0 || !may_lie_in_front(chain, schedule, i, lead - 1) ? 1 : 0;
      ++leads;
    }
  }
  // Some rows are read by no window that is computed.
  EXPECT_GT(10 * least, 9 * leads);
}

TEST(RowSchedule, HoldsAsManyRowsAsWindowsNeed) {
  // The sum reads the first of the rows that the first window reads.
  const WindowAxis axis = slide_window(32, 3, 1, 1, Padding::same);
  const WindowAxis pixels{.input = 32, .output = 32};
  const std::vector<RowImage> images(5, RowImage{32, 512});
  const std::vector<RowOperator> residual = {
      {{0}, 1, axis}, {{1}, 2, axis}, {{2}, 3, axis}, {{3, 1}, 4, pixels}};
  const RowSchedule schedule = detail::schedule_rows(images, residual, 1);
  EXPECT_EQ(schedule.capacity, (std::vector<std::int64_t>{0, 3, 3, 1, 0}));
  EXPECT_EQ(schedule.calls(), 4 * 32);
  EXPECT_EQ(schedule.bands.size(), 32U);
}

}  // namespace
}  // namespace octet::test::row_schedule_test
