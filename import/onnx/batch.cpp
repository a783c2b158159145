#include <fmt/format.h>
#include <octet/import/onnx/builder.h>

#include <string>
#include <vector>

// Where ONNX has the batch of a value, which the model has in front.

namespace octet::detail::onnx_import {

Index Imported::onnx_rank() const {
  return logical.rank() + 1 - Index{batch.joins_front} - Index{batch.joins_behind};
}

Index Imported::onnx_batch() const { return batch.axis - Index{batch.joins_front}; }

std::vector<std::int64_t> Imported::onnx_extents() const {
  const Index first = onnx_batch();
  const Index joined = logical.rank() + 1 - onnx_rank();
  std::vector<std::int64_t> extents(logical.begin(), logical.end());
  Index factor = 1;
  for (Index i = first; i < first + joined; ++i) factor *= logical[i];
  extents.erase(extents.begin() + first, extents.begin() + first + joined);
  extents.insert(extents.begin() + first, batches(factor));
  return extents;
}

Index example_axis(std::int64_t axis, const Imported& x) {
  const Index rank = x.onnx_rank();
  const Index counted = axis < 0 ? axis + rank : axis;
  if (counted < 0 || counted >= rank || counted == x.onnx_batch()) {
    refuse("expected an axis of examples, found {} of {}", axis, written(x.onnx_extents()));
  }
  // Behind the batch, the axes that are joined with it count, and it does not.
  return counted > x.onnx_batch() ? counted + x.logical.rank() - rank : counted;
}

std::string written(const std::vector<std::int64_t>& extents) {
  std::vector<std::string> texts;
  for (const std::int64_t extent : extents) {
    const Index count = batches_in(extent);
    texts.push_back(count == 0   ? std::to_string(extent)
                    : count == 1 ? "batch"
                                 : fmt::format("{} * batch", count));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

Imported Builder::with_batch_at(const Imported& x, Index place) const {
  if (x.batch.axis == place || batch_ != 1 || place > x.logical.rank()) return x;
  Imported result = x;
  result.batch.axis = place;
  if (x.batch.joins()) return place < x.logical.rank() ? result : x;
  // The axis of examples at `place`, of those of ONNX without the batch.
  const Index batch = x.batch.axis;
  const Index given = place < batch ? place : place - 1;
  if (x.logical[given] != 1) return x;
  std::vector<Index> extents;
  for (Index i = 0; i <= x.logical.rank(); ++i) {
    if (i != place) extents.push_back(i == batch ? 1 : x.logical[i < batch ? i : i - 1]);
  }
  result.logical = Shape(std::move(extents));
  for (Index& axis : result.axes) {
    if (axis < 0) continue;
    const Index in_onnx = axis < batch ? axis : axis + 1;
    axis = in_onnx == place ? -1 : in_onnx < place ? in_onnx : in_onnx - 1;
  }
  return result;
}

}  // namespace octet::detail::onnx_import
