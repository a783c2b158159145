#include <octet/deploy/tflite/drop_tensors.h>

#include <utility>
#include <vector>

namespace octet::detail {

void drop_tensors(IntegerModel& model, FunctionRef<bool(std::int32_t tensor)> is_dropped) {
  // In their place: there may be many, whose memory is what the file may take.
  std::vector<std::int32_t> places(model.tensors.size(), -1);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_dropped(static_cast<std::int32_t>(i))) continue;
    places[i] = static_cast<std::int32_t>(kept);
    if (kept != i) model.tensors[kept] = std::move(model.tensors[i]);
    ++kept;
  }
  model.tensors.resize(kept);
  const auto renumber = [&](std::vector<std::int32_t>& values) {
    for (std::int32_t& value : values) {
      if (value >= 0 && static_cast<std::size_t>(value) < places.size()) {
        value = places[static_cast<std::size_t>(value)];
      }
    }
  };
  for (Operator& op : model.operators) {
    renumber(op.inputs);
    renumber(op.outputs);
  }
  renumber(model.inputs);
  renumber(model.outputs);
}

}  // namespace octet::detail
