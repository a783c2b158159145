#pragma once

#include <octet/compress/bit_search.h>
#include <octet/compress/layer_flash.h>
#include <octet/octet.h>

#include <string>
#include <vector>

#include "options.h"

namespace octet::application {

/// Gives layers the bits of --layer-bits. Throws UsageError for names of none that has weights.
Model with_layer_bits(const Options& options, Model model);

/// Before anything is trained: throws InvalidArgument that names --flash and the smallest size
/// where the network cannot be made as small as that.
void check_flash(const Options& options, const Model& model, const QuantizeOptions& quantize);

/// Searches on the training examples, with all ranks, and writes the curve as bits.csv and bits.svg
/// in --out, on rank 0. `losses` are those of the outputs.
BitSearch search_bits(const Options& options, const Model& model, std::vector<OutputLoss> losses,
                      const Dataset& train, const QuantizeOptions& quantize, ProcessGroup& group);

/// What the search has found, for the screen.
std::string search_report(const Options& options, const BitSearch& search);

/// The layers of the quantized network, and their sum.
std::int64_t bytes_of(const std::vector<LayerFlash>& layers);
std::string flash_table(const Options& options, const std::vector<LayerFlash>& layers);

}  // namespace octet::application
