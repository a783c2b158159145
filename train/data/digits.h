#pragma once

#include <octet/train/data/dataset.h>

#include <cstddef>
#include <cstdint>

namespace octet {

/// Handwritten-looking digits that the program draws itself, for runs without a downloaded data
/// set: 28 x 28 bytes, ten classes in equal shares. Each is a stroke outline under a random warp,
/// with random pen, blur, contrast and noise. Example i of a set is a pure function of
/// (seed, train or test, i), so a smaller set is the head of a larger one and the number of threads
/// does not matter. Only integers and IEEE-754 single +, -, *, / and square root are used, so the
/// bytes are the same from every compiler that does not contract or reorder float arithmetic.
DataSplit make_digits(std::uint64_t seed = 0, std::size_t train_count = 60000,
                      std::size_t test_count = 10000);

}  // namespace octet
