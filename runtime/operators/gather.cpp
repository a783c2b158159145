#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

// GATHER: rows of a constant table, by indices. The indices come first, the table is a second
// operand, as in EMBEDDING_LOOKUP.

namespace octet::detail {
namespace {

class Gather final : public Kernel {
 public:
  explicit Gather(const KernelSource& source)
      : name_(source.output().name),
        table_(source.input(1).data),
        rows_(source.input(1).shape[0]),
        indices_(source.input().size()) {}

  std::size_t bytes() const override { return table_.size(); }

  void run(const KernelArguments& a) const override {
    const std::size_t row = table_.size() / static_cast<std::size_t>(rows_);
    parallel_for(static_cast<std::size_t>(a.samples * indices_),
                 parallel_grain(Work::read_bytes, row), [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     const auto place = index_at(a, static_cast<Index>(i));
                     std::memcpy(a.output() + i * row, table_.data() + place * row, row);
                   }
                 });
  }

 private:
  std::size_t index_at(const KernelArguments& a, Index i) const {
    const auto sample = static_cast<std::size_t>(i / indices_);
    std::int32_t index = 0;
    std::memcpy(&index,
                a.inputs[0].data + sample * a.inputs[0].stride +
                    sizeof(index) * static_cast<std::size_t>(i % indices_),
                sizeof(index));
    if (index >= 0 && index < rows_) return static_cast<std::size_t>(index);
    throw InvalidArgument(fmt::format(
        "GATHER '{}': expected indices from 0 to {}, found {} as number {} of sample {}; "
        "is it of another vocabulary?",
        name_, rows_ - 1, index, i % indices_, sample));
  }

  std::string name_;
  std::vector<std::uint8_t> table_;
  Index rows_;
  Index indices_;
};

void check_gather(const OperatorView& view) {
  const ModelTensor& table = view.input(1);
  if (view.input().dtype != DType::int32) {
    view.fail(fmt::format("expected indices of int32, found '{}' of {}", view.input().name,
                          to_string(view.input().dtype)));
  }
  if (!table.is_constant() || table.shape.empty()) {
    view.fail(fmt::format("expected a constant table of one axis or more, found '{}', shape [{}]",
                          table.name, fmt::join(table.shape, ", ")));
  }
  const auto& a = view.op.as<GatherAttributes>();
  const auto rank = static_cast<std::int32_t>(table.shape.size());
  if ((a.axis != 0 && a.axis != -rank) || a.batch_dims != 0) {
    view.fail(fmt::format("expected rows of the table: axis 0 and batch_dims 0, found {} and {}",
                          a.axis, a.batch_dims));
  }
  const bool is_moved =
      table.dtype == DType::float32 || table.dtype == DType::int8 || table.dtype == DType::int16;
  if (!is_moved || view.output().dtype != table.dtype) view.fail_types();
  if (view.output().quantization != table.quantization || table.quantization.scales.size() > 1) {
    view.fail(
        fmt::format("expected one scale and zero point of table '{}' and its output", table.name));
  }
  std::vector<std::int32_t> shape = view.input().shape;
  shape.insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  view.require_output_shape(shape);
}

std::unique_ptr<Kernel> make_gather(const KernelSource& source) {
  return std::make_unique<Gather>(source);
}

std::size_t table_bytes(const Operands& operands) { return operands.input(1).data.size(); }

/// A file has the table in front.
constexpr std::array<std::size_t, 2> kGatherOrder = {1, 0};

int gather_version(const Operands& o) {
  if (o.input(1).dtype == DType::int16) return 4;
  return o.input(1).dtype == DType::int8 ? 2 : 1;
}

}  // namespace

OperatorDefinition definitions::gather() {
  return checked({.name = "GATHER",
                  .releases = {10600, 11400, 20500, 20500},
                  .required_version = gather_version,
                  .file_order = kGatherOrder,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::same_as_input,
                  .takes_int16 = true,
                  .check = check_gather,
                  .make_kernel = make_gather,
                  .kernel_bytes = table_bytes});
}

}  // namespace octet::detail
