#pragma once

#include <octet/bench/measure/reference.h>
#include <octet/layers/layer.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace octet::bench {

struct TrainRequest {
  bool quantized = false;
  std::size_t batch = 128;
  std::vector<std::int64_t> hidden = {256, 128};
  int epochs = 3;
  /// A folder with IDX files; empty: noise of `images` images.
  std::filesystem::path data;
  std::size_t images = 12'800;
  /// Adds the phases of a step: "phase NN <name>", microseconds a step, and explained, their share.
  bool profile = false;
};

/// Trains in this process, whose `begin` on the clock of bench/timing.h is given. s_per_epoch and
/// us_per_image are of the steps alone; start_s is what passes up to the first step beside reading
/// the data; evaluate_share and integer_share say what part of an epoch's seconds the evaluation
/// after it takes, and that of the integers alone (with test data only).
nlohmann::json measure_training(const TrainRequest& request, double begin);

struct StepRequest : TrainedNetwork {
  /// Steps of an epoch: at least 6, of which the first warm up.
  std::size_t steps = 30;
  /// Epochs are trained until so much time has passed, one at least.
  double seconds = 0.0;
};

/// Trains a network of examples/networks, or convolutions, on noise: seconds of the middle and of
/// the quickest step, by the wall clock (s_per_step, min) and of processor time (cpu_s_per_step,
/// cpu_min), and the number of weights. A step is all that Trainer::fit does for a batch.
nlohmann::json measure_steps(const StepRequest& request);

struct LowBitRequest {
  /// A classifier of TrainedNetwork, or mlp.
  std::string network = "mlp";
  std::size_t batch = 128;
  int bits = 4;
  int rounds = 10;
};

/// Steps of one network in turn, in rounds of this process: on 8 bits, with weights of `bits`, and
/// with weights and activations of so many, both with measured and with learned scales (lsq).
/// Processor time of the quickest step of each (cpu_us_...), and its ratio to that of 8 bits
/// (ratio_...).
nlohmann::json measure_low_bits(const LowBitRequest& request);

struct InferenceRequest {
  /// A network of TrainedNetwork.
  std::string network = "lenet5";
  std::int64_t batch = 1;
};

/// Times Interpreter::invoke on a network of examples/networks in integers: microseconds of the
/// middle and of the quickest sample, by the wall clock (us, min) and of processor time (cpu_us,
/// cpu_min).
nlohmann::json measure_invokes(const InferenceRequest& request);

struct StreamRequest {
  /// A network for sequences of references() that step_model() takes.
  std::string network = "gru64";
  bool quantized = true;
  /// Where to write PREFIX.tflite, PREFIX.onnx, PREFIX.json with the bytes of the first steps, and
  /// net.c and net.h beside them; empty: nowhere.
  std::filesystem::path prefix;
};

/// Times StreamingInterpreter::step(): microseconds as measure_invokes().
nlohmann::json measure_stream(const StreamRequest& request);

/// The most memory that this process has had in steps of training on one batch of noise (peak_mb).
nlohmann::json measure_training_memory(const TrainedNetwork& trained);

struct NetworkRequest {
  /// A network of TrainedNetwork other than convolutions.
  std::string network = "lenet5";
  /// Where to write its integers too, untrained; empty: nowhere.
  std::filesystem::path tflite;
};

/// What the programs of bench/peers read: "network", "classes" (0: trained to give back its input)
/// and "layers", each with its name, "op" (input, conv, depthwise, dense, maxpool, mean, add), the
/// entries that it reads ("from"), "in" and "out" [height, width, channels], whether a batch
/// normalization ("norm") and a clamp at 0 ("relu") follow, and of a window "kernel", "stride" and
/// "pad" (top, bottom, left, right). A softmax at the end is left to the loss.
nlohmann::json describe_network(const NetworkRequest& request);

/// Measures each network of examples/networks at its reference's size, in integers: bytes of the
/// .tflite file, flash and RAM of the C source, and what the interpreter asks for at batch 1:
/// tensors (arena_bytes), sums and patches of every thread (thread_bytes), packed weights.
nlohmann::json measure_deployment_memory();

/// Times Interpreter::invoke on the network that mnist_qat left in `run`, int8 and float in and
/// out, at batch 1, 32 and 10,000, and setting the interpreter up; `data` is a folder with IDX
/// files.
nlohmann::json measure_inference(const std::filesystem::path& run,
                                 const std::filesystem::path& data);

/// bench/peak.h.
nlohmann::json measure_peak();

/// The most memory that this process has had, in megabytes.
double peak_megabytes();

}  // namespace octet::bench
