#pragma once

#include <octet/core/description.h>
#include <octet/core/registry.h>
#include <octet/layers/quantize/quantizer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

// Quantizers in files: observers and scale rules have names, and each is made again from its
// description.

namespace octet {

/// The observers and the scale rules that files may name: Octet's own and the registered.
Registry<Observer>& observer_registry();
Registry<ScaleRule>& scale_rule_registry();

/// Lets models with observers of class T be saved and loaded; T::type() gives `type`. `make` gets
/// what T::describe() wrote:
///
///     register_observer<Permille>("Permille", [](const Description& d) {
///       return std::make_unique<Permille>(d.number("keep"));
///     });
///
/// Throws InvalidArgument for a name that stands for another class.
template <class T>
void register_observer(std::string type,
                       std::function<std::unique_ptr<Observer>(const Description&)> make) {
  observer_registry().add<T>(std::move(type), std::move(make));
}

/// Lets models with scale rules of class T be saved and loaded, as register_observer() does.
template <class T>
void register_scale_rule(std::string type,
                         std::function<std::unique_ptr<ScaleRule>(const Description&)> make) {
  scale_rule_registry().add<T>(std::move(type), std::move(make));
}

/// What makes the quantizer anew: spec ("bits", "signed", "narrow", "symmetric", "axis",
/// "full_steps"), the observer's arguments and its name as "type"; with a scale rule all that as
/// "start", the rule's arguments and its name. Without a "type" for null. Throws InvalidArgument
/// for a class that is not registered.
Description describe(const Quantizer* quantizer);

/// The quantizer of a description, or null where it has no "type". Throws FormatError for a type
/// that is not registered, and for a description that its class refuses.
std::unique_ptr<Quantizer> make_quantizer(const Description& description);

}  // namespace octet
