#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

constexpr TfliteOperator kPool = {.highest_version = 3,
                                  .required_version = version_of_types,
                                  .first_release = release_of_types,
                                  .options = kRequired<tflite::Pool2DOptions, PoolAttributes>};

int mean_release(int version) { return version >= 2 ? 11400 : 10600; }

}  // namespace

TfliteOperator tflite_forms::average_pool_2d() { return kPool; }
TfliteOperator tflite_forms::max_pool_2d() { return kPool; }

TfliteOperator tflite_forms::mean() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = mean_release,
          .options = kOptional<tflite::ReducerOptions, MeanAttributes>};
}

}  // namespace octet::detail
