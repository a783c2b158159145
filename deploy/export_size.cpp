#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/export_size.h>

#include <algorithm>
#include <utility>

namespace octet::detail {

ExportSize::ExportSize(const IntegerModel& model, std::string what)
    : what_(std::move(what)), operators_(model.operators.size()) {
  constexpr std::size_t kOfConstant = 16;
  for (const ModelTensor& tensor : model.tensors) constants_ += tensor.data.size();
  most_ = std::max(most_, kOfConstant * constants_);
}

void ExportSize::add(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= most_) return;
  throw InvalidArgument(fmt::format(
      "{}: {} operators on {} bytes of constants make more than {} bytes; do they share "
      "their constants, or tensors a long name?",
      what_, operators_, constants_, most_));
}

}  // namespace octet::detail
