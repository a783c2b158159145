#include <octet/core/error.h>
#include <octet/train/data/example_kind.h>

namespace octet {

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
  throw InvalidArgument("ExampleKind: expected a kind of example, found another number");
}

}  // namespace octet
