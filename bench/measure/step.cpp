#include <octet/bench/measure/measure.h>
#include <octet/bench/measure/reference.h>
#include <octet/bench/timing.h>

#include <algorithm>
#include <ctime>

namespace octet::bench {
namespace {

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
