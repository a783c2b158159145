// Resource variables of .tflite files, which are read as states.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/runtime/streaming_interpreter.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/tflite_file.h>

#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace octet::test::tflite_variables_test {
namespace {

using File = TfliteFile;
using Type = TfliteFile::Type;
using Extents = TfliteFile::Extents;

// Numbers of the format.
enum Code : std::int32_t { kAdd = 0, kReshape = 22, kCallOnce = 129, kRead = 143, kAssign = 144 };
constexpr std::uint8_t kCallOnceOptions = 103;

/// A file in the making whose tensor 0 is the input, of two numbers.
struct Case {
  File file{};
  Type type = File::float32;

  std::int32_t tensor() { return file.add(type, {1, 2}); }
  std::int32_t add(std::int32_t a, std::int32_t b) {
    const auto sum = tensor();
    file.op(kAdd, {a, b}, {sum}, 11, {0});
    return sum;
  }
  std::int32_t read(std::int32_t handle) {
    const auto value = tensor();
    file.op(kRead, {handle}, {value});
    return value;
  }
  void assign(std::int32_t handle, std::int32_t value) { file.op(kAssign, {handle, value}, {}); }
  void call_once(std::int32_t graph = 1) { file.op(kCallOnce, {}, {}, kCallOnceOptions, {graph}); }
  template <class T>
  void initialize(const std::string& variable, const std::vector<T>& values) {
    const auto handle = file.handle(variable);
    assign(handle, file.add_constant(type, {1, static_cast<std::int32_t>(values.size())}, values));
  }
  /// Ends the graph, and adds one where each of `variables` begins at 0.
  std::vector<std::uint8_t> bytes(std::int32_t result, const std::vector<std::string>& variables) {
    file.end_graph({0}, {result});
    for (const std::string& name : variables) {
      if (type == File::int8) {
        initialize(name, std::vector<std::int8_t>(2));
      } else {
        initialize(name, std::vector<float>(2));
      }
    }
    return file.bytes({}, {});
  }
};

/// The first outputs of steps whose inputs are 1 and 2, in halves for int8, each time.
std::vector<std::vector<float>> steps(const IntegerModel& model, int count) {
  const CarriedStates kept = kept_states(model);
  EXPECT_EQ(kept.results, 1U);
  StreamingInterpreter stream(model, kept.states);
  std::vector<std::vector<float>> results;
  const auto step = [&](auto number) {
    using Number = decltype(number);
    const auto x = stream.interpreter().input<Number>();
    std::iota(x.begin(), x.end(), Number{1});
    stream.step();
    const auto y = stream.interpreter().output<Number>();
    results.emplace_back(y.begin(), y.end());
  };
  for (int i = 0; i < 2 * count; ++i) {
    if (i == count) stream.reset();
    if (model.tensors[static_cast<std::size_t>(model.inputs[0])].dtype == DType::int8) {
      step(std::int8_t{});
    } else {
      step(0.0F);
    }
  }
  // A reset begins anew.
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    EXPECT_EQ(results[k], results[k + static_cast<std::size_t>(count)]);
  }
  results.resize(static_cast<std::size_t>(count));
  return results;
}

TEST(TfliteVariables, AreStatesThatAResetClears) {
  for (const Type type : {File::float32, File::int8}) {
    Case c{.type = type};
    c.tensor();
    c.call_once();
    const auto sum = c.file.handle("sum");
    const auto total = c.add(c.read(sum), 0);
    c.assign(sum, total);
    const IntegerModel model = from_tflite(c.bytes(c.add(total, 0), {"sum"}));
    EXPECT_EQ(model.inputs.size(), 2U);
    EXPECT_EQ(steps(model, 3), (std::vector<std::vector<float>>{{2, 4}, {3, 6}, {4, 8}}));
  }
}

TEST(TfliteVariables, AReadGivesWhatWasAssignedLast) {
  // Two handles of one variable, whose value is the input of the step before; a variable that
  // nothing writes; one that nothing reads; a result that is a state; a value that is read twice.
  Case c;
  c.tensor();
  c.call_once();
  c.call_once();
  const auto delay = c.file.handle("delay");
  const auto before = c.read(c.file.handle("delay"));
  c.assign(delay, 0);
  const auto constant = c.read(c.file.handle("constant"));
  c.assign(c.file.handle("unread"), constant);
  const auto last = c.file.handle("last");
  const auto sum = c.add(c.add(before, c.read(delay)), c.add(c.read(last), c.read(last)));
  const auto result = c.add(sum, constant);
  c.assign(last, result);
  const IntegerModel model = from_tflite(c.bytes(result, {"delay", "constant", "last"}));
  EXPECT_EQ(model.inputs.size(), 3U);
  EXPECT_EQ(model.outputs.size(), 2U);
  EXPECT_EQ(steps(model, 3), (std::vector<std::vector<float>>{{1, 2}, {4, 8}, {10, 20}}));
}

TEST(TfliteVariables, NamesWhatItDoesNotTake) {
  using Add = std::function<std::int32_t(Case&)>;
  const auto plain = [](Case& c) {
    c.call_once();
    const auto handle = c.file.handle("v");
    const auto sum = c.add(c.read(handle), 0);
    c.assign(handle, sum);
    return c.add(sum, 0);
  };
  const std::vector<std::pair<Add, const char*>> faults = {
      {[](Case& c) { return c.add(0, 0); },
       "expected one subgraph beside those that CALL_ONCE runs, found 2"},
      {[](Case& c) {
         c.call_once(0);
         return c.add(0, 0);
       },
       "operator 0 (CALL_ONCE): expected a graph behind the first of 2, found number 0"},
      {[](Case& c) {
         c.call_once(2);
         return c.add(0, 0);
       },
       "found number 2"},
      {[](Case& c) {
         c.call_once();
         return c.read(0);
       },
       "operator 1 (READ_VARIABLE): expected a handle that a VAR_HANDLE before it gives, found "
       "tensor 0"},
      {[](Case& c) {
         c.call_once();
         return c.file.handle("v");
       },
       "model outputs: tensor 1 is a resource"},
      {[](Case& c) {
         c.call_once();
         return c.add(c.file.handle("v"), 0);
       },
       "operator 2 (ADD): tensor 1 is a resource"},
      {[](Case& c) {
         c.call_once();
         const auto handle = c.file.handle("v");
         c.file.op(kAssign, {handle}, {});
         return c.read(handle);
       },
       "operator 2 (ASSIGN_VARIABLE): expected 2 operands, found 1"},
      {[](Case& c) {
         c.call_once();
         return c.read(c.file.handle("none"));
       },
       "of a variable without value"},
      {[](Case& c) {
         c.call_once();
         const auto handle = c.file.handle("v");
         const auto value = c.read(handle);
         const auto flat = c.file.add(File::float32, {2});
         c.file.op(kReshape, {value}, {flat});
         c.assign(handle, flat);
         return c.add(value, 0);
       },
       "has the shape, type, scale and zero point"}};
  for (const auto& [add, says] : faults) {
    Case c;
    c.tensor();
    const auto result = add(c);
    const auto bytes = c.bytes(result, {"v"});
    expect_throws<FormatError>([&] { from_tflite(bytes); }, {says});
  }
  const std::vector<std::pair<std::function<void(Case&)>, const char*>> first_values = {
      {[](Case& c) {
         c.initialize("v", std::vector<float>{0, 1});
       },
       "variable 'v': expected a first value of zeros"},
      {[](Case& c) { c.initialize("v", std::vector<float>(3)); },
       "expected a first value of float32 [1, 2], as it is read, found float32 [1, 3]"},
      {[](Case& c) {
         const auto handle = c.file.handle("v");
         c.assign(handle, c.tensor());
       },
       "expected constants as first values of variables, found tensor 1 't1'"},
      {[](Case& c) { c.add(c.tensor(), c.tensor()); },
       "expected a graph of VAR_HANDLE and ASSIGN_VARIABLE, found ADD"},
      {[](Case& c) { c.assign(c.file.handle("v"), 9); }, "tensor 9 outside the 1 tensors"}};
  for (const auto& [add, says] : first_values) {
    Case c;
    c.tensor();
    c.file.end_graph({0}, {plain(c)});
    add(c);
    const auto bytes = c.file.bytes({}, {});
    expect_throws<FormatError>([&] { from_tflite(bytes); }, {says});
  }
}

}  // namespace
}  // namespace octet::test::tflite_variables_test
