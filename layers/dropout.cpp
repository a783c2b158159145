#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/dropout.h>

namespace octet {

Dropout::Dropout(float rate, std::string name) : Layer(std::move(name)), rate_(rate) {
  if (!(rate >= 0.0F && rate < 1.0F)) {
    throw InvalidArgument(fmt::format("Dropout: expected a rate in [0, 1), found {}", rate));
  }
}

Tensor Dropout::forward(const Tensor& x, const ForwardContext& context) {
  if (!context.training() || rate_ == 0.0F) return x;
  Tensor mask(x.shape());
  const float kept = range_factor(context);
  parallel_for(static_cast<std::size_t>(x.size()), parallel_grain(Work::draw_uniforms),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   mask.data()[i] = context.random.uniform(i) < rate_ ? 0.0F : kept;
                 }
               });
  Tensor y = x * mask;
  if (const auto& from = detail::TensorAccess::grid(x)) {
    // The codes of x stay those of y: what is dropped is the code of 0, the rest is on wider steps.
    auto grid = std::make_shared<QuantParams>(*from);
    for (float& scale : grid->scales) scale *= kept;
    detail::TensorAccess::set_grid(y, std::move(grid));
  }
  return y;
}

std::int32_t Dropout::lower(Lowering& /*lowering*/, std::span<const std::int32_t> inputs) const {
  return inputs[0];
}

void Dropout::describe(Description& description) const { description.set("rate", double{rate_}); }

std::unique_ptr<Layer> Dropout::clone() const { return std::make_unique<Dropout>(*this); }

Shape Dropout::do_build(const Shape& input_shape, const Random& /*random*/) { return input_shape; }

std::unique_ptr<Layer> Dropout::make(const Description& d) {
  return std::make_unique<Dropout>(d.float_number("rate"));
}

}  // namespace octet
