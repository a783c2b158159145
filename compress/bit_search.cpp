#include <fmt/format.h>
#include <octet/compress/bit_knapsack.h>
#include <octet/compress/bit_search.h>
#include <octet/core/error.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/calibration_internal.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace octet {
namespace {

/// How many of the best predictions are run for real.
constexpr std::size_t kRunForReal = 5;

[[noreturn]] void refuse(const std::string& what) { throw InvalidArgument("search_bits: " + what); }

void check_widths(const BitSearchOptions& options) {
  const std::vector<int>& widths = options.widths;
  const bool ascending = std::ranges::adjacent_find(widths, std::greater_equal()) == widths.end();
  if (widths.empty() || !ascending || widths.front() < kLeastWeightBits ||
      widths.back() > kMostWeightBits) {
    refuse(fmt::format("expected ascending widths from {} to {} bits, found {{{}}}",
                       kLeastWeightBits, kMostWeightBits, fmt::join(widths, ", ")));
  }
}

void check_options(const BitSearchOptions& options, const Dataset& data) {
  check_widths(options);
  if (options.samples == 0 || options.calibration_samples == 0) {
    refuse(fmt::format("expected samples to measure and to calibrate on, found {} and {}",
                       options.samples, options.calibration_samples));
  }
  if (options.quantize.activation_bits > 8) {
    refuse(
        fmt::format("expected activations of 8 bits or fewer, whose bytes of flash are those of C "
                    "source, found {}; set_weight_bits() gives layers bits without a search",
                    options.quantize.activation_bits));
  }
  if (!options.loss) refuse("expected a loss, found none");
  if (data.empty()) {
    refuse(fmt::format("expected examples, found an empty data set, '{}'", data.name()));
  }
}

/// Bits are the layers' own affair; all others have 8.
QuantizeOptions with_8_bits(QuantizeOptions options) {
  options.weight_bits = kMostWeightBits;
  return options;
}

Model with_bits(Model model, const std::vector<SearchedLayer>& layers,
                const std::vector<int>& bits) {
  std::vector<LayerBits> named;
  for (std::size_t i = 0; i < layers.size(); ++i) named.push_back({layers[i].name, bits[i]});
  set_weight_bits(model, named);
  return model;
}

/// The layers to search, with their bytes, and the bytes of all others.
BitSearch unmeasured_search(const Model& model, const BitSearchOptions& options) {
  BitSearch result;
  for (const auto& layer : model.layers()) {
    if (is_searched(*layer)) result.layers.push_back({layer->name(), {}});
  }
  if (result.layers.empty()) {
    throw InvalidArgument(fmt::format(
        "search_bits: expected a layer with a kernel whose bits are not given, found none in "
        "\"{}\"",
        model.name()));
  }
  for (const int bits : options.widths) {
    const Model told =
        with_bits(model, result.layers, std::vector<int>(result.layers.size(), bits));
    result.fixed_bytes = 0;
    for (const LayerFlash& one :
         flash_by_layer(quantize_model(told, with_8_bits(options.quantize)))) {
      const auto searched = std::ranges::find(result.layers, one.layer, &SearchedLayer::name);
      if (searched == result.layers.end()) {
        result.fixed_bytes += one.bytes;
      } else {
        searched->widths.push_back({.bits = bits, .bytes = one.bytes});
      }
    }
  }
  return result;
}

/// With the narrowest width everywhere.
std::int64_t least_bytes(const BitSearch& search) {
  std::int64_t bytes = search.fixed_bytes;
  for (const SearchedLayer& layer : search.layers) bytes += layer.widths.front().bytes;
  return bytes;
}

/// A model whose layers get bits, and what that costs.
class Search {
 public:
  Search(const Model& model, const Dataset& data, const BitSearchOptions& options)
      : model_(model), options_(options), samples_(data.head(options.samples)) {
    losses_ = detail::losses_by_output("BitSearch", model_, options_.loss, {}, options_.losses);
    for (std::size_t k = 0; k < losses_.size(); ++k) require_output_for(losses_[k].loss, model_, k);
    result_ = unmeasured_search(model_, options_);
    result_.in_float = {loss_of(measure(model_, samples_, metrics(), options_.group))};
    if (has_accuracy()) {
      result_.in_float.accuracy = evaluate(model_, samples_, options_.group).accuracy;
    }
    calibration_ = fit_to_inputs(
        model_, samples_.batch(0, std::min(options_.calibration_samples, samples_.size())));
  }

  BitSearch within(std::int64_t budget) {
    result_.budget = budget;
    if (const std::int64_t least = least_bytes(result_); budget < least) {
      throw InvalidArgument(fmt::format(
          "search_bits: expected a budget of at least {} bytes, which model \"{}\" takes with {} "
          "bits in every layer that is searched, found {}; make the network smaller",
          least, model_.name(), options_.widths.front(), budget));
    }
    measure_sensitivity();
    const detail::BitKnapsack knapsack(items(), kRunForReal);
    make_curve(knapsack);
    const auto best = knapsack.best(budget - result_.fixed_bytes);
    run_for_real(best);
    const auto loss_of_one = [](const BitAssignment& one) { return one.measured->loss; };
    const auto least = std::ranges::min_element(result_.measured, {}, loss_of_one);
    result_.chosen = *least;
    use_what_is_left(best[static_cast<std::size_t>(least - result_.measured.begin())], budget);
    return std::move(result_);
  }

  BitSearch within_drop(double points) {
    result_.most_drop = points;
    measure_sensitivity();
    const detail::BitKnapsack knapsack(items(), kRunForReal);
    make_curve(knapsack);
    const auto front = knapsack.front();
    // The last item of every layer is the widest.
    detail::KnapsackChoice top = front.back();
    if (!holds(run_for_real(top))) {
      for (std::size_t i = 0; i < top.items.size(); ++i) {
        top.items[i] = result_.layers[i].widths.size() - 1;
      }
      if (!holds(run_for_real(top))) refuse_drop(points);
      choose_smallest_that_holds();
      return std::move(result_);
    }
    std::size_t first = 0;
    for (std::size_t end = front.size() - 1; first < end;) {
      const std::size_t middle = first + (end - first) / 2;
      if (holds(run_for_real(front[middle]))) {
        end = middle;
      } else {
        first = middle + 1;
      }
    }
    run_for_real(knapsack.best(front[first].bytes));
    choose_smallest_that_holds();
    return std::move(result_);
  }

 private:
  bool has_accuracy() const { return samples_.outputs() == 1 && samples_.has_labels(); }

  std::vector<OutputMetric> metrics() const {
    std::vector<OutputMetric> result;
    for (std::size_t k = 0; k < losses_.size(); ++k) {
      const std::string& output = losses_[k].output;
      result.push_back(
          {k, loss_metric(output.empty() ? "loss" : output + "_loss", losses_[k].loss)});
    }
    return result;
  }
  double loss_of(const std::vector<MetricValue>& values) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      sum += static_cast<double>(losses_[k].weight) * values[k].value;
    }
    return sum;
  }

  ModelScore run(const std::vector<int>& bits) const {
    Model quantized =
        quantize_model(with_bits(model_, result_.layers, bits), with_8_bits(options_.quantize));
    detail::show_samples(quantized, calibration_);
    const IntegerModel integers = lower(quantized);
    ModelScore result{loss_of(measure(integers, samples_, metrics()))};
    if (has_accuracy()) result.accuracy = evaluate(integers, samples_).accuracy;
    return result;
  }

  /// Runs those that are not in scores_ yet, shared out among the ranks.
  void run_all(const std::vector<std::vector<int>>& all) {
    std::vector<std::vector<int>> missing;
    for (const std::vector<int>& bits : all) {
      if (!scores_.contains(bits) && std::ranges::count(missing, bits) == 0) {
        missing.push_back(bits);
      }
    }
    const auto run_one = [&](std::size_t i, std::span<double> result) {
      const ModelScore score = run(missing[i]);
      result[0] = score.loss;
      result[1] = score.accuracy.value_or(0.0);
    };
    const std::vector<double> found =
        share_out(group_or_alone(options_.group), missing.size(), 2, run_one);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      ModelScore& score = scores_[missing[i]];
      score.loss = found[2 * i];
      if (has_accuracy()) score.accuracy = found[2 * i + 1];
    }
  }

  std::vector<int> widest() const {
    return std::vector(result_.layers.size(), options_.widths.back());
  }
  /// One layer at another width than the widest.
  std::vector<int> alone(std::size_t layer, int width) const {
    std::vector<int> bits = widest();
    bits[layer] = width;
    return bits;
  }

  void measure_sensitivity() {
    std::vector<std::vector<int>> all = {widest()};
    for (std::size_t i = 0; i < result_.layers.size(); ++i) {
      for (const int width : options_.widths) all.push_back(alone(i, width));
    }
    run_all(all);
    result_.widest = scores_.at(widest());
    for (std::size_t i = 0; i < result_.layers.size(); ++i) {
      for (WidthCost& width : result_.layers[i].widths) {
        const ModelScore& alone = scores_.at(this->alone(i, width.bits));
        width.loss_rise = alone.loss - result_.widest.loss;
        if (alone.accuracy) width.accuracy_drop = *result_.widest.accuracy - *alone.accuracy;
      }
    }
  }

  std::vector<std::vector<detail::KnapsackItem>> items() const {
    std::vector<std::vector<detail::KnapsackItem>> result;
    for (const SearchedLayer& layer : result_.layers) {
      auto& row = result.emplace_back();
      for (const WidthCost& width : layer.widths) row.push_back({width.bytes, width.loss_rise});
    }
    return result;
  }

  BitAssignment predicted(const detail::KnapsackChoice& choice) const {
    BitAssignment result;
    result.bytes = result_.fixed_bytes;
    result.predicted = result_.widest;
    for (std::size_t i = 0; i < choice.items.size(); ++i) {
      const WidthCost& width = result_.layers[i].widths[choice.items[i]];
      result.bits.push_back(width.bits);
      result.bytes += width.bytes;
      result.predicted.loss += width.loss_rise;
      if (auto& accuracy = result.predicted.accuracy) *accuracy -= width.accuracy_drop;
    }
    if (auto& accuracy = result.predicted.accuracy) *accuracy = std::clamp(*accuracy, 0.0, 1.0);
    return result;
  }

  void make_curve(const detail::BitKnapsack& knapsack) {
    for (const auto& choice : knapsack.front()) result_.curve.push_back(predicted(choice));
  }

  void run_for_real(const std::vector<detail::KnapsackChoice>& choices) {
    std::vector<std::vector<int>> all;
    all.reserve(choices.size());
    for (const auto& choice : choices) all.push_back(predicted(choice).bits);
    run_all(all);
    for (const auto& choice : choices) run_for_real(choice);
  }

  /// Measures an assignment, once, and notes it on the curve too.
  BitAssignment run_for_real(const detail::KnapsackChoice& choice) {
    BitAssignment one = predicted(choice);
    const auto is_this = [&](const BitAssignment& other) { return other.bits == one.bits; };
    const auto before = std::ranges::find_if(result_.measured, is_this);
    if (before != result_.measured.end()) return *before;
    run_all({one.bits});
    one.measured = scores_.at(one.bits);
    result_.measured.push_back(one);
    const auto on_curve = std::ranges::find_if(result_.curve, is_this);
    if (on_curve != result_.curve.end()) on_curve->measured = one.measured;
    return one;
  }

  /// By how much a loss may be off, as a mean over so many samples.
  double noise() const {
    return std::abs(result_.widest.loss) / std::sqrt(static_cast<double>(samples_.size()));
  }

  /// Gives layers of the chosen assignment the bytes that it leaves, where the samples do not tell
  /// that more bits are worse.
  void use_what_is_left(detail::KnapsackChoice choice, std::int64_t budget) {
    while (const auto layer = layer_to_widen(choice, budget)) ++choice.items[*layer];
    if (predicted(choice).bits == result_.chosen.bits) return;
    const BitAssignment wider = run_for_real(choice);
    if (wider.measured->loss <= result_.chosen.measured->loss + noise()) result_.chosen = wider;
  }

  /// The layer of the fewest bits that takes its next width within the budget.
  std::optional<std::size_t> layer_to_widen(const detail::KnapsackChoice& choice,
                                            std::int64_t budget) const {
    const std::int64_t left = budget - predicted(choice).bytes;
    std::optional<std::size_t> found;
    int fewest = kMostWeightBits;
    for (std::size_t i = 0; i < choice.items.size(); ++i) {
      const std::vector<WidthCost>& widths = result_.layers[i].widths;
      const std::size_t item = choice.items[i];
      if (item + 1 == widths.size() || widths[item].bits >= fewest) continue;
      if (widths[item + 1].bytes - widths[item].bytes > left) continue;
      if (widths[item + 1].loss_rise > widths[item].loss_rise + noise()) continue;
      found = i;
      fewest = widths[item].bits;
    }
    return found;
  }

  /// In percentage points.
  double drop(const ModelScore& score) const {
    return 100.0 * (*result_.in_float.accuracy - *score.accuracy);
  }
  /// A drop of that many examples exactly holds, however its share is rounded.
  bool holds(const BitAssignment& one) const {
    return drop(*one.measured) <= *result_.most_drop + 1e-9;
  }

  void choose_smallest_that_holds() {
    const BitAssignment* best = nullptr;
    const auto rank = [](const BitAssignment& one) {
      return std::tuple(one.bytes, one.measured->loss, one.bits);
    };
    for (const BitAssignment& one : result_.measured) {
      if (holds(one) && (best == nullptr || rank(one) < rank(*best))) best = &one;
    }
    result_.chosen = *best;
  }

  [[noreturn]] void refuse_drop(double points) const {
    throw InvalidArgument(fmt::format(
        "search_bits_for_drop: expected a drop that {} bits in every layer keep to, found {} "
        "points: they lose {:.3f} on '{}'; allow more, or train with quantization in the loop at "
        "{} bits",
        options_.widths.back(), points, drop(result_.widest), samples_.name(),
        options_.widths.back()));
  }

  const Model& model_;
  const BitSearchOptions& options_;
  Dataset samples_;
  /// By output of the model, and by input of it.
  std::vector<OutputLoss> losses_;
  std::vector<Tensor> calibration_;
  BitSearch result_;
  /// Scores of the assignments that were run, by their bits.
  std::map<std::vector<int>, ModelScore> scores_;
};

}  // namespace

bool is_searched(const Layer& layer) {
  const LayerQuantization& own = layer.quantization();
  return layer.weights() && layer.annotation() == nullptr && !own.weight_bits && !own.in_float;
}

std::vector<LayerBits> BitSearch::chosen_bits() const {
  std::vector<LayerBits> result;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    result.push_back({layers[i].name, chosen.bits[i]});
  }
  return result;
}

std::int64_t least_flash(const Model& model, const BitSearchOptions& options) {
  check_widths(options);
  return least_bytes(unmeasured_search(model, options));
}

BitSearch search_bits(const Model& model, const Dataset& data, std::int64_t budget,
                      const BitSearchOptions& options) {
  check_options(options, data);
  return Search(model, data, options).within(budget);
}

BitSearch search_bits_for_drop(const Model& model, const Dataset& data, double points,
                               const BitSearchOptions& options) {
  check_options(options, data);
  if (!(points >= 0.0 && points <= 100.0)) {
    throw InvalidArgument(
        fmt::format("search_bits_for_drop: expected 0 to 100 percentage points, found {}", points));
  }
  if (data.outputs() > 1 || !data.has_labels()) {
    throw InvalidArgument(
        fmt::format("search_bits_for_drop: expected class labels of one output, found {} in '{}'; "
                    "search_bits(), --flash of commands, takes a budget instead",
                    data.outputs() > 1 ? fmt::format("targets for {}", data.outputs())
                                       : "targets of shape " + data.target_shape().to_string(),
                    data.name()));
  }
  return Search(model, data, options).within_drop(points);
}

}  // namespace octet
