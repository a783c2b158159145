#pragma once

#include <octet/core/description.h>
#include <octet/core/registry.h>
#include <octet/layers/quantize/quantizer.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// Quantizers in files: observers and scale rules have names, and each is made again from its
// description.

namespace octet {

/// The observers and the scale rules that files may name: Octet's own and the registered.
Registry<Observer>& observer_registry();
Registry<ScaleRule>& scale_rule_registry();

/// Throws InvalidArgument, naming `call`, where observers and scale rules would share a name: a
/// file tells them by it.
void require_unused(bool used, std::string_view call, std::string_view type);

/// Lets models with observers of class T be saved and loaded; T::type() gives `type`. `make` gets
/// what T::describe() wrote:
///
///     register_observer<Permille>("Permille", [](const Description& d) {
///       return std::make_unique<Permille>(d.number("keep"));
///     });
///
/// Throws InvalidArgument for a name that stands for another class or for a scale rule.
template <class T>
void register_observer(std::string type,
                       std::function<std::unique_ptr<Observer>(const Description&)> make) {
  require_unused(scale_rule_registry().has(type), "register_observer", type);
  observer_registry().add<T>(std::move(type), std::move(make));
}

/// Lets models with scale rules of class T be saved and loaded, as register_observer() does.
template <class T>
void register_scale_rule(std::string type,
                         std::function<std::unique_ptr<ScaleRule>(const Description&)> make) {
  require_unused(observer_registry().has(type), "register_scale_rule", type);
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
