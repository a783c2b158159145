#include <fmt/format.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/concatenation.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace octet::detail {
namespace {

class Concatenation final : public Kernel {
 public:
  explicit Concatenation(const KernelSource& source)
      : parts_(concatenation_parts(source)), sample_bytes_(sample_bytes(source.output())) {
    const std::size_t element = size_of(source.output().dtype);
    for (ConcatenationPart& part : parts_) {
      part.elements *= element;
      part.stride *= element;
      part.offset *= element;
    }
  }

  void run(const KernelArguments& a) const override {
    const std::size_t grain = std::max<std::size_t>(kElementsPerChunk / sample_bytes_, 1);
    parallel_for(static_cast<std::size_t>(a.samples), grain,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) run_sample(a, i);
                 });
  }

 private:
  void run_sample(const KernelArguments& a, std::size_t sample) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const ConcatenationPart& part = parts_[i];
      const std::byte* from = a.inputs[i].data + sample * a.inputs[i].stride;
      std::byte* to = a.output() + sample * sample_bytes_ + part.offset;
      for (std::size_t k = 0; k < part.count; ++k, from += part.elements, to += part.stride) {
        std::memcpy(to, from, part.elements);
      }
    }
  }

  /// In bytes.
  std::vector<ConcatenationPart> parts_;
  std::size_t sample_bytes_;
};

bool same_grid(const QuantParams& a, const QuantParams& b) {
  return a.scales == b.scales && a.zero_points == b.zero_points;
}

void check_operand(const OperatorView& view, std::size_t i, std::size_t axis) {
  const ModelTensor& input = view.input(i);
  const ModelTensor& output = view.output();
  if (input.dtype != output.dtype) view.fail_types();
  bool fits = input.shape.size() == output.shape.size();
  for (std::size_t k = 0; fits && k < input.shape.size(); ++k) {
    fits = k == axis || input.shape[k] == output.shape[k];
  }
  if (!fits) {
    view.fail(fmt::format(
        "shape [{}] of operand {} '{}' does not fit the output's, [{}]: they may "
        "differ along axis {} only",
        fmt::join(input.shape, ", "), i, input.name, fmt::join(output.shape, ", "), axis));
  }
  if (!same_grid(input.quantization, output.quantization) || input.quantization.per_channel()) {
    view.fail(fmt::format(
        "operand {} '{}' and the output need the same single scale and zero point; requantize the "
        "operand first",
        i, input.name));
  }
  if (axis < input.shape_signature.size() && input.shape_signature[axis] == -1) {
    view.fail(
        fmt::format("axis {} of operand {} '{}' is the batch, along which samples cannot be "
                    "put together",
                    axis, i, input.name));
  }
}

}  // namespace

std::size_t concatenation_axis(const Operands& operands) {
  const std::int32_t axis = operands.op.as<ConcatenationAttributes>().axis;
  const auto rank = static_cast<std::int32_t>(operands.output().shape.size());
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::vector<ConcatenationPart> concatenation_parts(const Operands& operands) {
  const std::size_t axis = concatenation_axis(operands);
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::size_t{1}, [](std::size_t a, std::int32_t b) {
      return a * static_cast<std::size_t>(b);
    });
  };
  const auto& whole = operands.output().shape;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const std::size_t count = product(whole.begin(), whole.begin() + at);
  const std::size_t stride = product(whole.begin() + at, whole.end());
  std::vector<ConcatenationPart> parts;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < operands.op.inputs.size(); ++i) {
    const auto& shape = operands.input(i).shape;
    const std::size_t elements = product(shape.begin() + at, shape.end());
    parts.push_back({count, elements, stride, offset});
    offset += elements;
  }
  return parts;
}

namespace {

void check_concatenation(const OperatorView& view) {
  const auto& attributes = view.op.as<ConcatenationAttributes>();
  const auto rank = static_cast<std::int32_t>(view.output().shape.size());
  if (attributes.axis < -rank || attributes.axis >= rank) {
    view.fail(fmt::format("axis {} outside of rank {}", attributes.axis, rank));
  }
  if (attributes.activation != FusedActivation::none) {
    view.fail(fmt::format("fused activation {} is not supported",
                          static_cast<int>(attributes.activation)));
  }
  const std::size_t axis = concatenation_axis(view);
  std::int64_t extent = 0;
  for (std::size_t i = 0; i < view.op.inputs.size(); ++i) {
    if (view.op.inputs[i] == -1) view.fail(fmt::format("input {} is absent", i));
    check_operand(view, i, axis);
    extent += view.input(i).shape[axis];
  }
  if (extent != view.output().shape[axis]) {
    view.fail(fmt::format("axis {} of the operands adds up to {}, that of the output is {}", axis,
                          extent, view.output().shape[axis]));
  }
}

std::unique_ptr<Kernel> make_concatenation(const KernelSource& source) {
  return std::make_unique<Concatenation>(source);
}

}  // namespace

OperatorDefinition definitions::concatenation() {
  return checked({.name = "CONCATENATION",
                  .releases = {10500, 11400, 20300},
                  .required_version = version_by_type<3>,
                  .least_inputs = 1,
                  .most_inputs = kMostInputs,
                  .output_grid = OutputGrid::same_as_inputs,
                  .takes_int16 = true,
                  .check = check_concatenation,
                  .make_kernel = make_concatenation});
}

}  // namespace octet::detail
