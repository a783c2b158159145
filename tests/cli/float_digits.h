#pragma once

#include <octet/layers/layers.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/idx.h>

#include <string>

namespace octet::test {

/// A test with a folder of its own that holds a data set, "set", and a float network that has
/// learned it a little, "float.octet".
class FloatDigits : public ::testing::Test {
 protected:
  FloatDigits() {
    write_set(path("set"), 400, 50);
    data_ = load_idx(path("set"));
    model_ = Sequential("digits", Input({63}), Dense(14, Activation::relu),
                        Dense(4, Activation::softmax));
    model_.build(1);
    Trainer(model_, Adam(0.01F), {.batch_size = 32}).fit(data_.train, 2);
    model_.save(path("float.octet"));
  }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }
  /// Runs a command of `octet` on the network and the data set.
  ProcessResult octet_on_digits(const std::string& command, const Arguments& more) const {
    return run_process(
        Arguments{OCTET_TOOL, command, path("float.octet"), "--data", path("set")} + more,
        plain_environment());
  }

  DataSplit data_;
  Sequential model_;

 private:
  ScratchDirectory scratch_;
};

}  // namespace octet::test
