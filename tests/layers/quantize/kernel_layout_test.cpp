#include <octet/core/archive.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/architecture.h>
#include <octet/layers/lower.h>
#include <octet/tests/layers/quantize/integer_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <nlohmann/json.hpp>

// Kernels as integers take them: [inputs, units], a scale for all or one per unit. Any other is
// refused where the layer is built.

namespace octet::test::kernel_layout_test {
namespace {

std::shared_ptr<CustomConfig> kernel_on_axis(int axis) {
  const auto config = std::make_shared<CustomConfig>();
  config->kernel = [axis] {
    return std::make_unique<LastValueQuantizer>(
        QuantSpec{.narrow_range = true, .symmetric = true, .axis = axis});
  };
  return config;
}

TEST(KernelLayout, ScalesBelongToTheUnits) {
  for (const int axis : {-1, 1}) {
    QuantizeWrapper wrapper(std::make_unique<Dense>(3, Activation::none, "d"),
                            kernel_on_axis(axis));
    EXPECT_NO_THROW(wrapper.build({4}, Random()));
  }
  // As many inputs as units or not: the scales would be those of the inputs.
  for (const Index inputs : {Index{2}, Index{3}, Index{4}}) {
    QuantizeWrapper wrapper(std::make_unique<Dense>(3, Activation::none, "d"), kernel_on_axis(0));
    expect_throws<InvalidArgument>([&] { wrapper.build({inputs}, Random()); },
                                   {"\"quant_d\"", "axis 1", "axis 0"});
  }
}

TEST(KernelLayout, AFileWithScalesPerInputIsRefused) {
  Sequential net("m", Input({4}));
  net.add(quantize_annotate_layer(Dense(3, Activation::none, "d"), kernel_on_axis(1)));
  net.build();
  const Sequential model = quantize_apply(net);
  nlohmann::json json = nlohmann::json::parse(architecture_json(model));
  json["layers"][2]["kernel"]["axis"] = 0;
  Archive archive;
  for (const auto& [name, tensor] : model.saved_tensors()) {
    const bool per_unit = name == "quant_d/kernel_min" || name == "quant_d/kernel_max";
    archive.add(name, per_unit ? Tensor::zeros({4}) : tensor);
  }
  archive.add_text("architecture", json.dump());
  expect_throws<FormatError>([&] { static_cast<void>(model_from_archive(archive)); },
                             {"\"quant_d\"", "axis 1", "axis 0"});
}

TEST(KernelLayout, CodesNeedOneScaleOrOnePerUnit) {
  const auto dense = built(Dense(3), {4});
  const Tensor x = on_grid(Tensor::ones({2, 4}), 1.0F, 0);
  for (const std::size_t count : {2U, 4U}) {
    QuantParams kernel;
    kernel.scales.assign(count, 1.0F);
    kernel.zero_points.assign(count, 0);
    kernel.qmin = -127;
    kernel.qmax = 127;
    expect_throws<InvalidArgument>(
        [&] { integer_linear(*dense, x, kernel, Rounding::fp32, "owner"); },
        {"owner", "3 units", std::to_string(count) + " scales"});
  }
}

/// Kernel and bias as the test gives them; computes whatever a matrix product makes of them.
class OwnWeights : public Layer {
 public:
  OwnWeights(Shape kernel, Index bias, int unit_axis, Shape output)
      : Layer("own"),
        kernel_shape_(std::move(kernel)),
        bias_(bias),
        unit_axis_(unit_axis),
        output_(std::move(output)) {}
  std::string_view type() const override { return "OwnWeights"; }
  std::optional<LayerWeights> weights() const override {
    LayerWeights weights{kernel_, bias_values_, unit_axis_};
    weights.own_layout = [this](const Tensor& x, const Tensor&, const Tensor&) {
      return Tensor::zeros(output_.with_batch(x.dim(0)));
    };
    return weights;
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<OwnWeights>(*this); }

 protected:
  void make_tensors(std::span<const Shape> /*input_shapes*/, const Random& /*random*/) override {
    kernel_ = Tensor::ones(kernel_shape_);
    bias_values_ = Tensor::zeros({bias_});
  }
  Shape result_shape(std::span<const Shape> /*input_shapes*/) const override { return output_; }

 private:
  Shape kernel_shape_;
  Index bias_;
  int unit_axis_;
  Shape output_;
  Tensor kernel_;
  Tensor bias_values_;
};

TEST(KernelLayout, AnyOtherThanInputsByUnitsIsRefusedBeforeIntegersAreTrained) {
  struct Case {
    OwnWeights layer;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {{{3, 5}, 3, 0, {3}}, {"unit_axis 1", "0"}},  // [units, inputs], as PyTorch has it
      {{{5, 3, 1}, 3, 1, {3}}, {"[inputs, units]", "[5, 3, 1]"}},
      {{{4, 3}, 3, 1, {3}}, {"[inputs, units]", "[4, 3]", "[5]"}},
      {{{5, 3}, 2, 1, {3}}, {"a bias of 3", "[2]"}},
      {{{5, 3}, 3, 1, {3, 1}}, {"results [3]", "[3, 1]"}},
  };
  for (const auto& [layer, parts] : cases) {
    SCOPED_TRACE(parts.back());
    const Sequential model = build_model(Input({5}), layer);
    expect_throws<InvalidArgument>([&m = model] { static_cast<void>(quantize_model(m)); }, parts);
    expect_throws<InvalidArgument>([&m = model] { static_cast<void>(lower_float(m)); }, parts);
    // In floats the layer computes by itself.
    Sequential simulated = quantize_model(model, {.simulation = Simulation::fake_quant});
    EXPECT_NO_THROW(calibrate(simulated, Tensor::ones({2, 5})));
    expect_throws<InvalidArgument>([&] { static_cast<void>(lower(simulated)); }, parts);
  }
  const Sequential sound = build_model(Input({5}), OwnWeights({5, 3}, 3, 1, {3}));
  Sequential quantized = quantize_model(sound);
  calibrate(quantized, Tensor::ones({2, 5}));
  EXPECT_NO_THROW(static_cast<void>(lower(quantized)));
}

}  // namespace
}  // namespace octet::test::kernel_layout_test
