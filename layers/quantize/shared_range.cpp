#include <octet/core/ops/ops.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/shared_range.h>

namespace octet {

void SharedRange::watch(Quantizer& quantizer, const Tensor& x, std::size_t position,
                        const ForwardContext& context) {
  if (!context.observes()) return;
  // A learned scale must not change once a step of this pass has read it.
  const bool learns = context.training() && !quantizer.parameters().empty();
  if (learns || !quantizer.has_range()) {
    if (position == 0) quantizer.watch(x, context);
    if (learns) return;
  }
  if (position == 0) seen_.clear();  // A pass that failed may have left some.
  seen_.push_back(x.detach().reshape({x.size()}));
  if (seen_.size() == count_) quantizer.watch(concatenate(std::exchange(seen_, {}), 0), context);
}

void watch_result(const StepScheme& scheme, const Tensor& real, const ForwardContext& context) {
  if (scheme.shared == nullptr) {
    scheme.result->watch(real, context);
  } else {
    scheme.shared->watch(*scheme.result, real, scheme.shared_position, context);
  }
}

void share_range(Program& program, std::size_t step) {
  StepScheme& scheme = *program.steps[step].scheme;
  if (scheme.result == nullptr) return;
  for (std::size_t i = 0; i < step; ++i) {
    StepScheme* const earlier = program.steps[i].scheme.get();
    if (earlier == nullptr || earlier->result != scheme.result) continue;
    if (earlier->shared == nullptr) {
      earlier->shared = std::make_shared<SharedRange>();
      earlier->shared_position = earlier->shared->join();
    }
    scheme.shared = earlier->shared;
    scheme.shared_position = scheme.shared->join();
    return;
  }
}

}  // namespace octet
