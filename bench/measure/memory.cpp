#include <octet/bench/measure/measure.h>
#include <octet/bench/measure/reference.h>
#include <octet/deploy/c/writer.h>
#include <octet/runtime/kernel.h>

#include <algorithm>

namespace octet::bench {

nlohmann::json measure_training_memory(const TrainedNetwork& trained) {
  // Twice, since the optimizer's moments come into being in the first step.
  constexpr int kSteps = 2;
  const Reference of = reference(trained.network, trained.of);
  Model model = model_of(trained);
  Trainer trainer(model, Adam(), options_of(trained));
  trainer.fit(noise_for(of, trained.batch), kSteps);
  return {{"network", of.name}, {"batch", trained.batch}, {"peak_mb", peak_megabytes()}};
}

nlohmann::json measure_deployment_memory() {
  nlohmann::json list = nlohmann::json::array();
  for (const Reference& of : references()) {
    const IntegerModel model = integers_of(of);
    const CSource source = to_c_source(model, "network");
    std::size_t thread_bytes = 0;
    std::size_t packed_bytes = 0;
    for (const auto& kernel : detail::make_kernels(model, Rounding::fp32)) {
      thread_bytes = std::max(thread_bytes, kernel->thread_bytes(/*samples=*/1));
      packed_bytes += kernel->bytes();
    }
    list.push_back({{"network", of.name},
                    {"tflite_bytes", to_tflite(model).size()},
                    {"c_flash_bytes", source.flash_bytes},
                    {"c_ram_bytes", source.ram_bytes},
                    {"macs", source.macs},
                    {"arena_bytes", Interpreter(model).arena_bytes()},
                    {"thread_bytes", thread_bytes},
                    {"packed_weight_bytes", packed_bytes}});
  }
  return list;
}

}  // namespace octet::bench
