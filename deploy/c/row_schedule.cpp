#include <octet/deploy/c/row_schedule.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

class Scheduler {
 public:
  Scheduler(const std::vector<RowImage>& images, const std::vector<RowOperator>& operators,
            std::int64_t rows)
      : images_(images),
        operators_(operators),
        rows_(rows),
        last_(operators.back().output),
        makers_(images.size(), operators.size()),
        made_(images.size()),
        front_(images.size()) {
    for (std::size_t i = 0; i < operators.size(); ++i) makers_[operators[i].output] = i;
    schedule_.capacity.resize(images.size());
    schedule_.leads.resize(images.size());
  }

  RowSchedule run() {
    while (made_[last_] < images_[last_].height) {
      schedule_.bands.emplace_back();
      make(last_, std::min(made_[last_] + rows_, images_[last_].height));
    }
    return std::move(schedule_);
  }

 private:
  bool is_made(std::size_t image) const { return makers_[image] < operators_.size(); }
  bool is_whole(std::size_t image) const { return !is_made(image) || image == last_; }

  /// The first row that output `row` and those behind it read.
  static std::int64_t first_read(const WindowAxis& axis, std::int64_t row) {
    if (row >= axis.output) return axis.input;
    return std::clamp<std::int64_t>(axis.first(row), 0, axis.input);
  }

  /// One past the last row that output `row` reads.
  static std::int64_t end_read(const WindowAxis& axis, std::int64_t row) {
    const std::int64_t end = axis.first(row) + (axis.kernel - 1) * axis.dilation + 1;
    return std::clamp<std::int64_t>(end, 0, axis.input);
  }

  /// The first row of an image that is still to be read.
  std::int64_t first_needed(std::size_t image) const {
    std::int64_t row = images_[image].height;
    for (const RowOperator& op : operators_) {
      if (std::ranges::count(op.inputs, image) == 0) continue;
      row = std::min(row, first_read(op.axis, made_[op.output]));
    }
    return row;
  }

  /// Makes the rows of an image up to `end`, and before them what they read.
  void make(std::size_t image, std::int64_t end) {
    if (!is_made(image)) return;
    const std::size_t maker = makers_[image];
    const RowOperator& op = operators_[maker];
    while (made_[image] < end) {
      const std::int64_t count = std::min(rows_, end - made_[image]);
      const std::int64_t read = end_read(op.axis, made_[image] + count - 1);
      for (const std::size_t input : op.inputs) make(input, read);
      call(maker, count, read);
    }
  }

  void call(std::size_t number, std::int64_t count, std::int64_t end) {
    const RowOperator& op = operators_[number];
    const std::size_t image = op.output;
    std::int64_t& made = made_[image];
    const std::int64_t begin = first_read(op.axis, made);
    RowCall call{.op = number,
                 .count = count,
                 .from = {},
                 .height = end - begin,
                 .top = begin - op.axis.first(made)};
    for (const std::size_t input : op.inputs) call.from.push_back(begin - front_[input]);
    if (is_whole(image)) {
      note_leads(made + count);
    } else {
      const std::int64_t front = std::min(first_needed(image), made);
      call.dropped = front - front_[image];
      call.kept = made - front;
      front_[image] = front;
      schedule_.capacity[image] = std::max(schedule_.capacity[image], call.kept + count);
    }
    call.to = made - front_[image];
    made += count;
    schedule_.bands.back().push_back(std::move(call));
  }

  /// Before the last image is written up to row `end`.
  void note_leads(std::int64_t end) {
    const std::int64_t written = end * images_[last_].row_bytes;
    for (std::size_t image = 0; image < images_.size(); ++image) {
      if (is_made(image)) continue;
      const std::int64_t free = first_needed(image) * images_[image].row_bytes;
      schedule_.leads[image] = std::max(schedule_.leads[image], written - free);
    }
  }

  const std::vector<RowImage>& images_;
  const std::vector<RowOperator>& operators_;
  std::int64_t rows_;
  std::size_t last_;
  /// By image: the operator that makes it, or their number.
  std::vector<std::size_t> makers_;
  /// By image: rows made so far, and the row that lies at the front of its memory.
  std::vector<std::int64_t> made_;
  std::vector<std::int64_t> front_;
  RowSchedule schedule_;
};

}  // namespace

std::int64_t RowSchedule::calls() const {
  std::int64_t count = 0;
  for (const std::vector<RowCall>& band : bands) count += std::ssize(band);
  return count;
}

RowSchedule schedule_rows(const std::vector<RowImage>& images,
                          const std::vector<RowOperator>& operators, std::int64_t rows) {
  return Scheduler(images, operators, rows).run();
}

}  // namespace octet::detail
