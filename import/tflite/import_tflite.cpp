#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/core/text.h>
#include <octet/deploy/tflite/cut.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/import/tflite/normalization.h>
#include <octet/import/tflite/operator_layers.h>
#include <octet/import/tflite/real_model.h>
#include <octet/import/tflite/svdf.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace octet {
namespace {

using detail::OperatorLayers;

constexpr std::size_t kMostListed = 20;
constexpr std::size_t kLongestName = 64;

const ModelTensor& tensor_at(const IntegerModel& source, std::int32_t index) {
  return source.tensors.at(static_cast<std::size_t>(index));
}

/// The indices that GATHER looks up, which an Embedding takes as floats, and those that ARG_MAX
/// gives, which is refused for what it is.
std::set<std::int32_t> indices_in(const IntegerModel& source) {
  std::set<std::int32_t> found;
  for (const Operator& op : source.operators) {
    if (op.code == OpCode::gather) found.insert(op.inputs.at(0));
  }
  for (const Operator& op : source.operators) {
    if (op.code == OpCode::gather) continue;
    for (const std::int32_t input : op.inputs) found.erase(input);
  }
  for (const Operator& op : source.operators) {
    if (op.code == OpCode::arg_max) found.insert(op.outputs.at(0));
  }
  return found;
}

/// Throws where a computed tensor is no batch of reals.
void require_float(const IntegerModel& source) {
  const std::set<std::int32_t> indices = indices_in(source);
  for (std::int32_t i = 0; i < std::ssize(source.tensors); ++i) {
    const ModelTensor& tensor = tensor_at(source, i);
    if (tensor.is_constant() || tensor.dtype == DType::float32) continue;
    if (tensor.dtype == DType::int32 && indices.contains(i)) continue;
    throw FormatError(
        fmt::format("import_tflite: expected values of float32 or codes with a scale, found tensor "
                    "\"{}\" of type {} without one",
                    printable(tensor.name), to_string(tensor.dtype)));
  }
  for (const std::int32_t input : source.inputs) {
    if (!tensor_at(source, input).shape.empty()) continue;
    throw FormatError(fmt::format("import_tflite: input \"{}\" has no batch axis",
                                  printable(tensor_at(source, input).name)));
  }
}

/// Operators that are one layer together, by the last of them.
using Composites = std::map<std::size_t, OperatorLayers>;

/// The tensors from which the model's outputs follow.
std::set<std::int32_t> read_tensors(const IntegerModel& source, const Composites& composites) {
  std::set<std::int32_t> read(source.outputs.begin(), source.outputs.end());
  for (std::size_t i = source.operators.size(); i-- > 0;) {
    const Operator& op = source.operators[i];
    const auto is_read = [&](std::int32_t output) { return read.contains(output); };
    if (std::ranges::none_of(op.outputs, is_read)) continue;
    const auto composite = composites.find(i);
    const auto& inputs = composite == composites.end() ? op.inputs : composite->second.inputs;
    read.insert(inputs.begin(), inputs.end());
  }
  return read;
}

/// Adds the results of operators that cannot be imported to `refusals`.
std::vector<OperatorLayers> convert_all(const IntegerModel& source,
                                        std::set<std::int32_t>& refusals) {
  std::vector<OperatorLayers> all;
  std::string refused;
  std::size_t count = 0;
  Composites composites = detail::normalizations_of(source);
  const std::set<std::int32_t> read = read_tensors(source, composites);
  for (std::size_t i = 0; i < source.operators.size(); ++i) {
    const Operator& op = source.operators[i];
    try {
      for (std::size_t result = 0; result < op.outputs.size(); ++result) {
        // What nothing reads is left out: some of the results of a SPLIT, parts of a composite.
        if (!read.contains(op.outputs[result])) continue;
        const auto composite = composites.find(i);
        all.push_back(composite == composites.end() ? detail::layers_of(source, op, result)
                                                    : std::move(composite->second));
      }
    } catch (const Error& error) {
      refusals.insert(op.outputs.begin(), op.outputs.end());
      if (++count > kMostListed) continue;
      const std::string result = op.outputs.empty() ? "" : tensor_at(source, op.outputs[0]).name;
      refused += fmt::format("\n  operator {} ({}, \"{}\"): {}", i, to_string(op.code),
                             printable(result), error.what());
    }
  }
  if (count > 0) {
    throw FormatError(
        fmt::format("import_tflite: {} of {} operators can be imported; not these:{}{}",
                    source.operators.size() - count, source.operators.size(), refused,
                    count > kMostListed ? "\n  ..." : ""));
  }
  return all;
}

/// The name of a tensor where a layer can have it.
bool is_name(const std::string& tensor) {
  const auto plain = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return !tensor.empty() && tensor.size() <= kLongestName && std::ranges::all_of(tensor, plain);
}

class ImportedGraph {
 public:
  explicit ImportedGraph(const IntegerModel& source)
      : source_(source), model_(source.name.empty() ? "model" : source.name) {}

  Model build(std::set<std::int32_t>& refusals, ImportReport* report) {
    std::vector<OperatorLayers> converted = convert_all(source_, refusals);
    for (const std::int32_t input : source_.inputs) {
      const ModelTensor& tensor = tensor_at(source_, input);
      values_[input] = model_.input(tensor.example_shape(), name_for(tensor.name, "input"));
    }
    for (OperatorLayers& layers : converted) add(std::move(layers));
    for (const std::int32_t output : source_.outputs) model_.output(value_of(output));
    model_.build();
    for (const auto& [layer, tensors] : weights_) set_weights(*model_.layers()[layer], tensors);
    check_shapes();
    report_.nodes = source_.operators.size();
    if (report != nullptr) *report = std::move(report_);
    return std::move(model_);
  }

 private:
  const Value& value_of(std::int32_t tensor) const {
    const auto found = values_.find(tensor);
    if (found != values_.end()) return found->second;
    throw FormatError(fmt::format("import_tflite: no operator computes tensor \"{}\"",
                                  printable(tensor_at(source_, tensor).name)));
  }

  void add(OperatorLayers converted) {
    ImportReport::Made made{
        std::string(to_string(converted.code)), tensor_at(source_, converted.result).name, {}};
    if (converted.code == OpCode::transpose) ++report_.transposes;
    std::vector<Value> reads;
    for (const std::int32_t input : converted.inputs) reads.push_back(value_of(input));
    const auto append = [&](std::unique_ptr<Layer> layer, bool is_last) {
      const std::string& result = tensor_at(source_, converted.result).name;
      layer->set_name(name_for(is_last ? result : "", to_string(converted.code)));
      made.layers.push_back(layer->name());
      reads = {model_.add(std::move(layer), reads)};
    };
    for (std::size_t i = 0; i < converted.layers.size(); ++i) {
      if (i == converted.weighted && !converted.weights.empty()) {
        weights_.emplace_back(model_.layers().size(), std::move(converted.weights));
      }
      append(std::move(converted.layers[i]),
             i + 1 == converted.layers.size() && !converted.last.has_value());
    }
    if (converted.last) {
      weights_.emplace_back(model_.layers().size(), std::move(converted.last->tensors));
      append(std::move(converted.last->layer), true);
    }
    values_[converted.result] = reads.front();
    report_.made.push_back(std::move(made));
    // A CAST of indices, which stay floats, has no layer.
    if (converted.layers.empty() && !converted.last) return;
    results_.emplace_back(model_.layers().size() - 1, converted.result);
  }

  /// `tensor` where a layer can have that name and none has it, otherwise a new one. Not the
  /// model's automatic names, which take time with the square of the layers.
  std::string name_for(const std::string& tensor, std::string_view kind) {
    if (is_name(tensor) && names_.insert(tensor).second) return tensor;
    std::string name = fmt::format("{}_{}", lower_case(kind), model_.layers().size());
    while (!names_.insert(name).second) name += '_';
    return name;
  }

  static void set_weights(const Layer& layer, const std::vector<NamedTensor>& weights) {
    std::vector<NamedTensor> own = layer.parameters();
    append(own, layer.state());
    for (NamedTensor& target : own) {
      const auto from = std::ranges::find(weights, target.name, &NamedTensor::name);
      if (from == weights.end() || from->tensor.size() != target.tensor.size()) {
        throw FormatError(fmt::format("import_tflite: layer \"{}\" wants {} of {}", layer.name(),
                                      target.name, target.tensor.shape().to_string()));
      }
      const Tensor& values = from->tensor;
      std::ranges::copy(values.span(), target.tensor.mutable_data());
    }
  }

  /// What the file says of every result is what the layers give: no operator was misunderstood.
  void check_shapes() const {
    for (const auto& [layer, index] : results_) {
      const ModelTensor& tensor = tensor_at(source_, index);
      const Shape& shape = model_.layers()[layer]->output_shape();
      const bool same = tensor.shape.size() == static_cast<std::size_t>(shape.rank()) + 1 &&
                        std::equal(shape.begin(), shape.end(), tensor.shape.begin() + 1);
      if (same) continue;
      throw FormatError(fmt::format(
          "import_tflite: tensor \"{}\" has examples of other shape than layer \"{}\", {}",
          printable(tensor.name), model_.layers()[layer]->name(), shape.to_string()));
    }
  }

  const IntegerModel& source_;
  Model model_;
  ImportReport report_;
  std::map<std::int32_t, Value> values_;
  std::set<std::string> names_;
  /// By position of the layer in the model.
  std::vector<std::pair<std::size_t, std::vector<NamedTensor>>> weights_;
  std::vector<std::pair<std::size_t, std::int32_t>> results_;
};

Model import_reals(const IntegerModel& given, std::set<std::int32_t>& refusals,
                   ImportReport* report) {
  given.validate();
  require_float(given);
  const std::optional<IntegerModel> spelled = detail::svdf_spelled_out(given);
  try {
    return ImportedGraph(spelled ? *spelled : given).build(refusals, report);
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("import_tflite: {}", error.what()));
  }
}

/// The names of the values in front of the operators whose results are `refusals`.
std::vector<std::string> ends_of(const IntegerModel& source,
                                 const std::set<std::int32_t>& refusals) {
  std::vector<detail::Link> links;
  for (const Operator& op : source.operators) {
    const bool refused = std::ranges::any_of(
        op.outputs, [&](std::int32_t output) { return refusals.contains(output); });
    links.push_back({op.inputs, op.outputs, refused});
  }
  std::set<std::int32_t> constants = {-1};
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    if (source.tensors[i].is_constant()) constants.insert(static_cast<std::int32_t>(i));
  }
  std::vector<std::string> names;
  for (const std::int32_t end :
       detail::ends_in_front_of(links, source.inputs, source.outputs, constants)) {
    names.push_back(tensor_at(source, end).name);
  }
  return names;
}

/// Imports what `reading` asks for. Where that fails, `ends` is what leaves out the operators that
/// were refused, if there are such.
Model import_part(std::span<const std::uint8_t> bytes, const TfliteReading& reading,
                  std::vector<std::string>& ends, ImportReport* report = nullptr) {
  IntegerModel source;
  try {
    source = detail::real_model(detail::read_part(bytes, reading));
  } catch (const detail::BudgetSpent&) {
    throw;
  } catch (const FormatError&) {
    if (reading.to.empty()) ends = detail::readable_ends(bytes);
    throw;
  }
  std::set<std::int32_t> refusals;
  try {
    return import_reals(source, refusals, report);
  } catch (const FormatError&) {
    if (!refusals.empty()) ends = ends_of(source, refusals);
    throw;
  }
}

/// The ends that leave out what cannot be imported, by trying; none where there are no such.
std::vector<std::string> tried_ends(std::span<const std::uint8_t> bytes, TfliteReading reading,
                                    std::vector<std::string> ends) {
  constexpr int kMostTries = 4;
  for (int i = 0; i < kMostTries && !ends.empty() && ends != reading.to; ++i) {
    reading.to = std::exchange(ends, {});
    try {
      import_part(bytes, reading, ends);
      return reading.to;
    } catch (const FormatError&) {
      // `ends` leave out more, or there are none.
    }
  }
  return {};
}

Model import_or_propose(std::span<const std::uint8_t> bytes, const TfliteReading& reading,
                        ImportReport* report) {
  std::vector<std::string> ends;
  try {
    return import_part(bytes, reading, ends, report);
  } catch (const FormatError& error) {
    if (!reading.to.empty()) throw;
    const std::string what = error.what();
    const std::vector<std::string> tried = tried_ends(bytes, reading, std::move(ends));
    if (tried.empty()) throw;
    throw FormatError(what + detail::proposal(tried));
  }
}

}  // namespace

Model import_float_model(const IntegerModel& source) {
  std::set<std::int32_t> refusals;
  return import_reals(source, refusals, nullptr);
}

Model import_tflite(const std::filesystem::path& path, const ImportOptions& options) {
  if (options.layout == InputLayout::channels_first) {
    throw InvalidArgument(
        fmt::format("import_tflite: --layout: expected an .onnx file, found '{}': a .tflite file "
                    "has its channels last",
                    path.string()));
  }
  if (!options.shapes.empty()) {
    throw InvalidArgument(
        fmt::format("import_tflite: --shape: expected an .onnx file, found '{}': a .tflite file "
                    "states the extents of \"{}\" itself",
                    path.string(), printable(options.shapes.begin()->first)));
  }
  const MappedFile file(path);
  try {
    return import_or_propose(
        file.bytes(), {.hybrid = HybridWeights::as_floats, .from = options.from, .to = options.to},
        options.report);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("'{}': {}", path.string(), error.what()));
  }
}

}  // namespace octet
