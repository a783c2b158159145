#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/normalization.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace octet {
namespace {

void require_fit(const Dataset& data, const Normalization& normalization) {
  if (data.inputs() != 1 || data.outputs() != 1) {
    throw InvalidArgument(fmt::format(
        "normalized: expected examples of one input and one output, found '{}' with {} and {}",
        data.name(), data.inputs(), data.outputs()));
  }
  normalization.require_fit(data.example_shape());
}

std::vector<float> normalized_values(const Tensor& features, const Dataset& data,
                                     const Normalization& normalization) {
  std::vector<float> values(features.span().begin(), features.span().end());
  normalization.apply(values, data.example_shape());
  return values;
}

/// Normalizes the examples of a set that is read.
class NormalizedReader : public DatasetReader {
 public:
  NormalizedReader(Dataset data, Normalization normalization)
      : data_(std::move(data)), normalization_(std::move(normalization)) {}

  std::size_t size() const override { return data_.size(); }
  Shape example_shape() const override { return data_.example_shape(); }
  int classes() const override { return data_.classes(); }
  Shape target_shape() const override {
    return data_.has_labels() ? Shape{1} : data_.target_shape();
  }
  std::span<const std::int32_t> labels() const override {
    return data_.labels_are_read() ? std::span<const std::int32_t>() : data_.labels();
  }
  std::string identity() const override {
    const std::string own = data_.identity();
    return own.empty() ? "" : own + " " + metadata_text(normalization_);
  }
  Batch read(std::span<const std::uint32_t> rows) override {
    Batch batch = data_.batch(rows);
    batch.features = Tensor::from(batch.features.shape(),
                                  normalized_values(batch.features, data_, normalization_));
    return batch;
  }

 private:
  Dataset data_;
  Normalization normalization_;
};

}  // namespace

bool has_step_mask(const Dataset& data) {
  return data.description() && data.description()->options.padding == SequencePadding::mask;
}

Normalization measure_normalization(const Dataset& data) {
  if (data.empty() || data.inputs() != 1) {
    throw InvalidArgument(fmt::format(
        "measure_normalization: expected examples of one input, found '{}' with {} of {}",
        data.name(), data.size(), data.inputs()));
  }
  const auto channels = static_cast<std::size_t>(data.example_shape().dim(-1));
  const bool masked = has_step_mask(data);
  double count = 0.0;
  std::vector<double> mean(channels, 0.0);
  std::vector<double> square(channels, 0.0);
  const auto for_each_value = [&](const auto& take) {
    constexpr std::size_t kValuesAtOnce = std::size_t{1} << 20U;
    const auto each = static_cast<std::size_t>(data.example_shape().size());
    const std::size_t count_at_once = std::max<std::size_t>(kValuesAtOnce / each, 1);
    for (std::size_t begin = 0; begin < data.size(); begin += count_at_once) {
      const Tensor rows = data.features(begin, std::min(data.size(), begin + count_at_once));
      const std::span<const float> values = rows.span();
      for (std::size_t place = 0; place < values.size(); place += channels) {
        // What fills a sequence up is none of it.
        if (masked && values[place + channels - 1] == 0.0F) continue;
        for (std::size_t c = 0; c < channels; ++c) take(c, double{values[place + c]});
      }
    }
  };
  for_each_value([&](std::size_t c, double value) {
    mean[c] += value;
    count += c == 0 ? 1.0 : 0.0;
  });
  for (double& sum : mean) sum /= count;
  for_each_value(
      [&](std::size_t c, double value) { square[c] += (value - mean[c]) * (value - mean[c]); });
  Normalization result;
  for (std::size_t c = 0; c < channels; ++c) {
    const double deviation = std::sqrt(square[c] / count);
    if (!std::isfinite(deviation)) {
      throw NumericError(fmt::format(
          "measure_normalization: expected finite values in '{}', found a deviation of {} in "
          "channel {}",
          data.name(), deviation, c));
    }
    result.mean.push_back(static_cast<float>(mean[c]));
    const auto narrowed = static_cast<float>(deviation);
    result.deviation.push_back(narrowed > 0.0F ? narrowed : 1.0F);
  }
  if (masked) {
    result.mean.back() = 0.0F;
    result.deviation.back() = 1.0F;
  }
  return result;
}

Dataset normalized(const Dataset& data, const Normalization& normalization) {
  require_fit(data, normalization);
  if (data.is_read()) {
    return data.with_features(
        Dataset::from_reader(data.name(), std::make_shared<NormalizedReader>(data, normalization)));
  }
  return data.with_features(
      Dataset::from_floats(data.name(), data.example_shape(),
                           normalized_values(data.features(0, data.size()), data, normalization),
                           Labels(data.size(), 0), 1));
}

}  // namespace octet
