#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/interpreter_impl.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

namespace octet {
namespace {

constexpr std::string_view kRoundingKey = "octet.rounding";
constexpr std::size_t kMaxTensorBytes = (std::size_t{1} << 31U) - 1;
constexpr std::size_t kUsualMaxBytes = std::size_t{1} << 30U;
constexpr std::size_t kMaxBytesPerConstant = 16;
constexpr Index kLeastBlock = 32;
constexpr Index kMostBlock = 384;
/// A tensor of a block takes no more than that, where it is not of fewer than kLeastBlock samples.
constexpr std::size_t kBlockBytes = std::size_t{400} << 10U;

detail::Arena make_arena(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  detail::Arena arena(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})));
  std::memset(arena.get(), 0, size);
  return arena;
}

/// An upper bound of what the kernel of `op` keeps: weights packed in whole panels or as floats,
/// and a few numbers per unit. Operators may share weights, but each packs its own.
std::size_t kept_bytes(const IntegerModel& model, const Operator& op) {
  constexpr std::size_t kPanel = 32;
  constexpr std::size_t kGroup = 4;
  constexpr std::size_t kBytesPerUnit = 32;
  if (op.code != OpCode::fully_connected && op.code != OpCode::conv_2d) return 0;
  const ModelTensor& weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
  const auto units = static_cast<std::size_t>(weights.shape[0]);
  const auto depth = static_cast<std::size_t>(weights.shape.back());
  return size_of(weights.dtype) * (units + kPanel) * (depth + kGroup) + kBytesPerUnit * units;
}

Rounding choose_rounding(const IntegerModel& model, const InterpreterOptions& options) {
  if (options.rounding) return *options.rounding;
  const auto entry = model.metadata.find(std::string(kRoundingKey));
  if (entry == model.metadata.end()) return Rounding::fp32;
  try {
    return parse_rounding(entry->second);
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("metadata '{}': {}", kRoundingKey, error.what()));
  }
}

}  // namespace

Interpreter::Impl::Impl(std::shared_ptr<const IntegerModel> source,
                        const InterpreterOptions& wanted)
    : model(std::move(source)), options(wanted) {
  if (!model) throw InvalidArgument("Interpreter: expected a model, found a null pointer");
  model->validate();
  rounding = choose_rounding(*model, options);
  find_batched();
  count_constants();
  make_kernels();
  plan(options.batch);
}

void Interpreter::Impl::find_batched() {
  computed.assign(model->tensors.size(), false);
  batched.assign(model->tensors.size(), false);
  for (const std::int32_t i : model->inputs) computed[at(i)] = batched[at(i)] = true;
  for (const Operator& op : model->operators) {
    computed[at(op.outputs[0])] = true;
    batched[at(op.outputs[0])] = batched[at(op.inputs[0])];
  }
}

void Interpreter::Impl::count_constants() {
  std::size_t constants = 0;
  for (const ModelTensor& tensor : model->tensors) constants += tensor.data.size();
  max_bytes =
      options.max_bytes.value_or(std::max(kUsualMaxBytes, kMaxBytesPerConstant * constants));
  for (const Operator& op : model->operators) kernel_bytes += kept_bytes(*model, op);
  if (kernel_bytes > max_bytes) {
    throw InvalidArgument(
        fmt::format("Interpreter: the weights of {} operators need {} bytes, "
                    "more than the {} that are allowed",
                    model->operators.size(), kernel_bytes, max_bytes));
  }
}

void Interpreter::Impl::make_kernels() {
  std::size_t most = 0;
  for (std::size_t i = 0; i < model->operators.size(); ++i) {
    const Operator& op = model->operators[i];
    if (const std::size_t kept = kept_bytes(*model, op); kept > most) {
      most = kept;
      longest = i;
    }
    try {
      kernels.push_back(detail::make_kernel({*model, op, rounding}));
    } catch (const Error& error) {
      throw FormatError(fmt::format("operator {} ({}): {}", i, to_string(op.code), error.what()));
    }
  }
}

std::size_t Interpreter::Impl::sample_bytes(std::int32_t index) const {
  const ModelTensor& tensor = model->tensors[at(index)];
  return static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype);
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
  for (std::size_t i = 0; i < model->operators.size(); ++i) {
    const Operator& op = model->operators[i];
    const auto step = static_cast<std::ptrdiff_t>(i);
    extend(op.inputs[0], step);
    begin(op.outputs[0], step);
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
    const bool on_samples = batched[at(model->operators[i].inputs[0])];
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

void Interpreter::Impl::run_operators(bool on_samples, Index first, Index count, std::size_t lane) {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Operator& op = model->operators[i];
    const std::int32_t in = op.inputs[0];
    const std::int32_t out = op.outputs[0];
    if (batched[at(in)] != on_samples) continue;
    const std::byte* from = readable[at(in)] + offset(in, first, lane);
    std::byte* to = writable[at(out)] + offset(out, first, lane);
    if (on_samples && i == longest) {
      kernels[i]->run_fetching(count, from, to, read_after(first));
    } else {
      kernels[i]->run(count, from, to);
    }
  }
}

void Interpreter::Impl::invoke() {
  run_operators(false, 0, 1, 0);
  if (block == batch) return run_operators(true, 0, batch, 0);
  parallel_for(lanes, 1, [&](std::size_t lane, std::size_t /*end*/) {
    const Index stride = static_cast<Index>(lanes) * block;
    for (Index first = static_cast<Index>(lane) * block; first < batch; first += stride) {
      run_operators(true, first, std::min(block, batch - first), lane);
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

const IntegerModel& Interpreter::model() const { return *impl_->model; }
Rounding Interpreter::rounding() const { return impl_->rounding; }
Index Interpreter::batch() const { return impl_->batch; }
void Interpreter::resize_batch(Index batch) { impl_->plan(batch); }
std::size_t Interpreter::arena_bytes() const { return impl_->arena_bytes; }
void Interpreter::invoke() { impl_->invoke(); }

}  // namespace octet
