#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/deploy/tflite/cut.h>
#include <octet/deploy/tflite/decode.h>
#include <octet/deploy/tflite/file_access.h>
#include <octet/deploy/tflite/operator_reader.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/real_constants.h>
#include <octet/deploy/tflite/tensor_reader.h>
#include <octet/deploy/tflite/uint8_codes.h>
#include <octet/deploy/tflite/variables.h>

#include <optional>
#include <utility>

namespace octet {
namespace {

/// Memory is planned in time that grows with the square of this.
constexpr std::size_t kMaxOperators = 10000;

template <class T>
using Vector = flatbuffers::Vector<T>;

using detail::size_or_zero;

/// `what` without the operator's name in front, which whoever reads it knows.
std::string without_owner(std::string_view what) {
  const std::size_t end = what.starts_with("operator ") ? what.find(": ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? what : what.substr(end + 2));
}

class Reader {
 public:
  Reader(const tflite::Model& file, std::size_t file_bytes)
      : file_(file), budget_(file_bytes), tensors_(file, budget_) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  IntegerModel read(const TfliteReading& reading) {
    if (file_.version() != detail::kSchemaVersion) {
      detail::fail_tflite("expected schema version {}, found {}", detail::kSchemaVersion,
                          file_.version());
    }
    if (size_or_zero(file_.subgraphs()) == 0) {
      detail::fail_tflite("expected one subgraph, found 0");
    }
    const tflite::SubGraph& graph = *file_.subgraphs()->Get(0);
    model_.name = tensors_.text(graph.name());
    model_.description = tensors_.text(file_.description());
    require_few_operators(graph);
    std::optional<detail::Cut> cut;
    if (!reading.from.empty() || !reading.to.empty()) cut = detail::cut_of(graph, reading, budget_);
    begin(graph);
    read_tensors(graph, cut ? &*cut : nullptr);
    reserve(model_.operators, size_or_zero(graph.operators()));
    for (std::size_t i = 0; i < size_or_zero(graph.operators()); ++i) {
      if (!cut || cut->operators[i]) operators_->read(i);
    }
    const std::size_t most = model_.tensors.size();
    model_.inputs = cut ? cut->inputs : read_values(graph.inputs(), most, "model inputs");
    model_.outputs = cut ? cut->outputs : read_values(graph.outputs(), most, "model outputs");
    variables_->require_no_handles(model_.inputs, "model inputs");
    variables_->require_no_handles(model_.outputs, "model outputs");
    read_metadata();
    variables_->finish({model_, budget_});
    detail::keep_uint8_ends(model_, shifted_, budget_);
    operators_->finish();
    if (reading.hybrid == HybridWeights::as_floats) {
      detail::make_hybrid_weights_real(model_, budget_);
    }
    model_.validate();
    return std::move(model_);
  }

  /// See tflite_refusals().
  std::vector<std::string> refusals(const tflite::SubGraph& graph) {
    model_ = {};
    begin(graph);
    std::vector<std::string> of_tensors;
    for (std::size_t i = 0; i < size_or_zero(graph.tensors()); ++i) {
      of_tensors.push_back(refusal_of([&] {
        read_tensor(i, graph);
        detail::check_tensor(model_, i);
      }));
      model_.tensors.resize(i + 1);
    }
    require_few_operators(graph);
    std::vector<std::string> result;
    for (std::size_t i = 0; i < size_or_zero(graph.operators()); ++i) {
      result.push_back(refusal_of([&] {
        const tflite::Operator& source = *graph.operators()->Get(narrow(i));
        const std::size_t before = model_.operators.size();
        operators_->read(i);
        // Inputs that are left out are -1.
        std::vector<std::int32_t> operands = detail::read_operands(source.inputs(), budget_);
        std::erase(operands, -1);
        require_readable(operands, of_tensors);
        require_readable(detail::read_operands(source.outputs(), budget_), of_tensors);
        for (std::size_t k = before; k < model_.operators.size(); ++k) {
          detail::check_operator(model_, k);
        }
      }));
    }
    return result;
  }

 private:
  void begin(const tflite::SubGraph& graph) {
    variables_.emplace(file_, graph, tensors_, budget_);
    shifted_ = detail::uint8_values(file_, graph, budget_);
    operators_.emplace(file_, graph, *variables_, shifted_, model_, budget_);
  }

  void read_tensor(std::size_t i, const tflite::SubGraph& graph) {
    model_.tensors.push_back(read_tensor(i, *graph.tensors()->Get(narrow(i))));
    if (shifted_[i]) detail::make_int8(model_.tensors.back());
    detail::make_symmetric(model_.tensors.back());
  }

  /// In place of tensors outside of the part that is read stand empty ones, which go in the end.
  void read_tensors(const tflite::SubGraph& graph, const detail::Cut* cut) {
    const std::size_t count = size_or_zero(graph.tensors());
    reserve(model_.tensors, count);
    std::vector<std::int32_t> outside;
    for (std::size_t i = 0; i < count; ++i) {
      if (cut == nullptr || cut->tensors[i]) {
        read_tensor(i, graph);
      } else {
        model_.tensors.emplace_back();
        outside.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (!outside.empty()) operators_->drop(outside);
  }

  static flatbuffers::uoffset_t narrow(std::size_t i) {
    return static_cast<flatbuffers::uoffset_t>(i);
  }

  /// Tables may be shared as bytes may: a vector of offsets can name one of them many times.
  template <class T>
  void reserve(std::vector<T>& parts, std::size_t count) {
    budget_.take(count * sizeof(T));
    parts.reserve(count);
  }

  /// A handle of a variable becomes a tensor that nothing reads, which is dropped in the end.
  ModelTensor read_tensor(std::size_t index, const tflite::Tensor& source) {
    const auto i = static_cast<std::int32_t>(index);
    if (!variables_->is_handle(i)) return tensors_.read(index, source);
    ModelTensor handle;
    handle.name = tensors_.text(source.name());
    return handle;
  }

  template <class T>
  std::vector<T> read_values(const Vector<T>* values, std::size_t most, std::string_view who) {
    return detail::read_values(values, most, who, budget_);
  }

  /// What `work` throws, as text; empty where it throws nothing.
  template <class Work>
  std::string refusal_of(const Work& work) {
    constexpr std::string_view kFormat = ".tflite: ";
    std::string refusal;
    try {
      work();
    } catch (const detail::BudgetSpent&) {
      throw;
    } catch (const FormatError& error) {
      const std::string_view what = error.what();
      refusal = without_owner(what.starts_with(kFormat) ? what.substr(kFormat.size()) : what);
    }
    budget_.take(sizeof(std::string) + refusal.size());
    return refusal;
  }

  static void require_few_operators(const tflite::SubGraph& graph) {
    if (size_or_zero(graph.operators()) <= kMaxOperators) return;
    detail::fail_tflite("{} operators, more than {}", size_or_zero(graph.operators()),
                        kMaxOperators);
  }

  /// Throws for the first operand that does not exist or was refused.
  static void require_readable(const std::vector<std::int32_t>& operands,
                               const std::vector<std::string>& refusals) {
    for (const std::int32_t i : operands) {
      if (i < 0 || static_cast<std::size_t>(i) >= refusals.size()) {
        detail::fail_tflite("tensor {} outside the {} tensors", i, refusals.size());
      }
      const std::string& refusal = refusals[static_cast<std::size_t>(i)];
      if (!refusal.empty()) throw FormatError(refusal);
    }
  }

  void read_metadata() {
    constexpr std::size_t kBytesOfEntry = 128;
    for (std::size_t i = 0; i < size_or_zero(file_.metadata()); ++i) {
      const tflite::Metadata& entry = *file_.metadata()->Get(narrow(i));
      const std::string name = tensors_.text(entry.name());
      const auto* data = tensors_.buffer_data(entry.buffer(), fmt::format("metadata '{}'", name));
      // The writer makes this one from the operators.
      if (name == "min_runtime_version") continue;
      budget_.take(size_or_zero(data) + kBytesOfEntry);
      std::string value;
      if (data != nullptr) value.assign(data->begin(), data->end());
      model_.metadata.emplace(name, std::move(value));
    }
  }

  const tflite::Model& file_;
  detail::Budget budget_;
  detail::TensorReader tensors_;
  IntegerModel model_;
  /// The variables of the graph that is being read.
  std::optional<detail::Variables> variables_;
  /// By tensor of the file: those of uint8 that are read as int8.
  std::vector<bool> shifted_;
  std::optional<detail::OperatorReader> operators_;
};

/// The names of values that leave out what is refused, by trying; none where there are no such.
std::vector<std::string> tried_ends(const tflite::Model& file, std::size_t file_bytes,
                                    TfliteReading reading) {
  try {
    reading.to = detail::readable_ends(file, file_bytes);
    if (!reading.to.empty()) Reader(file, file_bytes).read(reading);
    return reading.to;
  } catch (const FormatError&) {
    return {};
  }
}

IntegerModel read_or_propose(const tflite::Model& file, std::size_t file_bytes,
                             const TfliteReading& reading) {
  try {
    return Reader(file, file_bytes).read(reading);
  } catch (const detail::BudgetSpent&) {
    throw;
  } catch (const FormatError& error) {
    if (!reading.to.empty()) throw;
    const std::vector<std::string> ends = tried_ends(file, file_bytes, reading);
    if (ends.empty()) throw;
    throw FormatError(error.what() + detail::proposal(ends));
  }
}

}  // namespace

std::vector<std::vector<std::string>> detail::tflite_refusals(const tflite::Model& file,
                                                              std::size_t file_bytes) {
  Reader reader(file, file_bytes);
  std::vector<std::vector<std::string>> result;
  for (flatbuffers::uoffset_t i = 0; i < size_or_zero(file.subgraphs()); ++i) {
    result.push_back(reader.refusals(*file.subgraphs()->Get(i)));
  }
  return result;
}

IntegerModel detail::read_part(std::span<const std::uint8_t> bytes, const TfliteReading& reading) {
  IntegerModel model;
  detail::with_tflite(
      bytes, [&](const tflite::Model& file) { model = Reader(file, bytes.size()).read(reading); });
  return model;
}

IntegerModel from_tflite(std::span<const std::uint8_t> bytes, const TfliteReading& reading) {
  IntegerModel model;
  detail::with_tflite(bytes, [&](const tflite::Model& file) {
    model = read_or_propose(file, bytes.size(), reading);
  });
  return model;
}

IntegerModel read_tflite(const std::filesystem::path& path, const TfliteReading& reading) {
  const MappedFile file(path);
  try {
    return from_tflite(file.bytes(), reading);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("'{}': {}", path.string(), error.what()));
  }
}

}  // namespace octet
