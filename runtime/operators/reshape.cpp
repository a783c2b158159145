#include <fmt/format.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

// RESHAPE: the same elements in the same order under another shape, which is a constant second
// input, the attribute new_shape, or the output's own. SQUEEZE: under the shape without axes of
// extent 1.

namespace octet::detail {
namespace {

class Copy final : public Kernel {
 public:
  explicit Copy(const ModelTensor& tensor) : sample_bytes_(sample_bytes(tensor)) {}

  void run(const KernelArguments& a) const override {
    std::memcpy(a.output(), a.inputs[0].data, static_cast<std::size_t>(a.samples) * sample_bytes_);
  }

 private:
  std::size_t sample_bytes_;
};

void check_new_shape(const OperatorView& view, const std::vector<std::int32_t>& extents) {
  const auto& shape = view.output().shape;
  bool fits = extents.size() == shape.size();
  for (std::size_t i = 0; fits && i < extents.size(); ++i) {
    fits = extents[i] == -1 || extents[i] == shape[i];
  }
  if (!fits || std::count(extents.begin(), extents.end(), -1) > 1) {
    view.fail(fmt::format("new shape [{}] does not give output shape [{}]",
                          fmt::join(extents, ", "), fmt::join(shape, ", ")));
  }
}

void check_shape_operand(const OperatorView& view) {
  const ModelTensor& shape = view.input(1);
  if (shape.dtype != DType::int32 || !shape.is_constant()) {
    view.fail(fmt::format("its shape '{}' is no constant of int32", shape.name));
  }
  std::vector<std::int32_t> extents(shape.data.size() / sizeof(std::int32_t));
  std::memcpy(extents.data(), shape.data.data(), shape.data.size());
  check_new_shape(view, extents);
}

void check_copy(const OperatorView& view) {
  if (view.input().dtype != view.output().dtype) view.fail_types();
  if (view.input().size() != view.output().size()) {
    view.fail(fmt::format("input shape [{}] and output shape [{}] differ in size",
                          fmt::join(view.input().shape, ", "),
                          fmt::join(view.output().shape, ", ")));
  }
  view.require_same_grid();
}

void check_reshape(const OperatorView& view) {
  check_copy(view);
  if (view.has_input(1)) return check_shape_operand(view);
  const auto& new_shape = view.op.as<ReshapeAttributes>().new_shape;
  if (!new_shape.empty()) check_new_shape(view, new_shape);
}

/// By axis of the input: whether it goes.
std::vector<bool> squeezed_axes(const OperatorView& view) {
  const auto& shape = view.input().shape;
  const auto& dims = view.op.as<SqueezeAttributes>().squeeze_dims;
  std::vector<bool> squeezed(shape.size());
  for (std::size_t i = 0; dims.empty() && i < shape.size(); ++i) squeezed[i] = shape[i] == 1;
  for (const std::int32_t dim : dims) {
    const std::int64_t axis = dim < 0 ? std::int64_t{dim} + std::ssize(shape) : dim;
    if (axis < 0 || axis >= std::ssize(shape)) {
      view.fail(fmt::format("axis {} is none of input shape [{}]", dim, fmt::join(shape, ", ")));
    }
    squeezed[static_cast<std::size_t>(axis)] = true;
  }
  return squeezed;
}

void check_squeeze(const OperatorView& view) {
  const auto& shape = view.input().shape;
  const auto& signature = view.input().shape_signature;
  const std::vector<bool> squeezed = squeezed_axes(view);
  std::vector<std::int32_t> left;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!squeezed[i]) {
      left.push_back(shape[i]);
    } else if (shape[i] != 1) {
      view.fail(fmt::format("axis {} of input shape [{}] has another extent than 1", i,
                            fmt::join(shape, ", ")));
    } else if (!signature.empty() && signature[i] == -1) {
      view.fail(fmt::format("axis {} is the batch, which cannot be squeezed", i));
    }
  }
  view.require_output_shape(left);
  check_copy(view);
}

std::unique_ptr<Kernel> make_reshape(const KernelSource& source) {
  return std::make_unique<Copy>(source.input());
}

}  // namespace

OperatorDefinition definitions::reshape() {
  return checked({.name = "RESHAPE",
                  .releases = {10500},
                  .least_inputs = 1,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::same_as_input,
                  .only_reshapes = true,
                  .takes_int16 = true,
                  .check = check_reshape,
                  .make_kernel = make_reshape});
}

OperatorDefinition definitions::squeeze() {
  return checked({.name = "SQUEEZE",
                  .releases = {10600, 10600},
                  .required_version = first_version,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::same_as_input,
                  .only_reshapes = true,
                  .takes_int16 = true,
                  .check = check_squeeze,
                  .make_kernel = make_reshape});
}

}  // namespace octet::detail
