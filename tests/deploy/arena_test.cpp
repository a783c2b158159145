// Memory for the values of a network beside the least that any plan could do with: that of the
// values which are alive at one step, at the step where that is most.

#include <fmt/core.h>
#include <octet/deploy/c/writer.h>
#include <octet/examples/networks/networks.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/deploy/c_programs.h>

#include <map>
#include <numeric>

namespace octet::test::arena_test {
namespace {

struct Network {
  std::string name;
  IntegerModel model;
};

IntegerModel integers_of(Model model, const Shape& example) {
  model.build(/*seed=*/0);
  model = quantize_model(model);
  calibrate(model, Tensor::uniform(example.with_batch(2), Random(1), 0.0F, 1.0F));
  return lower(model);
}

/// The networks at the sizes of their references.
const std::vector<Network>& reference_networks() {
  static const std::vector<Network> all = [] {
    std::vector<Network> made;
    const auto add = [&](const std::string& name, Model model, const Shape& example) {
      made.push_back({name, integers_of(std::move(model), example)});
    };
    add("lenet5", networks::lenet5({28, 28, 1}, 10), {28, 28, 1});
    add("dscnn", networks::dscnn({49, 10, 1}, 12), {49, 10, 1});
    add("resnet8", networks::resnet8({32, 32, 3}, 10), {32, 32, 3});
    add("mobilenet_v1", networks::mobilenet_v1({96, 96, 3}, 2), {96, 96, 3});
    add("autoencoder", networks::autoencoder(640), {640});
    return made;
  }();
  return all;
}

enum class Ends { counted, of_the_caller };

/// The sum of bytes of the values that are alive at a step, at the step that has most of them. A
/// RESHAPE is its input under another name.
std::size_t lower_bound(const IntegerModel& model, Ends ends) {
  std::map<std::int32_t, std::int32_t> same_as;
  const auto value_of = [&](std::int32_t i) { return same_as.contains(i) ? same_as.at(i) : i; };
  std::map<std::int32_t, std::pair<std::size_t, std::size_t>> alive;
  for (const std::int32_t i : model.inputs) alive[i] = {0, 0};
  for (std::size_t step = 0; step < model.operators.size(); ++step) {
    const Operator& op = model.operators[step];
    for (const std::int32_t i : op.inputs) {
      if (alive.contains(value_of(i))) alive[value_of(i)].second = step;
    }
    if (op.code == OpCode::reshape) {
      same_as[op.outputs[0]] = value_of(op.inputs[0]);
    } else {
      alive[op.outputs[0]] = {step, step};
    }
  }
  for (const std::int32_t i : model.outputs) {
    alive[value_of(i)].second = model.operators.size() - 1;
  }
  if (ends == Ends::of_the_caller) {
    for (const auto* list : {&model.inputs, &model.outputs}) {
      for (const std::int32_t i : *list) alive.erase(value_of(i));
    }
  }
  std::size_t most = 0;
  for (std::size_t step = 0; step < model.operators.size(); ++step) {
    std::size_t sum = 0;
    for (const auto& [i, steps] : alive) {
      if (steps.first > step || steps.second < step) continue;
      const ModelTensor& t = model.tensors[static_cast<std::size_t>(i)];
      sum += static_cast<std::size_t>(t.size()) * size_of(t.dtype);
    }
    most = std::max(most, sum);
  }
  return most;
}

void expect_within_a_tenth(std::size_t bytes, std::size_t bound) {
  EXPECT_GE(bytes, bound);
  EXPECT_LE(static_cast<double>(bytes), 1.1 * static_cast<double>(bound)) << bound;
}

TEST(Arena, TheLowerBoundIsThatOfTheDefinition) {
  RawModelBuilder b;
  const QuantParams grid = quant(0.5F, 0);
  const std::int32_t x = b.activation("x", {1, 2, 3}, DType::int8, grid);
  const std::int32_t flat = b.activation("flat", {1, 6}, DType::int8, grid);
  b.op(OpCode::reshape, {x}, flat, ReshapeAttributes{.new_shape = {1, 6}});
  const std::int32_t a = b.activation("a", {1, 12}, DType::int8, grid);
  b.op(OpCode::concatenation, {flat, flat}, a, ConcatenationAttributes{.axis = 1});
  const std::int32_t y = b.activation("y", {1, 18}, DType::int8, grid);
  b.op(OpCode::concatenation, {a, flat}, y, ConcatenationAttributes{.axis = 1});
  b.model.inputs = {x};
  b.model.outputs = {y};
  EXPECT_EQ(lower_bound(b.model, Ends::counted), 6U + 12U + 18U);
  EXPECT_EQ(lower_bound(b.model, Ends::of_the_caller), 12U);
}

TEST(Arena, OfTheInterpreterIsWithinATenthOfTheLeast) {
  for (const Network& network : reference_networks()) {
    const std::size_t bound = lower_bound(network.model, Ends::counted);
    for (const Index batch : {1, 4, 32}) {
      SCOPED_TRACE(fmt::format("{}, batch {}", network.name, batch));
      const Interpreter interpreter(network.model, {.batch = batch});
      expect_within_a_tenth(interpreter.arena_bytes(), bound * static_cast<std::size_t>(batch));
    }
  }
}

TEST(Arena, OfTheCSourceIsLessWhereOutputsLieOverInputs) {
  const std::map<std::string_view, double> shares = {{"lenet5", 0.9},
                                                     {"dscnn", 0.65},
                                                     {"resnet8", 0.72},
                                                     {"mobilenet_v1", 0.78},
                                                     {"autoencoder", 6.0}};
  for (const Network& network : reference_networks()) {
    SCOPED_TRACE(network.name);
    // Layers also work in memory of their own, rows of windows for one, which is most of the last.
    const std::size_t bound = lower_bound(network.model, Ends::of_the_caller);
    EXPECT_LT(static_cast<double>(to_c_source(network.model, "net").ram_bytes),
              shares.at(network.name) * static_cast<double>(bound));
  }
}

/// Bytes of constants and of static buffers that an object file has, by the sizes of its symbols.
std::pair<std::int64_t, std::int64_t> flash_and_ram(const std::string& nm,
                                                    const std::string& object) {
  std::stringstream lines(run_process({nm, "--print-size", "--radix=d", object}).out);
  std::pair<std::int64_t, std::int64_t> bytes{0, 0};
  for (std::string line; std::getline(lines, line);) {
    std::stringstream words(line);
    std::int64_t address = 0;
    std::int64_t size = 0;
    char type = ' ';
    if (!(words >> address >> size >> type)) continue;
    if (type == 'r' || type == 'd') bytes.first += size;
    if (type == 'b') bytes.second += size;
  }
  return bytes;
}

using ArenaOfC = CompiledC;
TEST_F(ArenaOfC, TheHeaderStatesFlashAndRamOfNetworks) {
  const std::string nm = find_program("nm");
  if (nm.empty()) GTEST_SKIP() << "nm is not here";
  // The figures are those of a machine of 32 bits.
  const Words flags = {"-std=c99", "-O0", "-m32", "-ffreestanding", "-c"};
  project_.write("empty.c", "int empty;\n");
  if (project_.compile(c_compilers().front(), flags, "empty.o", {"empty.c"}).exit_code != 0) {
    GTEST_SKIP() << "the compiler makes no code of 32 bits";
  }
  for (const Network& network : reference_networks()) {
    SCOPED_TRACE(network.name);
    const CSource source = to_c_source(network.model, "net");
    project_.write(source);
    project_.build(c_compilers().front(), flags, "net.o", {"net.c"});
    EXPECT_EQ(flash_and_ram(nm, project_.path("net.o")),
              std::pair(source.flash_bytes, source.ram_bytes));
  }
}

}  // namespace
}  // namespace octet::test::arena_test
