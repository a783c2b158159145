// Trains and saves a checkpoint after every step until it is killed: save_loop CHECKPOINT.

#include <fmt/core.h>
#include <octet/tests/train/training.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    using namespace octet;
    set_num_threads(1);
    const Dataset data = test::clouds(64, 1, 40);
    Sequential model = test::small_mlp(0, 40, 50);
    Trainer trainer(model, Adam(), {.batch_size = 1 << 10});
    std::puts("ready");
    std::fflush(stdout);
    for (int epoch = 1;; ++epoch) {
      trainer.fit(data, 1);
      trainer.save_checkpoint(argv[1], {{"epoch", fmt::format("{}", epoch)}});
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "save_loop: %s\n", error.what());
    return 1;
  }
}
