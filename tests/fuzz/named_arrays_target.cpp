#include <octet/core/error.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/dense.h>
#include <octet/layers/lower.h>
#include <octet/layers/model.h>
#include <octet/tools/load_examples.h>
#include <octet/tools/npz_data.h>

#include "memory_file.h"
#include "targets.h"

namespace octet::fuzz {
namespace {

/// Inputs x [2] and image [2, 1, 1]; outputs kind, a class of three, and places, a class of two for
/// each place.
IntegerModel two_ends() {
  Model model("two");
  const Value x = model.input({2}, "x");
  const Value image = model.input({2, 1, 1}, "image");
  model.output(model.add(Dense(3, Activation::softmax, "kind"), x));
  model.output(model.add(Conv2D(2, 1, Activation::softmax, {.name = "places"}), image));
  model.build(1);
  return lower_float(model);
}

/// Calls use(), which may refuse what the arrays are.
template <class Use>
void read(const Use& use) {
  try {
    use();
  } catch (const FormatError&) {
    return;
  } catch (const InvalidArgument&) {
    // Arrays of unlike numbers of examples, or weights that are none.
    return;
  }
}

void require_rows(const Dataset& data) {
  const Batch all = data.batch(0, data.size());
  const auto rows = static_cast<Index>(data.size());
  for (const Tensor& input : all.inputs()) {
    require(input.dim(0) == rows, "every example has its features");
  }
  for (const Targets& targets : all.all_targets()) {
    require(targets.size() == data.size(), "every example has its targets");
  }
}

}  // namespace

void named_arrays(Data input) {
  static const MemoryFile file;
  static const IntegerModel model = two_ends();
  file.assign(input);
  const std::string path = file.path().string();
  if (!tools::is_npz(path)) return;
  read([&] {
    const Dataset data = tools::read_npz_data(path, model);
    require(data.inputs() == 2 && data.outputs() == 2, "every array of the model is there");
    require_rows(data);
  });
  read([&] {
    const DataSplit data = tools::load_examples_at(path, {});
    require_rows(data.train);
    require_rows(data.test);
  });
}

}  // namespace octet::fuzz
