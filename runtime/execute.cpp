#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/runtime/execute.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <memory>

namespace octet {
namespace {

/// Where each tensor is read and written while the model runs.
class Memory {
 public:
  Memory(const IntegerModel& model, const std::vector<bool>& batched, Index samples)
      : model_(model),
        batched_(batched),
        samples_(static_cast<std::size_t>(samples)),
        read_(model.tensors.size()),
        write_(model.tensors.size()) {
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      const ModelTensor& tensor = model.tensors[i];
      if (tensor.is_constant()) read_[i] = reinterpret_cast<const std::byte*>(tensor.data.data());
    }
  }

  void set_input(std::int32_t tensor, const std::byte* data) { read_[at(tensor)] = data; }
  void set_output(std::int32_t tensor, std::byte* data) {
    if (read_[at(tensor)] != nullptr) {
      throw InvalidArgument(fmt::format(
          "PreparedOperators: expected outputs that an operator computes, found '{}' twice "
          "or as a constant or an input",
          model_.tensors[at(tensor)].name));
    }
    write_[at(tensor)] = data;
    read_[at(tensor)] = data;
  }

  const std::byte* read(std::int32_t tensor) const { return read_[at(tensor)]; }
  std::byte* write(std::int32_t tensor) {
    const std::size_t i = at(tensor);
    if (write_[i] == nullptr) {
      const std::size_t bytes =
          (batched_[i] ? samples_ : 1) * detail::sample_bytes(model_.tensors[i]);
      owned_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
      read_[i] = write_[i] = owned_.back().get();
    }
    return write_[i];
  }

 private:
  static std::size_t at(std::int32_t tensor) { return static_cast<std::size_t>(tensor); }

  const IntegerModel& model_;
  const std::vector<bool>& batched_;
  std::size_t samples_;
  std::vector<const std::byte*> read_;
  std::vector<std::byte*> write_;
  std::vector<std::unique_ptr<std::byte[]>> owned_;
};

template <class Pointer>
void check_ends(std::span<const Pointer> found, std::size_t expected, std::string_view role) {
  if (found.size() != expected || std::ranges::find(found, nullptr) != found.end()) {
    throw InvalidArgument(fmt::format(
        "PreparedOperators: expected memory for the {} {}s of the model, found {} pointers "
        "or a null pointer among them",
        expected, role, found.size()));
  }
}

}  // namespace

PreparedOperators::PreparedOperators(IntegerModel model, Rounding rounding)
    : model_(std::move(model)) {
  model_.validate();
  batched_ = detail::find_batched(model_);
  kernels_ = detail::make_kernels(model_, rounding);
}

PreparedOperators::~PreparedOperators() = default;

void PreparedOperators::run(Index samples, std::span<const std::byte* const> inputs,
                            std::span<std::byte* const> outputs) const {
  if (samples < 1) {
    throw InvalidArgument(
        fmt::format("PreparedOperators: expected at least 1 sample, found {}", samples));
  }
  check_ends(inputs, model_.inputs.size(), "input");
  check_ends(outputs, model_.outputs.size(), "output");
  Memory memory(model_, batched_, samples);
  for (std::size_t i = 0; i < inputs.size(); ++i) memory.set_input(model_.inputs[i], inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) memory.set_output(model_.outputs[i], outputs[i]);
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Operator& op = model_.operators[i];
    const bool per_sample = batched_[static_cast<std::size_t>(op.outputs[0])];
    detail::run_kernel(
        *kernels_[i], {model_, op}, batched_, {.samples = per_sample ? samples : 1},
        [&](std::int32_t tensor) { return memory.read(tensor); },
        [&](std::int32_t tensor) { return memory.write(tensor); });
  }
}

}  // namespace octet
