#include <fmt/format.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/c/row_functions.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

namespace octet::detail {
namespace {

constexpr std::string_view kMoveRows =
    R"(/* Moves what lies behind `to` there. */
static void @name@_move(int8_t *to, const int8_t *from, int32_t count)
{
    for (; count > 0; --count) {
        *to++ = *from++;
    }
}

)";

/// Finds chains that begin at one operator.
class ChainFinder {
 public:
  ChainFinder(const CPlan& plan, const std::vector<bool>& needed, std::size_t first)
      : plan_(plan), model_(*plan.model), needed_(needed), first_(first) {}

  /// `last_reads` has by tensor the last operator that reads it, or a number beyond all.
  void add_chains(const std::vector<std::size_t>& last_reads, std::vector<CRowChain>& chains) {
    constexpr std::size_t kMostOperators = 24;
    for (std::size_t i = first_; i < model_.operators.size(); ++i) {
      const Operator& op = model_.operators[i];
      const auto is_needed = [&](std::int32_t t) { return needed_[static_cast<std::size_t>(t)]; };
      if (std::ranges::none_of(op.outputs, is_needed)) continue;
      if (chain_.operators.size() == kMostOperators || !add(op, i)) return;
      if (chain_.operators.size() < 2 || !is_closed(last_reads)) continue;
      chains.push_back(chain_);
      chains.back().schedule = schedule_rows(chain_.images, chain_.operators, plan_.rows);
    }
  }

 private:
  bool add(const Operator& op, std::size_t number) {
    const COperator& form = c_operator(op.code);
    if (form.rows == nullptr) return false;
    const std::optional<CRowwise> rowwise = form.rows({model_, op, plan_.rounding});
    if (!rowwise) return false;
    RowOperator of_rows{.inputs = {}, .output = 0, .axis = rowwise->axis};
    for (std::size_t k = 0; k < (form.reads_all_inputs ? op.inputs.size() : 1); ++k) {
      of_rows.inputs.push_back(image(op.inputs[k]));
    }
    of_rows.output = image(op.outputs[0]);
    chain_.operators.push_back(std::move(of_rows));
    chain_.model_operators.push_back(number);
    return true;
  }

  std::size_t image(std::int32_t i) {
    const auto [at, is_new] = images_.emplace(i, chain_.images.size());
    if (is_new) {
      const ModelTensor& tensor = model_.tensors[static_cast<std::size_t>(i)];
      chain_.tensors.push_back(i);
      chain_.images.push_back({tensor.shape[1], tensor.size() / tensor.shape[1]});
    }
    return at->second;
  }

  /// Whether nothing behind the chain reads what it makes but for the last image.
  bool is_closed(const std::vector<std::size_t>& last_reads) const {
    const auto& operators = chain_.operators;
    return std::all_of(operators.begin(), std::prev(operators.end()), [&](const RowOperator& op) {
      const std::int32_t tensor = chain_.tensors[op.output];
      return last_reads[static_cast<std::size_t>(tensor)] <= chain_.model_operators.back();
    });
  }

  const CPlan& plan_;
  const IntegerModel& model_;
  const std::vector<bool>& needed_;
  std::size_t first_;
  CRowChain chain_;
  std::map<std::int32_t, std::size_t> images_;
};

/// C expressions of the rows of a chain's images.
class RowText {
 public:
  explicit RowText(const CPlan& plan) : plan_(plan), chain_(*plan.chain), cursors_(images()) {
    const std::vector<std::size_t> inputs = chain_.whole_inputs();
    names_.resize(images());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      names_[inputs[i]] = fmt::format("image{}", i + 1);
    }
    names_[last()] = "output";
  }

  std::string parameters() const {
    std::vector<std::string> all;
    for (const std::size_t i : chain_.whole_inputs()) {
      all.push_back(fmt::format("const {} *{}", c_type(tensor(i).dtype), names_[i]));
    }
    all.push_back(fmt::format("{} *output", c_type(tensor(last()).dtype)));
    return fmt::format("{}", fmt::join(all, ", "));
  }

  /// Blocks of calls; equal ones that follow each other are a loop.
  std::string bands() {
    std::string text;
    std::string band;
    std::int64_t count = 0;
    const auto flush = [&] {
      if (count == 1) text += indented(band);
      if (count > 1) {
        text += fmt::format("    for (int32_t band = 0; band < {}; ++band) {{\n{}    }}\n", count,
                            indented(band, 2));
      }
    };
    for (const std::vector<RowCall>& calls : chain_.schedule.bands) {
      const std::string next = band_text(calls);
      if (next != band) {
        flush();
        band = next;
        count = 0;
      }
      ++count;
    }
    flush();
    return text;
  }

 private:
  std::size_t images() const { return chain_.images.size(); }
  std::size_t last() const { return chain_.operators.back().output; }
  bool is_whole(std::size_t image) const { return !names_[image].empty(); }
  const ModelTensor& tensor(std::size_t image) const {
    return plan_.model->tensors[static_cast<std::size_t>(chain_.tensors[image])];
  }

  /// Images that lie in memory as a whole are read and written from pointers that go on with the
  /// bands, so that bands are alike.
  std::string band_text(const std::vector<RowCall>& calls) {
    std::map<std::size_t, std::int64_t> begins;
    const auto note = [&](std::size_t image, std::int64_t row) {
      if (!is_whole(image)) return;
      const auto at = begins.emplace(image, row).first;
      at->second = std::min(at->second, row);
    };
    for (const RowCall& call : calls) {
      const RowOperator& op = chain_.operators[call.op];
      for (std::size_t k = 0; k < op.inputs.size(); ++k) note(op.inputs[k], call.from[k]);
      note(op.output, call.to);
    }
    std::string text;
    for (const auto& [image, row] : begins) {
      const std::int64_t step = (row - cursors_[image]) * chain_.images[image].row_bytes;
      if (step != 0) text += fmt::format("{} += {};\n", names_[image], step);
      cursors_[image] = row;
    }
    for (const RowCall& call : calls) text += call_text(call);
    return text;
  }

  std::string call_text(const RowCall& call) const {
    const RowOperator& op = chain_.operators[call.op];
    const CStep& step = plan_.steps[plan_.chain_step + call.op];
    std::string text;
    if (call.dropped > 0 && call.kept > 0) {
      const std::int64_t bytes = chain_.images[op.output].row_bytes;
      text += fmt::format("{}_move({}, {}, {});\n", plan_.name, in_arena(op.output, 0),
                          in_arena(op.output, call.dropped), call.kept * bytes);
    }
    std::vector<std::string> arguments;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      arguments.push_back(pointer(op.inputs[k], call.from[k], "const "));
    }
    arguments.push_back(pointer(op.output, call.to, ""));
    if (step.rows->slides) {
      arguments.push_back(std::to_string(call.height));
      arguments.push_back(std::to_string(call.top));
    }
    arguments.push_back(std::to_string(call.count));
    return text + fmt::format("{}({});\n", step.function, fmt::join(arguments, ", "));
  }

  std::string in_arena(std::size_t image, std::int64_t row) const {
    const auto bytes = static_cast<std::size_t>(row * chain_.images[image].row_bytes);
    return c_arena_place(plan_, plan_.chain_offsets[image] + bytes);
  }

  std::string pointer(std::size_t image, std::int64_t row, std::string_view qualifier) const {
    if (!is_whole(image)) {
      return c_pointer(in_arena(image, row), DType::int8, tensor(image).dtype, qualifier);
    }
    const std::int64_t bytes = (row - cursors_[image]) * chain_.images[image].row_bytes;
    return bytes == 0 ? names_[image] : fmt::format("{} + {}", names_[image], bytes);
  }

  const CPlan& plan_;
  const CRowChain& chain_;
  /// The row that the pointer stands at, of images that lie in memory as a whole.
  std::vector<std::int64_t> cursors_;
  /// Parameters; empty for what lies in the arena by rows.
  std::vector<std::string> names_;
};

}  // namespace

std::vector<CRowChain> row_chains(const CPlan& plan, const std::vector<bool>& needed) {
  const IntegerModel& model = *plan.model;
  std::vector<std::size_t> last_reads(model.tensors.size());
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    for (const std::int32_t input : model.operators[i].inputs) {
      if (input >= 0) last_reads[static_cast<std::size_t>(input)] = i;
    }
  }
  for (const std::int32_t output : model.outputs) {
    last_reads[static_cast<std::size_t>(output)] = std::numeric_limits<std::size_t>::max();
  }
  std::vector<CRowChain> chains;
  for (std::size_t first = 0; first < model.operators.size(); ++first) {
    ChainFinder(plan, needed, first).add_chains(last_reads, chains);
  }
  return chains;
}

std::string c_row_functions(const CPlan& plan) {
  if (!plan.chain) return "";
  RowText text(plan);
  const std::string parameters = text.parameters();
  const std::string bands = text.bands();
  const bool moves = bands.find("_move(") != std::string::npos;
  const std::size_t first = plan.chain_step;
  return fmt::format("{}/* Layers {} to {} by rows. */\nstatic void {}_by_rows({})\n{{\n{}}}\n\n",
                     moves ? fill(kMoveRows, plan.fillings()) : "", plan.steps[first].number,
                     plan.steps[first + plan.chain->operators.size() - 1].number, plan.name,
                     parameters, bands);
}

std::string c_row_call(const CPlan& plan) {
  return fmt::format("    {}_by_rows({});\n", plan.name, fmt::join(plan.chain_arguments, ", "));
}

}  // namespace octet::detail
