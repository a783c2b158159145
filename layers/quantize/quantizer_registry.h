#pragma once

#include <octet/core/description.h>
#include <octet/core/registry.h>
#include <octet/layers/quantize/quantizer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

// Quantizers in files: each class has a name and is made again from its description.

namespace octet {

/// The classes of quantizers that files may name: Octet's own and the registered.
Registry<Quantizer>& quantizer_registry();

/// Lets models with quantizers of class T be saved and loaded; T::type() gives `type`. `make` gets
/// what T::describe() wrote:
///
///     register_quantizer<Permille>("Permille", [](const Description& d) {
///       return std::make_unique<Permille>(quant_spec_from(d), d.number("keep"));
///     });
///
/// Throws InvalidArgument for a name that stands for another class.
template <class T>
void register_quantizer(std::string type,
                        std::function<std::unique_ptr<Quantizer>(const Description&)> make) {
  quantizer_registry().add<T>(std::move(type), std::move(make));
}

/// The spec in a quantizer's description. Throws FormatError for one that no quantizer can have.
QuantSpec quant_spec_from(const Description& description);

/// What makes the quantizer anew: its describe() and its "type"; without a "type" for null. Throws
/// InvalidArgument for a class that is not registered.
Description describe(const Quantizer* quantizer);

/// The quantizer of a description, or null where it has no "type". Throws FormatError for a type
/// that is not registered, and for a description that its class refuses.
std::unique_ptr<Quantizer> make_quantizer(const Description& description);

}  // namespace octet
