#include <fmt/core.h>
#include <octet/bench/measure/measure.h>
#include <octet/bench/networks.h>
#include <octet/bench/timing.h>
#include <octet/core/profile.h>

#include <fstream>
#include <optional>
#include <string>

namespace octet::bench {
namespace {

/// Remembers when the first step began.
class FirstStep : public Callback {
 public:
  void on_step_begin(Trainer& /*trainer*/, std::uint64_t step) override {
    if (step == 0) begin = now();
  }
  double begin = 0.0;
};

DataSplit read_data(const TrainRequest& request) {
  if (!request.data.empty()) return load_idx(request.data);
  return {noise(request.images), Dataset()};
}

/// Seconds that scoring `model` after an epoch takes.
void add_evaluation(nlohmann::json& result, const Trainer& trainer, const Dataset& test,
                    double epoch) {
  const double simulated = time_calls([&] { trainer.evaluate(test); }).median;
  result["simulated_share"] = simulated / epoch;
  if (!is_quantized(trainer.model())) return;
  const double integer = time_calls([&] { evaluate(trainer.lower(), test); }).median;
  result["integer_share"] = integer / epoch;
}

void add_profile(nlohmann::json& result, const Profile& profile) {
  const auto steps = static_cast<double>(profile.steps());
  for (int number = 0; const Profile::Entry& entry : profile.entries()) {
    result[fmt::format("phase {:02} {}", number++, entry.name)] = 1e6 * entry.seconds / steps;
  }
  result["explained"] = profile.explained();
  result["us_per_step"] = 1e6 * profile.whole_seconds() / steps;
}

}  // namespace

double peak_megabytes() {
  // getrusage() would count what the process had before it became this program.
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0.0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024.0 / 1e6;
  }
  return 0.0;
}

nlohmann::json measure_training(const TrainRequest& request, double begin) {
  const double before_data = now();
  const DataSplit data = read_data(request);
  const double read = now() - before_data;
  Shapes shapes;
  shapes.hidden.assign(request.hidden.begin(), request.hidden.end());
  shapes.inputs = data.train.example_shape().size();
  shapes.outputs = data.train.classes();
  Sequential model = mlp(shapes);
  if (request.quantized) model = quantize_model(model);
  Profile profile;
  Trainer trainer(model, Adam(),
                  {.batch_size = request.batch, .profile = request.profile ? &profile : nullptr});
  const auto first = std::make_shared<FirstStep>();
  trainer.add_callback(first);
  std::vector<double> seconds;
  for (const EpochRecord& epoch : trainer.fit(data.train, request.epochs)) {
    seconds.push_back(epoch.seconds);
  }
  const double epoch = median_epoch(seconds);
  nlohmann::json result = {{"s_per_epoch", epoch},
                           {"us_per_image", epoch * 1e6 / static_cast<double>(data.train.size())},
                           {"images", data.train.size()},
                           {"read_s", read},
                           {"start_s", first->begin - begin - read},
                           {"peak_mb", peak_megabytes()},
                           {"weights", shapes.weights()}};
  if (request.profile) add_profile(result, profile);
  if (!data.test.empty()) add_evaluation(result, trainer, data.test, epoch);
  return result;
}

}  // namespace octet::bench
