#pragma once

#include <octet/core/function_ref.h>
#include <octet/runtime/interpreter.h>
#include <octet/runtime/kernel.h>
#include <octet/runtime/memory_plan.h>

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace octet {
namespace detail {

struct FreeArena {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};
using Arena = std::unique_ptr<std::byte[], FreeArena>;

}  // namespace detail

struct Interpreter::Impl {
  Impl(std::shared_ptr<const IntegerModel> source, const InterpreterOptions& wanted);

  void mark_tensors();
  /// Throws InvalidArgument before it allocates more than max_bytes.
  void make_kernels();
  void plan(Index new_batch);
  void check_memory(Index new_batch) const;
  void check_total(std::size_t planned) const;
  /// What the threads keep beside tensors and weights.
  std::size_t thread_bytes() const;
  void cut(Index new_batch);
  std::vector<detail::MemoryUse> memory_uses(bool of_lane) const;
  void place_tensors(const detail::MemoryPlan& shared, const detail::MemoryPlan& of_lane);
  void invoke();
  /// What the lane reads after its block from sample `first` on; nothing where that was its last.
  std::span<const std::byte> read_after(Index first) const;
  /// Lays out what each operator runs on where all samples go through it at once.
  void prepare_arguments();
  /// The operators whose outputs are (or are not) per sample: of all samples at once, or of `count`
  /// samples from `first` on, in the memory of `lane`.
  void run_at_once(bool on_samples) const;
  void run_block(Index first, Index count, std::size_t lane);
  /// Bytes from the tensor's start to its sample `first`, or to its block of this lane.
  std::size_t offset(std::int32_t tensor, Index first, std::size_t lane) const;

  Index samples_of(std::int32_t tensor) const { return batched[at(tensor)] ? batch : 1; }
  std::size_t sample_bytes(std::int32_t index) const {
    return detail::sample_bytes(model->tensors[at(index)]);
  }
  std::size_t bytes_of(std::int32_t index) const {
    return static_cast<std::size_t>(samples_of(index)) * sample_bytes(index);
  }
  TensorDetails details(std::int32_t index) const;
  std::vector<TensorDetails> details(const std::vector<std::int32_t>& indices) const;

  /// Runs all samples of `size` values in batches: `set(begin, end)` puts values of whole samples
  /// into the first input, `take(samples)` reads the outputs of that many.
  void run_samples(std::size_t size, FunctionRef<void(std::size_t begin, std::size_t end)> set,
                   FunctionRef<void(Index samples)> take);
  /// The class of each sample.
  std::vector<std::int32_t> labels_of(std::size_t size,
                                      FunctionRef<void(std::size_t begin, std::size_t end)> set);
  /// Sets the values of input number `i`.
  void set_input(std::span<const float> values, std::size_t i = 0);
  /// How many samples the values of all inputs are. Throws as Interpreter::run_all().
  std::size_t samples_in(std::span<const std::span<const float>> inputs) const;
  template <class Code>
  void quantize_input(std::span<const float> values, const ModelTensor& tensor, Code* to) const;
  /// The bytes of a sample of output `i`.
  const std::byte* output_of(Index sample, std::size_t i = 0) const;
  /// Writes a sample of output `i` as real values; there are as many as the tensor has elements.
  void real_output(Index sample, std::span<float> to, std::size_t i = 0) const;
  /// The class of a sample: see decision_threshold().
  std::int32_t label(Index sample, std::optional<float> threshold) const;

  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

  std::shared_ptr<const IntegerModel> model;
  InterpreterOptions options;
  Rounding rounding = Rounding::fp32;
  Index batch = 1;
  /// Samples that go through all operators before the next ones do, and how many such blocks are
  /// under way at a time, each on a thread and with intermediate tensors of its own.
  Index block = 1;
  std::size_t lanes = 1;
  /// By tensor. computed: it is written at run time. batched: it has one value per sample; a tensor
  /// that is derived from constants alone has one for all.
  std::vector<bool> computed;
  std::vector<bool> batched;
  std::vector<bool> is_input;
  std::vector<bool> is_output;
  std::vector<std::unique_ptr<detail::Kernel>> kernels;
  /// The operator with the most weights: the longest to run.
  std::size_t longest = 0;
  /// What the kernels keep of their constants, and what that and the arena may come to.
  std::size_t kernel_bytes = 0;
  std::size_t max_bytes = 0;
  /// The plan's memory: what is there once, and then what each lane has.
  std::size_t arena_bytes = 0;
  std::size_t lane_bytes = 0;
  detail::Arena arena;
  /// By tensor: where to write (null for a constant), and where to read.
  std::vector<std::byte*> writable;
  std::vector<const std::byte*> readable;
  /// By tensor: whether each lane has its own, of `block` samples.
  std::vector<bool> per_lane;
  /// By operator: its inputs, outputs and arguments where all samples go through it at once.
  std::vector<std::vector<detail::KernelInput>> inputs_at_once;
  std::vector<std::vector<std::byte*>> outputs_at_once;
  std::vector<detail::KernelArguments> at_once;
};

}  // namespace octet
