#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/interpreter_impl.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace octet {
namespace {

constexpr std::size_t kMaxTensorBytes = (std::size_t{1} << 31U) - 1;
constexpr std::size_t kUsualMaxBytes = std::size_t{1} << 30U;
constexpr std::size_t kMaxBytesPerConstant = 16;
constexpr std::size_t kMostPlannedInputs = 64;
constexpr Index kLeastBlock = 32;
constexpr Index kMostBlock = 384;
/// The most bytes of one block's tensor, unless that would be fewer than kLeastBlock samples.
constexpr std::size_t kBlockBytes = std::size_t{400} << 10U;

detail::Arena make_arena(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  detail::Arena arena(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})));
  std::memset(arena.get(), 0, size);
  return arena;
}

}  // namespace

Interpreter::Impl::Impl(std::shared_ptr<const IntegerModel> source,
                        const InterpreterOptions& wanted)
    : model(std::move(source)), options(wanted) {
  if (!model) throw InvalidArgument("Interpreter: expected a model, found a null pointer");
  model->validate();
  rounding = options.rounding ? *options.rounding : rounding_of(*model);
  static_cast<void>(to_string(rounding));  // Throws where it has no name.
  mark_tensors();
  make_kernels();
  plan(options.batch);
}

void Interpreter::Impl::mark_tensors() {
  const std::size_t count = model->tensors.size();
  batched = detail::find_batched(*model);
  for (auto* marks : {&computed, &is_input, &is_output}) marks->assign(count, false);
  for (const std::int32_t i : model->inputs) computed[at(i)] = is_input[at(i)] = true;
  for (const std::int32_t i : model->outputs) is_output[at(i)] = true;
  for (const Operator& op : model->operators) {
    for (const std::int32_t i : op.outputs) computed[at(i)] = true;
  }
}

void Interpreter::Impl::make_kernels() {
  std::size_t constants = 0;
  for (const ModelTensor& tensor : model->tensors) constants += tensor.data.size();
  max_bytes =
      options.max_bytes.value_or(std::max(kUsualMaxBytes, kMaxBytesPerConstant * constants));
  // Before any of it is allocated.
  std::size_t most = 0;
  for (std::size_t i = 0; i < model->operators.size(); ++i) {
    const std::size_t bytes = detail::kernel_bytes({*model, model->operators[i]});
    kernel_bytes += bytes;
    if (bytes <= most) continue;
    most = bytes;
    longest = i;
  }
  if (kernel_bytes > max_bytes) {
    throw InvalidArgument(
        fmt::format("Interpreter: the weights of {} operators need {} bytes, "
                    "more than the {} that are allowed",
                    model->operators.size(), kernel_bytes, max_bytes));
  }
  kernels = detail::make_kernels(*model, rounding);
}

/// Cuts the batch into blocks whose tensors stay in the second-level cache from operator to
/// operator, for as many threads as there are.
void Interpreter::Impl::cut(Index new_batch) {
  batch = new_batch;
  const auto threads = static_cast<Index>(num_threads());
  lanes = static_cast<std::size_t>(std::clamp<Index>(batch / kLeastBlock, 1, threads));
  const Index of_lane = divided_up(batch, static_cast<Index>(lanes));
  std::size_t largest = 1;
  for (std::size_t i = 0; i < batched.size(); ++i) {
    if (batched[i]) largest = std::max(largest, sample_bytes(static_cast<std::int32_t>(i)));
  }
  const auto fitting = static_cast<Index>(kBlockBytes / largest) / kLeastBlock * kLeastBlock;
  const Index most = std::clamp(fitting, kLeastBlock, kMostBlock);
  const Index of_block = divided_up(of_lane, divided_up(of_lane, most));
  block = std::min(batch, divided_up(of_block, kLeastBlock) * kLeastBlock);
  lanes = std::min(lanes, static_cast<std::size_t>(divided_up(batch, block)));
  per_lane.assign(model->tensors.size(), false);
  for (std::size_t i = 0; i < per_lane.size(); ++i) {
    per_lane[i] = batched[i] && !options.keep_tensors;
  }
  if (block == batch) return;
  // What users fill in and read is there whole.
  for (const std::int32_t i : model->inputs) per_lane[at(i)] = false;
  for (const std::int32_t i : model->outputs) per_lane[at(i)] = false;
}

/// When the tensors of each lane, or those that are there once, are in use, in steps of operators.
std::vector<detail::MemoryUse> Interpreter::Impl::memory_uses(bool of_lane) const {
  const auto last_step = static_cast<std::ptrdiff_t>(model->operators.size());
  std::vector<detail::MemoryUse> uses(model->tensors.size());
  const auto begin = [&](std::int32_t i, std::ptrdiff_t step) {
    if (per_lane[at(i)] != of_lane) return;
    const auto samples = static_cast<std::size_t>(batched[at(i)] ? block : 1);
    uses[at(i)] = of_lane ? detail::MemoryUse{samples * sample_bytes(i), step, step}
                          : detail::MemoryUse{bytes_of(i), -1, last_step};
  };
  const auto extend = [&](std::int32_t i, std::ptrdiff_t step) {
    uses[at(i)].last = std::max(uses[at(i)].last, step);
  };
  for (const std::int32_t i : model->inputs) begin(i, -1);
  // With many inputs, searching for the memory that they free would cost more than it saves.
  if (model->inputs.size() > kMostPlannedInputs) {
    for (const std::int32_t i : model->inputs) extend(i, last_step);
  }
  for (std::size_t i = 0; i < model->operators.size(); ++i) {
    const Operator& op = model->operators[i];
    const auto step = static_cast<std::ptrdiff_t>(i);
    for (const std::int32_t input : op.inputs) {
      if (input != -1) extend(input, step);
    }
    for (const std::int32_t output : op.outputs) begin(output, step);
  }
  for (const std::int32_t i : model->outputs) extend(i, last_step);
  return uses;
}

/// Keeps sizes that no machine has out of the plan's sums.
void Interpreter::Impl::check_memory(Index new_batch) const {
  for (std::size_t i = 0; i < model->tensors.size(); ++i) {
    const ModelTensor& tensor = model->tensors[i];
    const auto bytes = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype);
    const auto samples = batched[i] ? static_cast<std::size_t>(new_batch) : 1;
    if (computed[i] && bytes > kMaxTensorBytes / samples) {
      throw InvalidArgument(
          fmt::format("Interpreter: tensor {} '{}' of {} bytes is too large for a batch of {}", i,
                      tensor.name, bytes, new_batch));
    }
  }
}

std::size_t Interpreter::Impl::thread_bytes() const {
  std::size_t most = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool on_samples = batched[at(model->operators[i].outputs[0])];
    most = std::max(most, kernels[i]->thread_bytes(on_samples ? block : 1));
  }
  return most * static_cast<std::size_t>(num_threads());
}

void Interpreter::Impl::check_total(std::size_t planned) const {
  const std::size_t needed = planned + thread_bytes() + kernel_bytes;
  if (needed <= max_bytes) return;
  throw InvalidArgument(
      fmt::format("Interpreter: a batch of {} needs {} bytes, more than the {} that are allowed",
                  batch, needed, max_bytes));
}

void Interpreter::Impl::plan(Index new_batch) {
  if (new_batch < 1) {
    throw InvalidArgument(
        fmt::format("Interpreter: expected a batch of at least 1, found {}", new_batch));
  }
  check_memory(new_batch);
  auto old_cut = std::make_tuple(batch, block, lanes, per_lane);
  detail::MemoryPlan shared;
  detail::MemoryPlan of_lane;
  std::size_t bytes = 0;
  try {
    cut(new_batch);
    shared = detail::plan_memory(memory_uses(false));
    of_lane = detail::plan_memory(memory_uses(true));
    bytes = shared.total_bytes + lanes * of_lane.total_bytes;
    check_total(bytes);
    arena = make_arena(bytes);
  } catch (...) {
    // The arena is still the one of the old batch, cut for the threads that there were then.
    std::tie(batch, block, lanes, per_lane) = std::move(old_cut);
    throw;
  }
  arena_bytes = bytes;
  lane_bytes = of_lane.total_bytes;
  place_tensors(shared, of_lane);
  prepare_arguments();
  // Threads and their buffers come into being here, not in the first invoke().
  invoke();
  std::memset(arena.get(), 0, arena_bytes);
}

void Interpreter::Impl::place_tensors(const detail::MemoryPlan& shared,
                                      const detail::MemoryPlan& of_lane) {
  const std::size_t count = model->tensors.size();
  writable.assign(count, nullptr);
  readable.assign(count, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    const ModelTensor& tensor = model->tensors[i];
    if (tensor.is_constant()) {
      readable[i] = reinterpret_cast<const std::byte*>(tensor.data.data());
    } else {
      writable[i] =
          arena.get() + (per_lane[i] ? shared.total_bytes + of_lane.offsets[i] : shared.offsets[i]);
      readable[i] = writable[i];
    }
  }
}

std::size_t Interpreter::Impl::offset(std::int32_t tensor, Index first, std::size_t lane) const {
  if (per_lane[at(tensor)]) return lane * lane_bytes;
  return batched[at(tensor)] ? static_cast<std::size_t>(first) * sample_bytes(tensor) : 0;
}

std::span<const std::byte> Interpreter::Impl::read_after(Index first) const {
  const std::int32_t input = model->inputs.empty() ? -1 : model->inputs[0];
  const Index next = first + static_cast<Index>(lanes) * block;
  if (input < 0 || next >= batch) return {};
  const auto samples = static_cast<std::size_t>(std::min(block, batch - next));
  return {readable[at(input)] + offset(input, next, 0), samples * sample_bytes(input)};
}

/// What each operator runs on where nothing changes from one invoke() to the next.
void Interpreter::Impl::prepare_arguments() {
  // Sizes never change, so that only the first plan, in the constructor, asks for memory here.
  inputs_at_once.resize(kernels.size());
  outputs_at_once.resize(kernels.size());
  at_once.resize(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Operator& op = model->operators[i];
    inputs_at_once[i].resize(op.inputs.size());
    detail::fill_inputs({*model, op}, batched, inputs_at_once[i],
                        [&](std::int32_t tensor) { return readable[at(tensor)]; });
    outputs_at_once[i].resize(op.outputs.size());
    std::ranges::transform(op.outputs, outputs_at_once[i].begin(),
                           [&](std::int32_t tensor) { return writable[at(tensor)]; });
    at_once[i] = {.samples = samples_of(op.outputs[0]),
                  .inputs = inputs_at_once[i],
                  .outputs = outputs_at_once[i]};
  }
}

void Interpreter::Impl::run_at_once(bool on_samples) const {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (batched[at(model->operators[i].outputs[0])] == on_samples) kernels[i]->run(at_once[i]);
  }
}

void Interpreter::Impl::run_block(Index first, Index count, std::size_t lane) {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Operator& op = model->operators[i];
    if (!batched[at(op.outputs[0])]) continue;
    detail::KernelArguments arguments{.samples = count};
    if (i == longest) arguments.prefetch = read_after(first);
    detail::run_kernel(
        *kernels[i], {*model, op}, batched, arguments,
        [&](std::int32_t tensor) { return readable[at(tensor)] + offset(tensor, first, lane); },
        [&](std::int32_t tensor) { return writable[at(tensor)] + offset(tensor, first, lane); });
  }
}

void Interpreter::Impl::invoke() {
  run_at_once(false);
  if (block == batch) return run_at_once(true);
  parallel_for(lanes, 1, [&](std::size_t lane, std::size_t /*end*/) {
    const Index stride = static_cast<Index>(lanes) * block;
    for (Index first = static_cast<Index>(lane) * block; first < batch; first += stride) {
      run_block(first, std::min(block, batch - first), lane);
    }
  });
}

Interpreter::Interpreter(IntegerModel model, InterpreterOptions options)
    : Interpreter(std::make_shared<const IntegerModel>(std::move(model)), options) {}
Interpreter::Interpreter(std::shared_ptr<const IntegerModel> model, InterpreterOptions options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;

Interpreter::Impl& Interpreter::impl() const {
  if (impl_ != nullptr) return *impl_;
  throw InvalidArgument(
      "Interpreter: expected an interpreter with a model, found one that was moved from; use the "
      "object that it was moved to");
}

const IntegerModel& Interpreter::model() const { return *impl().model; }
Rounding Interpreter::rounding() const { return impl().rounding; }
Index Interpreter::batch() const { return impl().batch; }
void Interpreter::resize_batch(Index batch) { impl().plan(batch); }
std::size_t Interpreter::arena_bytes() const { return impl().arena_bytes; }
void Interpreter::invoke() { impl().invoke(); }

}  // namespace octet
