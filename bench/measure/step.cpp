#include <octet/bench/measure/measure.h>
#include <octet/bench/measure/reference.h>
#include <octet/bench/timing.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace octet::bench {
namespace {

/// Wall clock and processor time of the steps of one fit or several.
class StepTimes : public Callback {
 public:
  void on_fit_begin(Trainer& /*trainer*/, const History& /*history*/) override { begun_ = 0; }
  void on_step_begin(Trainer& /*trainer*/, std::uint64_t /*step*/) override {
    const double wall = now();
    const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    if (begun_++ > kWarm) {
      wall_.push_back(wall - last_wall_);
      cpu_.push_back(cpu - last_cpu_);
    }
    last_wall_ = wall;
    last_cpu_ = cpu;
  }

  /// Processor seconds of the quickest step.
  double cpu_min() const { return *std::ranges::min_element(cpu_); }

  void add_to(nlohmann::json& result) const {
    add(result, "s_per_step", "min", wall_);
    add(result, "cpu_s_per_step", "cpu_min", cpu_);
  }

 private:
  /// The first steps of a fit warm up.
  static constexpr int kWarm = 3;

  static void add(nlohmann::json& result, const char* median, const char* least,
                  std::vector<double> seconds) {
    std::ranges::sort(seconds);
    result[median] = seconds[seconds.size() / 2];
    result[least] = seconds.front();
  }

  int begun_ = 0;
  double last_wall_ = 0.0;
  double last_cpu_ = 0.0;
  std::vector<double> wall_;
  std::vector<double> cpu_;
};

}  // namespace

nlohmann::json measure_steps(const StepRequest& request) {
  const Reference of = reference(request.network, request.of);
  Model model = model_of(request);
  Trainer trainer(model, Adam(), options_of(request));
  const auto times = std::make_shared<StepTimes>();
  trainer.add_callback(times);
  const Dataset data = noise_for(of, request.batch * request.steps);
  const double begin = now();
  do {
    trainer.fit(data, 1);
  } while (now() - begin < request.seconds);
  double weights = 0.0;
  for (const NamedTensor& parameter : model.parameters()) {
    weights += static_cast<double>(parameter.tensor.size());
  }
  nlohmann::json result = {{"network", of.name}, {"batch", request.batch}, {"weights", weights}};
  times->add_to(result);
  result["peak_mb"] = peak_megabytes();
  return result;
}

namespace {

/// A network on the grids of some options, trained again and again.
class LowBitRun {
 public:
  LowBitRun(std::string name, const Model& network, const QuantizeOptions& options,
            std::size_t batch)
      : name_(std::move(name)),
        model_(std::make_unique<Model>(quantize_model(network, options))),
        trainer_(*model_, Adam(), {.batch_size = batch}) {
    trainer_.add_callback(times_);
  }

  void fit(const Dataset& data) {
    trainer_.fit(data, 1);
    seconds_ = std::min(seconds_, times_->cpu_min());
  }
  const std::string& name() const { return name_; }
  double seconds() const { return seconds_; }

 private:
  std::string name_;
  std::unique_ptr<Model> model_;
  Trainer trainer_;
  std::shared_ptr<StepTimes> times_ = std::make_shared<StepTimes>();
  double seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace

nlohmann::json measure_low_bits(const LowBitRequest& request) {
  constexpr std::size_t kStepsPerRound = 16;
  const Reference& of = reference(request.network);
  const Model network = make_network(of);
  const QuantizeOptions few{.weight_bits = request.bits, .activation_bits = request.bits};
  QuantizeOptions lsq = few;
  lsq.weight_scales = lsq.activation_scales = Scales::lsq;
  std::vector<std::unique_ptr<LowBitRun>> runs;
  const auto add = [&](std::string name, const QuantizeOptions& options) {
    runs.push_back(std::make_unique<LowBitRun>(std::move(name), network, options, request.batch));
  };
  add("8_bits", {});
  add("weights", {.weight_bits = request.bits});
  add("weights_lsq", {.weight_bits = request.bits, .weight_scales = Scales::lsq});
  add("all", few);
  add("all_lsq", lsq);
  const Dataset data = pixels_for(of, request.batch * kStepsPerRound);
  for (int round = 0; round < request.rounds; ++round) {
    for (const auto& run : runs) run->fit(data);
  }
  nlohmann::json result = {{"network", of.name}, {"batch", request.batch}, {"bits", request.bits}};
  for (const auto& run : runs) {
    result["cpu_us_" + run->name()] = 1e6 * run->seconds();
    result["ratio_" + run->name()] = run->seconds() / runs.front()->seconds();
  }
  return result;
}

}  // namespace octet::bench
