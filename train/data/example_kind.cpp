#include <octet/core/error.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/data_formats.h>
#include <octet/train/data/example_kind.h>

#include <algorithm>

namespace octet {
namespace {

ExampleKind kind_of_two_axes(const Dataset& data) {
  if (data.description() == nullptr) return ExampleKind::matrix;
  const auto formats = data_formats();
  const auto format = std::ranges::find(formats, data.description()->format, &DataFormat::name);
  return format == formats.end() ? ExampleKind::matrix : format->two_axes;
}

}  // namespace

std::string_view to_string(ExampleKind kind) {
  switch (kind) {
    case ExampleKind::image:
      return "images";
    case ExampleKind::sequence:
      return "sequences";
    case ExampleKind::signal:
      return "features of signals";
    case ExampleKind::matrix:
      return "arrays of two axes";
    case ExampleKind::row:
      return "rows of numbers";
    case ExampleKind::volume:
      return "arrays of four axes or more";
  }
  throw InvalidArgument("ExampleKind: expected one of kExampleKinds");
}

ExampleKind example_kind(const Dataset& data) {
  if (!data.front_end().empty()) return ExampleKind::signal;
  switch (data.example_shape().rank()) {
    case 0:
    case 1:
      return ExampleKind::row;
    case 2:
      return kind_of_two_axes(data);
    case 3:
      return ExampleKind::image;
    default:
      return ExampleKind::volume;
  }
}

}  // namespace octet
