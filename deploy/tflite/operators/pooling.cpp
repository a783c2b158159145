#include <octet/deploy/tflite/operators.h>

namespace octet::detail {
namespace {

OperatorAttributes read_pool(const TfliteOptions& from) {
  const auto* options = from.as<tflite::Pool2DOptions>();
  if (options == nullptr) fail_tflite("{}: its options are missing", from.who);
  return PoolAttributes{.padding = from.padding(options->padding()),
                        .stride_h = options->stride_h(),
                        .stride_w = options->stride_w(),
                        .filter_h = options->filter_height(),
                        .filter_w = options->filter_width(),
                        .activation = from.activation(options->fused_activation_function())};
}

WrittenOptions write_pool(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  const auto& a = o.op.as<PoolAttributes>();
  return {tflite::BuiltinOptions::Pool2DOptions,
          tflite::CreatePool2DOptions(builder, padding_of(a.padding), a.stride_w, a.stride_h,
                                      a.filter_w, a.filter_h, activation_of(o.op))
              .Union()};
}

constexpr TfliteOperator kPool = {.highest_version = 3,
                                  .required_version = version_of_types,
                                  .first_release = release_of_types,
                                  .read = read_pool,
                                  .write = write_pool};

OperatorAttributes read_mean(const TfliteOptions& from) {
  const auto* options = from.as<tflite::ReducerOptions>();
  if (options == nullptr) return MeanAttributes{};
  return MeanAttributes{.keep_dims = options->keep_dims()};
}

WrittenOptions write_mean(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return {tflite::BuiltinOptions::ReducerOptions,
          tflite::CreateReducerOptions(builder, o.op.as<MeanAttributes>().keep_dims).Union()};
}

int mean_release(int version) { return version >= 2 ? 11400 : 10600; }

}  // namespace

TfliteOperator tflite_forms::average_pool_2d() { return kPool; }
TfliteOperator tflite_forms::max_pool_2d() { return kPool; }

TfliteOperator tflite_forms::mean() {
  return {.highest_version = 2,
          .required_version = version_of_types,
          .first_release = mean_release,
          .read = read_mean,
          .write = write_mean};
}

}  // namespace octet::detail
