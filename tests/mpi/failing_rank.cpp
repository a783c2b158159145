// Trains on the ranks of mpirun until all but rank 0 fail in the second step of the third epoch.

#include <octet/core/error.h>
#include <octet/tests/train/training.h>
#include <octet/train/distributed/distributed.h>

#include <exception>

namespace {

using namespace octet;

constexpr std::uint64_t kStep = 9;

void train(Distributed& group) {
  Sequential model = test::small_mlp();
  Trainer trainer(model, Sgd(0.1F), {.batch_size = 10, .shards = 2, .group = &group});
  trainer.add_callback({.on_step_begin = [](Trainer& of, std::uint64_t step) {
    if (step == kStep && !of.is_root()) throw IoError("the sensor is gone");
  }});
  trainer.fit(test::clouds(40), 3);
}

}  // namespace

int main(int argc, char** argv) {
  Distributed group(argc, argv);
  try {
    train(group);
  } catch (const std::exception& error) {
    group.fail(error.what());
  }
  return 0;
}
