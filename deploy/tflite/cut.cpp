#include <fmt/format.h>
#include <octet/core/printable.h>
#include <octet/deploy/tflite/cut.h>
#include <octet/deploy/tflite/file_access.h>

#include <algorithm>
#include <optional>

namespace octet::detail {
namespace {

using Indices = std::vector<std::int32_t>;

constexpr std::size_t kMostEnds = 4;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Cutter {
 public:
  Cutter(const tflite::SubGraph& graph, Budget& budget)
      : graph_(graph),
        budget_(budget),
        operators_(size_or_zero(graph.operators())),
        tensors_(size_or_zero(graph.tensors())) {}

  Cut cut(const TfliteReading& reading) {
    const Indices given = named(reading.from, "from");
    Cut cut;
    cut.outputs = reading.to.empty() ? of(graph_.outputs()) : named(reading.to, "to");
    cut.operators.resize(operators_);
    cut.tensors.resize(tensors_);
    for (const std::int32_t i : given) cut.tensors.at(at(i)) = true;
    follow(given, cut);
    for (const std::int32_t i : of(graph_.inputs())) {
      if (std::ranges::find(given, i) != given.end()) continue;
      if (!is_tensor(i) || !cut.tensors[at(i)]) continue;
      if (!given.empty()) {
        fail_tflite("--from: the operators behind it read the input '{}', too: name it as well",
                    printable(name(i)));
      }
      cut.inputs.push_back(i);
    }
    cut.inputs.insert(cut.inputs.end(), given.begin(), given.end());
    return cut;
  }

 private:
  bool is_tensor(std::int32_t i) const { return i >= 0 && at(i) < tensors_; }

  Indices of(const flatbuffers::Vector<std::int32_t>* values) {
    return read_values(values, std::max(tensors_, 2 * kMostInputs), "operands", budget_);
  }

  std::string name(std::int32_t i) const {
    const auto* text = graph_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i))->name();
    return text == nullptr ? "" : text->c_str();
  }

  Indices named(const std::vector<std::string>& names, std::string_view option) {
    Indices found;
    for (const std::string& wanted : names) {
      Indices of_name = those([&](std::int32_t i) { return name(i) == wanted; });
      if (of_name.empty()) {
        of_name = those([&](std::int32_t i) {
          return printable(name(i)) == wanted || std::to_string(i) == wanted;
        });
      }
      if (of_name.size() != 1) {
        fail_tflite(
            "--{}: expected the name of one value, or its number as octet inspect lists it, found "
            "'{}', which {} have",
            option, printable(wanted), of_name.size());
      }
      found.push_back(of_name[0]);
    }
    return found;
  }

  template <class Is>
  Indices those(const Is& is) const {
    Indices found;
    for (std::int32_t i = 0; is_tensor(i); ++i) {
      if (is(i)) found.push_back(i);
    }
    return found;
  }

  /// Marks what `cut.outputs` follow from, up to what is given.
  void follow(const Indices& given, Cut& cut) {
    std::vector<bool> wanted(tensors_);
    for (const std::int32_t i : cut.outputs) {
      if (!is_tensor(i)) fail_tflite("output {} outside the {} tensors", i, tensors_);
      cut.tensors[at(i)] = wanted[at(i)] = true;
    }
    for (const std::int32_t i : given) wanted[at(i)] = false;
    for (std::size_t k = operators_; k-- > 0;) {
      const auto& op = *graph_.operators()->Get(static_cast<flatbuffers::uoffset_t>(k));
      const Indices results = of(op.outputs());
      const auto is_wanted = [&](std::int32_t i) { return is_tensor(i) && wanted[at(i)]; };
      if (std::ranges::none_of(results, is_wanted)) continue;
      cut.operators[k] = true;
      for (const std::int32_t i : results) {
        if (is_tensor(i)) cut.tensors[at(i)] = true;
      }
      for (const std::int32_t i : of(op.inputs())) {
        if (!is_tensor(i)) continue;
        cut.tensors[at(i)] = true;
        wanted[at(i)] = std::ranges::find(given, i) == given.end();
      }
    }
  }

  const tflite::SubGraph& graph_;
  Budget& budget_;
  std::size_t operators_;
  std::size_t tensors_;
};

std::set<std::int32_t> constants_of(const tflite::Model& file, const tflite::SubGraph& graph) {
  std::set<std::int32_t> constants = {-1};
  for (flatbuffers::uoffset_t i = 0; i < size_or_zero(graph.tensors()); ++i) {
    const std::uint32_t buffer = graph.tensors()->Get(i)->buffer();
    if (buffer >= size_or_zero(file.buffers())) continue;
    if (size_or_zero(file.buffers()->Get(buffer)->data()) > 0) {
      constants.insert(static_cast<std::int32_t>(i));
    }
  }
  return constants;
}

}  // namespace

Cut cut_of(const tflite::SubGraph& graph, const TfliteReading& reading, Budget& budget) {
  return Cutter(graph, budget).cut(reading);
}

Indices ends_in_front_of(std::span<const Link> links, std::span<const std::int32_t> inputs,
                         std::span<const std::int32_t> outputs,
                         const std::set<std::int32_t>& constants) {
  std::set<std::int32_t> fixed = constants;
  std::set<std::int32_t> given(inputs.begin(), inputs.end());
  std::set<std::int32_t> computed;
  std::set<std::int32_t> wanted(outputs.begin(), outputs.end());
  for (const Link& link : links) {
    const auto is_fixed = [&](std::int32_t i) { return fixed.contains(i); };
    const auto is_given = [&](std::int32_t i) {
      return is_fixed(i) || given.contains(i) || computed.contains(i);
    };
    if (link.is_refused || !std::ranges::all_of(link.inputs, is_given)) {
      wanted.insert(link.inputs.begin(), link.inputs.end());
      continue;
    }
    std::set<std::int32_t>& results = std::ranges::all_of(link.inputs, is_fixed) ? fixed : computed;
    results.insert(link.outputs.begin(), link.outputs.end());
  }
  Indices ends;
  std::ranges::set_intersection(computed, wanted, std::back_inserter(ends));
  return ends.size() > kMostEnds ? Indices() : ends;
}

std::string proposal(std::span<const std::string> ends) {
  std::string options;
  for (const std::string& end : ends) options += fmt::format(" --to '{}'", printable(end));
  return fmt::format(";{} takes the operators in front of {}", options,
                     ends.size() == 1 ? "it" : "them");
}

std::vector<std::string> readable_ends(const tflite::Model& file, std::size_t file_bytes) {
  if (size_or_zero(file.subgraphs()) != 1) return {};
  const tflite::SubGraph& graph = *file.subgraphs()->Get(0);
  const std::vector<std::string> refusals = tflite_refusals(file, file_bytes).at(0);
  Budget budget(file_bytes);
  const auto of = [&](const auto* values) { return read_operands(values, budget); };
  std::vector<Link> links;
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    const auto& op = *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
    links.push_back({of(op.inputs()), of(op.outputs()), !refusals[i].empty()});
  }
  const Indices ends =
      ends_in_front_of(links, of(graph.inputs()), of(graph.outputs()), constants_of(file, graph));
  std::vector<std::string> names;
  for (const std::int32_t i : ends) {
    const auto& tensor = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (tensor.name() == nullptr) return {};
    names.emplace_back(tensor.name()->c_str());
  }
  return names;
}

std::vector<std::string> readable_ends(std::span<const std::uint8_t> bytes) {
  std::vector<std::string> names;
  with_tflite(bytes, [&](const tflite::Model& file) { names = readable_ends(file, bytes.size()); });
  return names;
}

}  // namespace octet::detail
