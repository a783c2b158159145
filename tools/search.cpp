#include <fmt/core.h>
#include <octet/application/data.h>
#include <octet/application/losses.h>
#include <octet/compress/bit_search.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/parallel.h>
#include <octet/layers/lower.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "float_model.h"
#include "load_examples.h"
#include "show.h"

namespace octet::tools {
namespace {

using Json = nlohmann::ordered_json;

/// The training examples of a folder, or the arrays of an .npz file.
Dataset training_examples(const SearchOptions& options, const Model& model) {
  require_one_input(model, options.file, options.data);
  IntegerModel lowered = lower_float(model);
  lowered.metadata = metadata_of(options.file).metadata;
  return application::prepared_for(
      options.file, lowered,
      load_for(options.file, lowered, options.data, options.data_options).train);
}

BitSearch find(const SearchOptions& options, const Model& model, const Dataset& train) {
  BitSearchOptions how;
  how.samples = options.samples;
  application::set_losses(
      how, application::losses_of(options.losses, model, application::output_names(model), train));
  how.quantize.rounding = options.contract.chosen().value_or(Rounding::fp32);
  if (options.flash) return search_bits(model, train, *options.flash, how);
  return search_bits_for_drop(model, train, options.max_drop.value(), how);
}

Json json_of(const BitSearch& search, const BitAssignment& one) {
  Json bits;
  for (std::size_t i = 0; i < one.bits.size(); ++i) bits[search.layers[i].name] = one.bits[i];
  Json json = {{"bits", bits}, {"bytes", one.bytes}, {"predicted_loss", one.predicted.loss}};
  if (one.predicted.accuracy) json["predicted_accuracy"] = *one.predicted.accuracy;
  json["loss"] = one.measured->loss;
  if (one.measured->accuracy) json["accuracy"] = *one.measured->accuracy;
  return json;
}

void print_search_json(const SearchOptions& options, const BitSearch& search) {
  Json json = {{"file", options.file}};
  if (search.in_float.accuracy) {
    json["float_accuracy"] = *search.in_float.accuracy;
  } else {
    json["float_loss"] = search.in_float.loss;
  }
  json["chosen"] = json_of(search, search.chosen);
  for (const BitAssignment& one : search.measured) {
    json["measured"].push_back(json_of(search, one));
  }
  show_json(json);
}

void print_table(const BitSearch& search) {
  show("{:<22} {:>6} {:>12}\n", "layer", "bits", "bytes");
  std::size_t i = 0;
  for (const SearchedLayer& layer : search.layers) {
    const int bits = search.chosen.bits[i++];
    for (const WidthCost& width : layer.widths) {
      if (width.bits != bits) continue;
      show("{:<22} {:>6} {:>12}\n", printable(layer.name, kMostOfName), bits, width.bytes);
    }
  }
  show("{:<22} {:>6} {:>12}\n", "all others", "", search.fixed_bytes);
  show("{:<22} {:>6} {:>12}\n", "in all", "", search.chosen.bytes);
  const ModelScore& integers = *search.chosen.measured;
  if (integers.accuracy) {
    show("accuracy on training examples: float {:.2f} %, integers of these bits {:.2f} %\n",
         100.0 * search.in_float.accuracy.value(), 100.0 * *integers.accuracy);
  } else {
    show("loss on training examples: float {:.4g}, integers of these bits {:.4g}\n",
         search.in_float.loss, integers.loss);
  }
}

}  // namespace

void search(const SearchOptions& options) {
  if (options.threads > 0) set_num_threads(options.threads);
  const Model model = read_float_model(options.file);
  const BitSearch found = find(options, model, training_examples(options, model));
  const std::string name = std::filesystem::path(options.file).filename().string();
  if (!options.csv.empty()) write_file_atomic(options.csv, bit_curve_csv(found));
  if (!options.svg.empty()) write_file_atomic(options.svg, bit_curve_svg(found, name));
  if (options.json) {
    print_search_json(options, found);
  } else {
    print_table(found);
  }
}

}  // namespace octet::tools
