#include <octet/tests/interop/variants/variants.h>

namespace octet::test::variants {
namespace {

struct Case {
  std::string name;
  std::string code;
  Strings inputs;
  std::vector<Message> tensors{};
  Integers x = kVectors;
  int opset = 13;
  std::string refused{};
};

void add_with_constants(Variants& all) {
  const Message scalar = real("c", 0.75F);
  const std::vector<Case> cases = {
      {"add_scalar", "Add", {"x", "c"}, {scalar}},
      {"add_scalar_in_front", "Add", {"c", "x"}, {scalar}, kVectors, 7},
      {"add_features", "Add", {"x", "c"}, {weights("c", {6})}},
      {"add_channels", "Add", {"x", "c"}, {weights("c", {3, 1, 1})}, kImages},
      {"add_with_batch", "Add", {"c", "x"}, {weights("c", {1, 3, 1, 1})}, kImages, 14},
      {"add_rows", "Add", {"x", "c"}, {weights("c", {9, 1})}, kImages},
      {"add_columns", "Add", {"x", "c"}, {weights("c", {7})}, kImages},
      {"add_positions", "Add", {"x", "c"}, {weights("c", {4, 5})}, {-1, 4, 5}},
      {"sub_scalar", "Sub", {"x", "c"}, {scalar}},
      {"sub_from_scalar", "Sub", {"c", "x"}, {scalar}},
      {"sub_channels", "Sub", {"x", "c"}, {weights("c", {1, 3, 1, 1})}, kImages},
      {"sub_from_channels", "Sub", {"c", "x"}, {weights("c", {3, 1, 1})}, kImages},
      {"mul_scalar", "Mul", {"x", "c"}, {scalar}},
      {"mul_channels", "Mul", {"x", "c"}, {weights("c", {3, 1, 1})}, kImages, 7},
      {"mul_features", "Mul", {"c", "x"}, {weights("c", {1, 6})}},
      {"mul_last_axis", "Mul", {"x", "c"}, {weights("c", {5})}, {-1, 4, 5}},
      {"div_scalar", "Div", {"x", "c"}, {scalar}},
      {"div_channels", "Div", {"x", "c"}, {positive("c", {3, 1, 1})}, kImages},
      {"div_of_constant", "Div", {"c", "x"}, {scalar}, kVectors, 13, "divides a constant"},
      {"mul_all_elements", "Mul", {"x", "c"}, {weights("c", {4, 5})}, {-1, 4, 5}, 13, "one axis"},
      {"max_scalar", "Max", {"x", "c"}, {real("c", 0.1F)}},
      {"max_features", "Max", {"x", "c"}, {weights("c", {6})}},
      {"min_scalar", "Min", {"c", "x"}, {real("c", 0.2F)}, kVectors, 8},
      {"min_channels", "Min", {"x", "c"}, {weights("c", {3, 1, 1})}, kImages},
      {"sum_with_constant", "Sum", {"x", "c", "x"}, {weights("c", {6})}},
      {"pow_2", "Pow", {"x", "c"}, {real("c", 2)}},
      {"pow_3", "Pow", {"x", "c"}, {real("c", 3)}, kVectors, 13, "exponent of 0.5, 1 or 2"},
      {"pow_1", "Pow", {"x", "c"}, {real("c", 1)}},
      {"neg", "Neg", {"x"}},
      {"abs", "Abs", {"x"}, {}, kImages},
      {"exp", "Exp", {"x"}, {}, kVectors, 13},
      {"sign", "Sign", {"x"}, {}, kVectors, 13, "no such operator"},
      {"equal", "Equal", {"x", "c"}, {scalar}, kVectors, 13, "no such operator"}};
  for (const Case& c : cases) {
    std::vector<Message> nodes;
    Strings inputs = c.inputs;
    // An image operator says in which order channels lie.
    if (c.x.size() == 4) {
      nodes.push_back(node("MaxPool", {"x"}, "i", {list("kernel_shape", {1, 1})}));
      for (std::string& input : inputs) {
        if (input == "x") input = "i";
      }
    }
    nodes.push_back(node(c.code, inputs, "y"));
    all.push_back({c.name, file_of({c.x, nodes, c.tensors, c.opset}), c.refused});
  }
}

/// Arithmetic of two results: "x" and "s", which is -0.5 x + 0.25.
void add_of_results(Variants& all) {
  const auto of = [&](const std::string& name, const std::string& code, const Strings& inputs,
                      const std::vector<Message>& attributes = {}, int opset = 13,
                      const std::string& refused = "", const Integers& x = kVectors) {
    all.push_back({name,
                   file_of({x,
                            {node("Mul", {"x", "half"}, "h"), node("Add", {"h", "more"}, "s"),
                             node(code, inputs, "y", attributes)},
                            {real("half", -0.5F), real("more", 0.25F)},
                            opset}),
                   refused});
  };
  of("add_results", "Add", {"x", "s"});
  of("sub_results", "Sub", {"s", "x"});
  of("mul_results", "Mul", {"x", "s"}, {}, 14);
  of("mul_square", "Mul", {"s", "s"});
  of("div_results", "Div", {"x", "s"}, {}, 13, "Div");
  of("max_results", "Max", {"x", "s"});
  of("min_results", "Min", {"s", "x"}, {}, 8);
  of("max_three", "Max", {"x", "s", "h"});
  of("sum_three", "Sum", {"x", "s", "h"}, {}, 8);
  of("sum_one", "Sum", {"s"});
  of("mean_of_two", "Mean", {"x", "s"});
  of("concat_last", "Concat", {"x", "s"}, {number("axis", -1)});
  of("concat_three", "Concat", {"s", "x", "s"}, {number("axis", 1)}, 11);
  of("concat_rows", "Concat", {"x", "s"}, {number("axis", 1)}, 13, "", {-1, 4, 5});
  of("concat_columns", "Concat", {"x", "s"}, {number("axis", 2)}, 13, "", {-1, 4, 5});
  of("concat_batch", "Concat", {"x", "s"}, {number("axis", 0)}, 13, "axis");
  of("where", "Where", {"x", "s", "h"}, {}, 13, "Where");
  // A value for each channel, as squeeze and excitation has it.
  all.push_back(
      {"mul_of_channels", file_of({kImages,
                                   {node("GlobalAveragePool", {"x"}, "g"),
                                    node("Sigmoid", {"g"}, "s"), node("Mul", {"x", "s"}, "y")}})});
  all.push_back(
      {"two_inputs", file_of({.x = kVectors,
                              .nodes = {node("Add", {"x", "z"}, "a"), node("Sub", {"x", "z"}, "b")},
                              .outputs = {"a", "b"},
                              .second = kVectors})});
}

}  // namespace

Variants arithmetic() {
  Variants all;
  add_with_constants(all);
  add_of_results(all);
  return all;
}

}  // namespace octet::test::variants
