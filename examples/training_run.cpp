// A run that can be stopped: Ctrl-C saves it, --resume goes on, and the end is the same to the
// byte.
#include <fmt/core.h>
#include <octet/octet.h>

#include <exception>
#include <string_view>

namespace {

using namespace octet;

/// False where a signal stopped the run.
bool train(bool resume, const StopSignals& signals) {
  TrainingRun run({.folder = "digits_run",
                   .phases = {"float", "qat"},
                   .options = {{"hidden", "128"}},
                   .resume = resume});
  const DataSplit data = make_digits(/*seed=*/0, /*train_count=*/20000, /*test_count=*/2000);
  run.begin(data);

  Sequential model("digits", Input({28, 28}), Flatten(), Dense(128, Activation::relu),
                   Dense(10, Activation::softmax));
  model.build(/*seed=*/0);
  const auto should_stop = [&signals] { return signals.requested(); };
  if (run.needs("float")) {
    Trainer trainer(model, Adam(), {.should_stop = should_stop});
    trainer.add_callback(std::make_shared<ProgressBar>(stdout));
    if (!run.fit("float", trainer, /*epochs=*/3)) return false;
    run.keep("accuracy", trainer.evaluate(data.test).accuracy);
  }

  Sequential quantized = quantize_model(model);
  Trainer trainer(quantized, Adam(1e-4F), {.should_stop = should_stop});
  trainer.add_callback(std::make_shared<ProgressBar>(stdout));
  if (!run.fit("qat", trainer, /*epochs=*/2)) return false;
  trainer.export_int8(run.folder() / "digits_int8.tflite");
  const RunReport report = run.finish(run.folder() / "digits_int8.tflite");
  fmt::print("accuracy in float: {}\n{}  digits_int8.tflite\n", run.kept("float", "accuracy"),
             report.hashes.model);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const StopSignals signals;
    if (train(argc > 1 && std::string_view(argv[1]) == "--resume", signals)) return 0;
    fmt::print("to go on: {}\n", resume_command(argc, argv, "--resume"));
    return 128 + signals.signal();
  } catch (const std::exception& error) {
    fmt::print(stderr, "training_run: {}\n", error.what());
    return 1;
  }
}
