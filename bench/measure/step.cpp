#include <octet/bench/measure/measure.h>
#include <octet/bench/timing.h>
#include <octet/examples/networks/networks.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace octet::bench {
namespace {

/// A network as its reference has it.
struct Reference {
  std::string_view name;
  Shape example;
  /// 0 for a network that gives back what it is given.
  int classes;
};

const Reference& reference(std::string_view name) {
  static const std::array<Reference, 5> all = {{{"lenet5", {28, 28, 1}, 10},
                                                {"dscnn", {49, 10, 1}, 12},
                                                {"resnet8", {32, 32, 3}, 10},
                                                {"mobilenet", {96, 96, 3}, 2},
                                                {"autoencoder", {640}, 0}}};
  const auto* const found = std::ranges::find(all, name, &Reference::name);
  if (found != all.end()) return *found;
  throw InvalidArgument(
      "step: expected lenet5, dscnn, resnet8, mobilenet or autoencoder, found \"" +
      std::string(name) + "\"");
}

Model make_network(const Reference& of) {
  Model model = of.classes == 0 ? networks::autoencoder(of.example.size())
                                : networks::classifier(of.name).make(of.example, of.classes);
  model.build(/*seed=*/0);
  return model;
}

Dataset noise_for(const Reference& of, std::size_t count) {
  const Tensor x =
      Tensor::uniform(of.example.with_batch(static_cast<Index>(count)), Random(1), 0.0F, 1.0F);
  if (of.classes == 0) return Dataset::from_tensors("noise", x, x);
  std::vector<std::int32_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int32_t>(i) % of.classes;
  return Dataset::from_floats("noise", of.example, {x.span().begin(), x.span().end()},
                              std::move(labels), of.classes);
}

/// Wall clock and processor time at the beginning of every step.
class StepTimes : public Callback {
 public:
  void on_step_begin(Trainer& /*trainer*/, std::uint64_t /*step*/) override {
    wall_.push_back(now());
    cpu_.push_back(static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
  }

  void add_to(nlohmann::json& result) const {
    add(result, "s_per_step", "min", wall_);
    add(result, "cpu_s_per_step", "cpu_min", cpu_);
  }

 private:
  /// The first steps warm up.
  static constexpr std::size_t kWarm = 3;

  static void add(nlohmann::json& result, const char* median, const char* least,
                  const std::vector<double>& begins) {
    std::vector<double> seconds;
    for (std::size_t i = kWarm + 1; i < begins.size(); ++i) {
      seconds.push_back(begins[i] - begins[i - 1]);
    }
    std::ranges::sort(seconds);
    result[median] = seconds[seconds.size() / 2];
    result[least] = seconds.front();
  }

  std::vector<double> wall_;
  std::vector<double> cpu_;
};

}  // namespace

nlohmann::json measure_steps(const StepRequest& request) {
  const Reference& of = reference(request.network);
  Model model = make_network(of);
  if (request.quantized) model = quantize_model(model);
  TrainerOptions options{.batch_size = request.batch};
  if (of.classes == 0) options.loss = mean_squared_error();
  Trainer trainer(model, Adam(), options);
  const auto times = std::make_shared<StepTimes>();
  trainer.add_callback(times);
  trainer.fit(noise_for(of, request.batch * request.steps), 1);
  nlohmann::json result = {{"network", of.name}, {"batch", request.batch}};
  times->add_to(result);
  result["peak_mb"] = peak_megabytes();
  return result;
}

}  // namespace octet::bench
